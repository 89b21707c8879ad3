"""Containers: what is written comes back, and no damaged byte goes unnoticed."""

import hashlib
import struct
import tracemalloc

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import Name, StoredFileError
from sketchlasso.storage import Content, read_container, stored_info, unpacking, write_container
from sketchlasso.storage.container import MAGIC, MODEL, PREFIX, SKETCH, TOPICS

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "small": np.array([1, 2, 3], dtype=np.uint8),
    "empty": np.empty((0, 4), dtype=np.float32),
}
OTHER = Content("thing", Name("thing.save"), Name("load_thing"))


@pytest.fixture
def path(tmp_path):
    write_container(tmp_path / "a.sketch", SKETCH, {"seed": 7, "method": "svd"}, ARRAYS)
    return tmp_path / "a.sketch"


def test_header_and_arrays_come_back(path):
    header, arrays = read_container(path, SKETCH)
    assert header == {"content": "sketch", "seed": 7, "method": "svd"}
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        np.testing.assert_array_equal(array, ARRAYS[name])


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_container(tmp_path / "b", SKETCH, {"seed": 7, "method": "svd"}, ARRAYS)
    assert (tmp_path / "b").read_bytes() == path.read_bytes()


def test_any_changed_byte_is_refused(path):
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x20
        path.write_bytes(changed)
        with pytest.raises(StoredFileError):
            read_container(path, SKETCH)


def test_any_shorter_file_is_refused(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        text = refusal(StoredFileError, read_container, path, SKETCH)
        assert "is truncated" in text or length == 0


@pytest.mark.parametrize("header", [{"value": float("nan")}, {"value": object()}])
def test_what_json_cannot_hold_leaves_no_file(tmp_path, header):
    with pytest.raises((TypeError, ValueError)):
        write_container(tmp_path / "a", SKETCH, header, ARRAYS)
    assert list(tmp_path.iterdir()) == []


def test_arrays_of_objects_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_container(tmp_path / "a", SKETCH, {}, {"x": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


def framed(payload, version=1):
    return PREFIX.pack(MAGIC, version, len(payload), hashlib.sha256(payload).digest()) + payload


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}", "cannot be understood"),
        (b'{"arrays": "x"}', "does not list the arrays by name"),
        (b'{"arrays": ["x", "x"]}', "does not list the arrays by name"),
        (b'{"arrays": []}tail', "cannot be understood"),
        (b'{"arrays": []}', "does not say that it holds a sketch"),
    ],
)
def test_a_sound_frame_around_other_content_is_refused(tmp_path, text, said):
    (tmp_path / "a").write_bytes(framed(struct.pack("<Q", len(text)) + text))
    assert said in refusal(StoredFileError, read_container, tmp_path / "a", SKETCH)


def test_a_header_longer_than_the_file_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(framed(struct.pack("<Q", 2**40)))
    text = refusal(StoredFileError, read_container, tmp_path / "a", SKETCH)
    assert f"declares {2**40} bytes but 0 are there" in text


def test_a_newer_version_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(framed(b"", version=2))
    assert "format version 2" in refusal(StoredFileError, read_container, tmp_path / "a", SKETCH)


def test_other_content_names_its_reader(path):
    text = refusal(StoredFileError, read_container, path, MODEL)
    assert "holds a sketch, but a model is needed; read it with load_sketch" in text
    text = refusal(StoredFileError, read_container, path, TOPICS)
    assert "holds a sketch, but topics are needed" in text


def test_info_lists_shapes(path, tmp_path):
    info = stored_info(path)
    assert (info.content, dict(info.facts)) == ("sketch", {"seed": 7, "method": "svd"})
    assert info.arrays == {"numbers": (2, 3), "small": (3,), "empty": (0, 4)}
    write_container(tmp_path / "other", OTHER, {}, {})
    assert "content unknown to this release" in refusal(
        StoredFileError, stored_info, tmp_path / "other"
    )


def test_info_takes_no_memory_for_arrays(tmp_path):
    write_container(tmp_path / "large", SKETCH, {}, {"P": np.zeros((1000, 4000))})
    tracemalloc.start()
    assert stored_info(tmp_path / "large").arrays == {"P": (1000, 4000)}
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


def test_parts_that_do_not_fit_are_one_sentence(path):
    def unpack():
        with unpacking(path, SKETCH):
            raise KeyError("Q")

    assert "holds no complete sketch; write it again with Sketch.save" in refusal(
        StoredFileError, unpack
    )


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    text = refusal(StoredFileError, read_container, tmp_path / "none", SKETCH)
    assert "does not exist; give the path of a file written by Sketch.save" in text
    assert "could not be read" in refusal(StoredFileError, read_container, tmp_path, SKETCH)
