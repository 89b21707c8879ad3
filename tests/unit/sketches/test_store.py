"""A sketch file gives back the sketch that was saved, or one sentence."""

import os

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import StoredFileError
from sketchlasso.sketches import load_sketch, sketch
from sketchlasso.storage import write_stored


@pytest.fixture
def made():
    X = np.random.default_rng(0).standard_normal((12, 9)).astype(np.float32)
    return sketch(X, rank=3, center=True, scale=True, random_state=2**63)


@pytest.fixture
def path(made, tmp_path):
    path = tmp_path / "a.sketch"
    made.save(path)
    return path


def test_everything_comes_back(made, path):
    loaded = load_sketch(path)
    for name in ("P", "Q", "singular_values", "column_means", "column_scales"):
        array = getattr(loaded, name)
        assert np.array_equal(array, getattr(made, name))
        assert array.dtype == getattr(made, name).dtype
        assert not array.flags.writeable
    for name in (
        "radius", "radius_kind", "radius_failure_probability", "method", "seed", "cost",
        "fingerprint", "response_rank",
    ):  # fmt: skip
        assert getattr(loaded, name) == getattr(made, name)


def test_absent_parts_stay_absent(tmp_path):
    plain = sketch(np.eye(4), rank=2, radius=0.0)
    plain.save(tmp_path / "plain")
    loaded = load_sketch(str(tmp_path / "plain"))
    assert loaded.column_means is None
    assert loaded.radius_failure_probability is None


def test_a_failed_save_keeps_the_old_file(made, path, monkeypatch):
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoredFileError, match=r"could not be written \(No space left on device\)"):
        made.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    with pytest.raises(StoredFileError, match="No such file or directory"):
        made.save(path.parent / "no folder" / "a.sketch")


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ({"radius": 10**400}, {}),
        ({"radius": -1.0}, {}),
        ({"radius_kind": "nuclear"}, {}),
        ({"response_rank": 4}, {}),
        ({"seed": "one"}, {}),
        ({"cost": {"passes": 1}}, {}),
        ({}, {"P": np.ones((9, 2))}),
        ({}, {"Q": np.full((12, 3), np.nan)}),
        ({}, {"column_means": np.ones(8)}),
        ({}, {"singular_values": np.ones(3, dtype=int)}),
    ],
)
def test_parts_that_do_not_fit_are_refused(made, path, facts, arrays):
    whole = made.packed()
    write_stored(path, "sketch", whole[0] | facts, whole[1] | arrays)
    assert "is damaged or incomplete (" in refusal(StoredFileError, load_sketch, path)
