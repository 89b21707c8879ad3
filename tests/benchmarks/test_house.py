"""The sizes of the package that the benchmark `house` counts."""

import ast

import numpy as np

import sketchlasso as sl
from benchmarks import house

ONE = """
def one(x: Any, y: int, *rest: Any) -> Any:
    '''Words.'''
    total = [value * y for value in rest if value > x]
    return sum(total) + max(total, default=0) - min(total, default=0) + len(total) * (x - y)
"""
OTHER = ONE.replace("one", "other").replace("total", "parts").replace("'''Words.'''", "")


def function(text):
    return ast.parse(text.lstrip()).body[0]


def test_duplicates_are_equal_but_for_names_and_words():
    shape = house.shape_of(function(ONE))
    assert shape is not None and shape == house.shape_of(function(OTHER))
    assert shape != house.shape_of(function(OTHER.replace("max", "abs(y) * max")))
    assert house.shape_of(function("def short(x): return x + 1")) is None


def test_parameters_without_a_type_are_counted():
    assert house.bare_any(function(ONE)) == 2


def test_a_walk_names_files_and_records():
    files, records = house.walked(lambda: sl.Settings(tol=1e-3))
    assert {path.rpartition("/")[2] for path in files} == {"settings.py", "device.py", "threads.py"}
    assert records == {"Settings"}


def test_a_reader_follows_one_fit_through_few_files_and_records():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(80)
    files, records = house.walked(lambda: sl.SqrtLassoCV(cv=3).fit(X, y))
    assert len(files) <= 35, "merge small helpers into the file that knows the formula"
    assert len(records) <= 15, "pass one record along instead of making one per step"


def test_the_reproduction_is_not_packed():
    packed = {path.relative_to(house.PACKAGE).parts for path in house.PACKAGE.rglob("*.py")}
    assert ("interfaces", "paper") not in {parts[:2] for parts in packed}
