"""Stored files: what is written comes back, and damage never gives another content."""

import json

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

from sketchlasso.errors import StoredFileError
from sketchlasso.io import stored_info
from sketchlasso.storage import matrix_arrays, reading, strings_array, write_stored

WORDS = ("", "sea", "\u00e9t\u00e9\n", "\U0001f30a", "nul\0")
MATRIX = sparse.csr_array(np.array([[0, 1.5, 0], [2.0, 0, -1.0]]))
ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "small": np.array([1, 2, 3], dtype=np.uint8),
    "words": strings_array(WORDS),
    **matrix_arrays("matrix", MATRIX),
}
FACTS = {"seed": 2**70, "radius": 1, "method": "svd", "below": {"a": None}}


def content(path):
    with reading(path, "sketch") as stored:
        arrays = {name: stored.arrays[name].tobytes() for name in sorted(stored.arrays)}
        return dict(stored.facts), arrays, stored.matrix("matrix", (2, 3)).toarray().tolist()


@pytest.fixture
def path(tmp_path):
    write_stored(tmp_path / "a.sketch", "sketch", FACTS, ARRAYS)
    return tmp_path / "a.sketch"


def test_facts_and_arrays_come_back(path):
    with reading(path, "sketch") as stored:
        assert stored.facts == FACTS
        assert stored.fact("radius", float) == 1.0 and stored.part("below").facts == {"a": None}
        assert np.array_equal(stored.array("numbers", (2, None)), ARRAYS["numbers"])
        assert stored.strings("words") == WORDS
        assert np.array_equal(stored.matrix("matrix", (2, 3)).toarray(), MATRIX.toarray())
    info = stored_info(path)
    assert (info.content, info.facts, info.arrays["numbers"]) == ("sketch", FACTS, (2, 3))
    with np.load(path) as plain:  # anybody can open it
        assert np.array_equal(plain["numbers"], ARRAYS["numbers"])


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_stored(tmp_path / "b", "sketch", FACTS, ARRAYS)
    assert (tmp_path / "b").read_bytes() == path.read_bytes()


def test_flipped_bits_never_give_another_content(path):
    whole, truth = path.read_bytes(), content(path)
    refused = 0
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            assert content(path) == truth, place
        except StoredFileError:
            refused += 1
    assert refused > len(whole) / 6


def test_a_shorter_file_is_refused(path):
    whole = path.read_bytes()
    for length in (0, 7, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert str(path) in refusal(StoredFileError, content, path)


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({}, lambda stored: stored.fact("method", float)),
        ({}, lambda stored: stored.array("none")),
        ({}, lambda stored: stored.array("numbers", (3, 2))),
        ({}, lambda stored: stored.array("numbers", None, "iu")),
        ({"numbers": np.array([np.nan])}, lambda stored: stored.array("numbers")),
        ({"words": strings_array([""])[:1]}, lambda stored: stored.strings("words")),
        ({}, lambda stored: stored.matrix("matrix", (3, 3))),
        ({"matrix.indices": np.array([1, 0, -2])}, lambda s: s.matrix("matrix", (2, 3))),
        ({"matrix.indptr": np.array([0, 2**62, 3])}, lambda s: s.matrix("matrix", (2, 3))),
        ({"matrix.data": np.ones(2)}, lambda stored: stored.matrix("matrix", (2, 3))),
    ],
)
def test_what_does_not_fit_is_one_sentence(tmp_path, change, read):
    write_stored(tmp_path / "a", "sketch", FACTS, ARRAYS | change)

    def use():
        with reading(tmp_path / "a", "sketch") as stored:
            read(stored)

    text = refusal(StoredFileError, use)
    assert "is damaged or incomplete (" in text and text.count("\n") == 0


def test_other_files_are_refused(path, tmp_path):
    assert "a sketch, but a model is needed" in refusal(
        StoredFileError, reading(path, "model").__enter__
    )
    assert "does not exist" in refusal(StoredFileError, stored_info, tmp_path / "none")
    assert "could not be read" in refusal(StoredFileError, stored_info, tmp_path)
    np.savez(tmp_path / "foreign.npz", x=np.ones(3))
    (tmp_path / "text").write_text("hello\n")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for foreign in ("foreign.npz", "text", "objects.npy"):
        text = refusal(StoredFileError, stored_info, tmp_path / foreign)
        assert "was not written by sketchlasso" in text


def test_a_newer_format_is_named(tmp_path):
    header = json.dumps({"format": 3}).encode()
    np.savez(tmp_path / "a.npz", header=np.frombuffer(header, np.uint8))
    assert "has the format 3, but this release reads format 2" in refusal(
        StoredFileError, stored_info, tmp_path / "a.npz"
    )


def test_no_pickle_is_written_or_read(path, tmp_path):
    objects = np.array([{}], dtype=object)
    with pytest.raises(TypeError, match="objects"):
        write_stored(tmp_path / "b", "sketch", {}, {"x": objects})
    with pytest.raises(ValueError, match="JSON"):
        write_stored(tmp_path / "b", "sketch", {"x": float("nan")}, {})
    assert [one.name for one in tmp_path.iterdir()] == ["a.sketch"]
    header = {"format": 2, "content": "sketch", "arrays": {"x": [1]}, "facts": {}}
    np.savez(
        tmp_path / "c.npz", header=np.frombuffer(json.dumps(header).encode(), np.uint8), x=objects
    )
    text = refusal(StoredFileError, reading(tmp_path / "c.npz", "sketch").__enter__)
    assert "allow_pickle" in text
