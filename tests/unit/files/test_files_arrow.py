import decimal
from datetime import date

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files import arrow
from sketchlasso.io import read_table

pa = pytest.importorskip("pyarrow", reason="the extra 'files' is not installed")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


def write_stream(table, path):
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "a.parquet": parquet.write_table,
    "a.feather": feather.write_feather,
    "a.arrow": write_stream,
}


@pytest.fixture(params=WRITERS)
def stored(request, tmp_path):
    def write(columns):
        path = tmp_path / request.param
        WRITERS[request.param](pa.table(columns), path)
        return path

    return write


def test_numbers_of_every_kind(stored):
    path = stored(
        {
            "int": pa.array([1, -2, 3], pa.int8()),
            "flag": [True, False, True],
            "exact": pa.array([decimal.Decimal("1.5"), decimal.Decimal(2), decimal.Decimal(3)]),
            "y": [0.5, 1.5, 2.5],
            "note": ["a", "b", "c"],
        }
    )
    table = read_table(path, target="y", drop=["note"])
    assert table.X.tolist() == [[1, 1, 1.5], [-2, 0, 2], [3, 1, 3]]
    assert table.y.tolist() == [0.5, 1.5, 2.5]
    assert table.feature_names == ("int", "flag", "exact")
    assert read_table(path, target="note").y.tolist() == ["a", "b", "c"]
    assert read_table(path, drop=["note"], dtype="float32").X.dtype == np.float32


def test_float32_stays(stored):
    path = stored({"a": pa.array([1.5], pa.float32()), "b": pa.array([2], pa.float32())})
    assert read_table(path).X.dtype == np.float32


def test_categories_are_text(stored):
    path = stored({"a": [1.0, 2.0], "y": pa.array(["u", "v"]).dictionary_encode()})
    assert read_table(path, target="y").y.tolist() == ["u", "v"]


def test_batches_do_not_matter(stored, monkeypatch):
    monkeypatch.setattr(arrow, "CELLS", 7)
    values = np.random.default_rng(0).standard_normal((50, 3))
    path = stored({name: values[:, i] for i, name in enumerate("abc")})
    assert np.array_equal(read_table(path).X, values)


@pytest.mark.parametrize(
    ("columns", "options", "fault"),
    [
        ({"a": [1.0, None], "b": [1, 2]}, {}, "'a' (1 missing value, in row 2)"),
        ({"a": [1.0, np.nan], "b": [1, 2]}, {}, "'a' (1 missing value, in row 2)"),
        ({"a": [date(2020, 1, 1)] * 2, "b": [1, 2]}, {}, "'a' (dates)"),
        ({"a": [b"x", b"y"], "b": [1, 2]}, {}, "holds binary values such as b'x' in column 'a'"),
        ({"a": [b"x", b"y"], "b": [1, 2]}, {}, "drop=['a']"),
        (
            {"a": [1, 2], "y": ["x", None]},
            {"target": "y"},
            "'y' (the target: 1 missing value, in row 2)",
        ),
        (
            {"a": [1, 2], "y": [1.0, np.nan]},
            {"target": "y"},
            "'y' (the target: 1 missing value, in row 2)",
        ),
        ({"a": [1, 2], "y": [1.0, np.inf]}, {"target": "y"}, "holds 'inf' in row 2, column 'y'"),
        ({"a": [1, 2], "price": [1, 2]}, {"target": "prise"}, "(nearest: 'price')"),
        ({"a": [1, 2], "y": [[1], [2]]}, {"target": "y"}, "holds list<"),
        ({"a": pa.array([], pa.float64())}, {}, "holds no rows"),
    ],
)
def test_refusals(stored, columns, options, fault):
    assert fault in refusal(InvalidInputError, read_table, stored(columns), **options)


def test_truncated_files(stored):
    path = stored({"a": np.arange(5000.0)})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refusal(StoredFileError, read_table, path)
    path.write_bytes(whole[:9])
    refusal(StoredFileError, read_table, path)
