import io
import json
import struct

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.storage.door import (
    PickledError,
    TooLargeError,
    UnfitError,
    check_facts,
    check_lengths,
    check_memory,
    check_shape,
    free_memory,
    parse_json,
    read_array,
)
from sketchlasso.storage.sparse import checked_csr, checked_sparse

HUGE = 10**12


def stored(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def claiming(shape, descr="<f8", content=bytes(64)):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def read(content):
    return read_array(io.BytesIO(content), len(content))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(3.5),
        np.empty((0, 4)),
        np.array(["a", "word"]),
        np.array([True, False]),
        np.array(b"csr"),
    ],
)
def test_arrays_come_back(array):
    found = read(stored(array))
    assert np.array_equal(found, array)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.flags.writeable


@pytest.mark.parametrize(
    "content",
    [
        claiming(f"({HUGE},)"),
        claiming(f"({HUGE}, {HUGE})"),
        claiming(f"({2**62}, 8)"),  # 2^65 bytes: the product in 64 bits is 0
        claiming("(-1, 4)"),
        claiming("(True, 3)"),
        claiming("(9,)"),
        claiming(f"({HUGE},)", "<U0"),
        claiming("(1,)", "<U1000000000"),
        claiming("(1,)", "nonsense"),
        claiming("(" * 3000 + ")" * 3000),
        claiming("-" * 5000 + "1"),
        b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(64),
        b"\x93NUMPY\x09\x00" + bytes(64),
        b"",
        stored(np.ones(9))[:-1],
    ],
)
def test_headers_that_claim_what_is_not_there(content):
    with pytest.raises(UnfitError):
        read(content)


def test_a_member_that_is_shorter_than_the_archive_says():
    content = stored(np.ones(9))
    with pytest.raises(UnfitError, match="ends before its last entry"):
        read_array(io.BytesIO(content[:-8]), len(content))


def test_python_objects_are_not_read():
    with pytest.raises(PickledError):
        read(claiming("(1,)", "|O"))


DATA, INDICES, INDPTR = np.ones(3), np.array([0, 3, 1]), np.array([0, 2, 3])


def test_a_sound_matrix_is_taken():
    found = checked_csr(DATA, INDICES, INDPTR, [2, 4])
    assert found.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert checked_csr(DATA[:0], INDICES[:0], np.zeros(3, int), [2, 4]).nnz == 0


@pytest.mark.parametrize("index", [4, -1, 100_004, 2_000_000_000, 2**63 - 1])
@pytest.mark.parametrize("place", [0, 2])
def test_indices_outside_the_matrix(index, place):
    indices = INDICES.astype(np.int64)
    indices[place] = index
    with pytest.raises(UnfitError, match=f"is {index}, but 0 to 3 are possible"):
        checked_csr(DATA, indices, INDPTR, (2, 4))


@pytest.mark.parametrize(
    ("data", "indices", "indptr", "shape"),
    [
        (DATA, INDICES, [0, 4, 3], (2, 4)),
        (DATA, INDICES, [0, -1, 3], (2, 4)),
        (DATA, INDICES, [1, 2, 3], (2, 4)),
        (DATA, INDICES, [0, 2, 4], (2, 4)),
        (DATA, INDICES, [0, 2, 2], (2, 4)),
        (DATA, INDICES, [0, 2**62, 3], (2, 4)),
        (DATA, INDICES, [0, 3], (2, 4)),
        (DATA, INDICES, [], (2, 4)),
        (DATA, INDICES, [0.0, 2.0, 3.0], (2, 4)),
        (DATA, INDICES, [[0, 2, 3]], (2, 4)),
        (DATA, INDICES.astype(float), INDPTR, (2, 4)),
        (DATA, INDICES[:2], INDPTR, (2, 4)),
        (DATA[:, None], INDICES, INDPTR, (2, 4)),
        (DATA, INDICES, INDPTR, (2, -4)),
        (DATA, INDICES, INDPTR, (2, 4.0)),
        (DATA, INDICES, INDPTR, (2,)),
        (DATA, INDICES, INDPTR, (2, 4, 1)),
        (DATA, INDICES, INDPTR, (2, HUGE**2)),
        (DATA, INDICES, INDPTR, (True, 4)),
    ],
)
def test_parts_that_are_no_matrix(data, indices, indptr, shape):
    with pytest.raises(UnfitError):
        checked_csr(data, indices, np.array(indptr), shape)


X = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0]])


def parts_of(form):
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array(X).asformat(form))
    file.seek(0)
    with np.load(file) as held:
        return {name: held[name] for name in held if name != "format"}


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_form_of_scipy(form):
    assert np.array_equal(checked_sparse(form, parts_of(form)).toarray(), X)


@pytest.mark.parametrize(
    ("form", "changes"),
    [
        ("csc", {"indices": np.array([0, 1, 2])}),
        ("coo", {"row": np.array([0, 0, 2])}),
        ("coo", {"col": np.array([0, -1, 1])}),
        ("coo", {"col": np.array([0, 1])}),
        ("bsr", {"data": np.ones((3, 1, 3))}),
        ("bsr", {"data": np.ones((3, 0, 1))}),
        ("bsr", {"data": np.ones(3)}),
        ("dia", {"offsets": np.array([0, 2, 2, 0])}),
        ("dia", {"offsets": np.array([-9, 2])}),
        ("dia", {"offsets": np.array([0.0, 2.0])}),
        ("csr", {"shape": np.array([2.0, 4.0])}),
        ("csr", {"shape": np.array([[2, 4]])}),
        ("csr", {"data": np.array(["a", "b", "c"])}),
        ("xyz", {}),
    ],
)
def test_forms_whose_parts_do_not_fit(form, changes):
    parts = parts_of(form if form != "xyz" else "csr")
    with pytest.raises(UnfitError):
        checked_sparse(form, {**parts, **changes})


def test_offsets_of_strings():
    check_lengths(np.array([2, 2, 5]), 5, "ends")
    check_lengths(np.array([], dtype=np.int64), 0, "ends")
    for ends in ([2, 1, 5], [-1, 5], [2, 6], [2, 4], [], [2.0, 5.0]):
        with pytest.raises(UnfitError):
            check_lengths(np.array(ends), 5, "ends")


def test_memory_that_is_not_there():
    assert free_memory() > 0
    check_memory(1, "a byte")
    with pytest.raises(TooLargeError, match="a wish takes"):
        check_memory(2**60, "a wish")
    with pytest.raises(TooLargeError):
        check_shape((10, HUGE**2))


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"{",
    ],
)
def test_json_that_is_refused(text):
    with pytest.raises(UnfitError):
        parse_json(text)


def test_json_that_is_taken():
    content = {"a": [1, 2.5, None, True, "text \u00e4"], "b": {"c": 2**63}}
    assert parse_json(json.dumps(content).encode()) == content


def test_facts_have_their_types():
    check_facts({"a": 1, "b": None, "c": True}, {"a": (int,), "b": (str, type(None)), "c": (bool,)})
    for header in ({}, {"a": "1"}, {"a": True}, {"a": None}, [1]):
        with pytest.raises(UnfitError):
            check_facts(header, {"a": (int,)})
