"""`sketchlasso stability` and `sketchlasso predict --interval`."""

import json

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.inference import StabilitySelection
from sketchlasso.io import read_table

pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")


def test_stability_selects_and_writes(call, files):
    said = call("stability {data}/houses.csv --target price --pairs 10 -o often.csv").stdout
    assert "selected" in said and "unimodal" in said
    table = read_table(files / "houses.csv", target="price")
    found = StabilitySelection(n_pairs=10, random_state=0).fit(table.X, table.y)
    written = read_table("often.csv", target="feature")
    assert list(written.y) == list(table.feature_names)
    np.testing.assert_allclose(written.X[:, 0], found.frequencies_)
    np.testing.assert_array_equal(written.X[:, 1] == 1, found.get_support())


@pytest.mark.parametrize(
    ("command", "method"),
    [
        ("fit {data}/houses.csv -t price --alpha 1", "jackknife+"),
        ("cv {data}/houses.csv -t price", "cv+"),
    ],
)
def test_a_saved_model_predicts_intervals(call, files, command, method):
    said = call(f"{command} --calibrate {method} -o h.model").stdout
    assert f"by {method} on 60 rows" in said
    said = call("predict h.model {data}/houses.csv --interval 0.8 -o ends.csv").stdout
    assert method in said and "coverage" in said
    model = sl.load_model("h.model")
    table = read_table(files / "houses.csv", target="price")
    written = read_table("ends.csv")
    assert written.feature_names == ("row", "prediction", "lower", "upper")
    del model.feature_names_in_
    ends = model.predict_interval(table.X, 0.8)
    np.testing.assert_allclose(written.X[:, 2:], ends)
    answer = json.loads(call("predict h.model {data}/houses.csv --interval 0.8 --json").stdout)
    inside = (ends[:, 0] <= table.y) & (table.y <= ends[:, 1])
    assert answer["interval"]["coverage"] == pytest.approx(inside.mean())
    np.testing.assert_allclose(answer["interval"]["lower"], ends[:, 0])
