"""When a sketch that knows the response is made again."""

import numpy as np

import sketchlasso as sl
from sketchlasso.instances import all_rows, weighted_rows
from sketchlasso.results.fitting import Task
from sketchlasso.results.radius_policy import radius_policies
from sketchlasso.results.sketched import sketched_rows

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 40))
Y = X[:, :2] @ [[2.0, 0.0], [-1.0, 1.0]] + rng.standard_normal((60, 2))


def test_a_sketch_of_all_rows_and_of_the_response_is_used_as_it_is():
    made = sl.sketch(X, Y[:, 0], rank=10, method="response", center=True, random_state=0)
    policies = radius_policies(None, made)

    def used(response, rows):
        task = Task(X, Y[:, [response]], weights=None, alphas=1)
        (part,) = sketched_rows(task, made, rows, policies)
        return part.sketch

    assert used(0, all_rows(60)) is made
    assert used(1, all_rows(60)) is not made
    assert used(0, weighted_rows(np.linspace(0.5, 2.0, 60))) is not made
