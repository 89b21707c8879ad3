import hashlib
import json
import re
import struct

import numpy as np
import pytest

from sketchlasso.errors import StoredFileError
from sketchlasso.sketches import load_sketch, sketch
from sketchlasso.storage.container import MAGIC, PREFIX


@pytest.fixture
def found():
    X = np.random.default_rng(0).standard_normal((12, 9)).astype(np.float32)
    return sketch(X, rank=3, center=True, scale=True, random_state=2**63)


@pytest.fixture
def path(found, tmp_path):
    path = tmp_path / "a.sketch"
    found.save(path)
    return path


def refusal(path):
    with pytest.raises(StoredFileError) as caught:
        load_sketch(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert text.endswith(".")
    assert not re.search(r"[.!?]\s+[A-Z]", text)
    return text


def framed(payload, version=1):
    return PREFIX.pack(MAGIC, version, len(payload), hashlib.sha256(payload).digest()) + payload


def test_everything_comes_back(found, path):
    loaded = load_sketch(path)
    for name in ("P", "Q", "singular_values", "column_means", "column_scales"):
        array = getattr(loaded, name)
        assert np.array_equal(array, getattr(found, name))
        assert array.dtype == getattr(found, name).dtype
        assert not array.flags.writeable
    for name in (
        "radius", "radius_kind", "radius_failure_probability", "method", "seed", "cost",
        "fingerprint",
    ):  # fmt: skip
        assert getattr(loaded, name) == getattr(found, name)


def test_absent_parts_stay_absent(tmp_path):
    plain = sketch(np.eye(4), rank=2, radius=0.0)
    plain.save(tmp_path / "plain")
    loaded = load_sketch(str(tmp_path / "plain"))
    assert loaded.column_means is None
    assert loaded.radius_failure_probability is None


def test_saving_replaces_and_leaves_nothing_else(found, path):
    path.write_bytes(b"something else")
    found.save(path)
    assert load_sketch(path).seed == 2**63
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failed_save_keeps_the_old_file(found, path, monkeypatch):
    before = path.read_bytes()

    def broken(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", broken)
    with pytest.raises(StoredFileError, match=r"could not be written \(No space left on device\)"):
        found.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_truncated_at_every_offset(path):
    content = path.read_bytes()
    for length in [*range(1, 200), *range(200, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:length])
        assert "is truncated (it ends before its content does)" in refusal(path)


def test_empty_file(path):
    path.write_bytes(b"")
    assert "is not a stored sketch" in refusal(path)


def test_any_changed_byte_is_noticed(path):
    content = bytearray(path.read_bytes())
    for place in [*range(PREFIX.size + 60), *range(PREFIX.size + 60, len(content), 29)]:
        content[place] ^= 0x20
        path.write_bytes(content)
        refusal(path)
        content[place] ^= 0x20
    path.write_bytes(content)
    load_sketch(path)


def test_appended_bytes_are_noticed(path):
    path.write_bytes(path.read_bytes() + b"\0")
    assert "was altered after it was written" in refusal(path)


@pytest.mark.parametrize("content", [b"PK\x03\x04 a zip", b"\x93NUMPY\x01\x00", b"hello\n"])
def test_foreign_file(path, content):
    path.write_bytes(content)
    assert refusal(path) == (
        f"{path} is not a stored sketch; give the path of a file written by Sketch.save."
    )


def test_newer_version(path):
    content = bytearray(path.read_bytes())
    content[16:20] = struct.pack("<I", 7)
    path.write_bytes(content)
    assert refusal(path) == (
        f"{path} has format version 7, but this release reads version 1; read it with a newer "
        "sketchlasso or write it again with this one."
    )


def test_missing_file_and_folder(found, tmp_path):
    missing = tmp_path / "none"
    assert refusal(missing) == (
        f"{missing} does not exist; give the path of a file written by Sketch.save."
    )
    assert "could not be read" in refusal(tmp_path)
    with pytest.raises(StoredFileError, match="No such file or directory"):
        found.save(tmp_path / "no folder" / "a.sketch")


def header_of(**changes):
    text = json.dumps({"content": "sketch", "arrays": [], **changes}).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "payload",
    [b"", struct.pack("<Q", 5) + b"[1,2]", struct.pack("<Q", 3) + b"\xff\xfe\xfd",
     header_of(arrays=["P"]), header_of(arrays=None)],
)  # fmt: skip
def test_a_sound_frame_around_nonsense(path, payload):
    path.write_bytes(framed(payload))
    assert "its content cannot be understood" in refusal(path)


def test_a_container_of_something_else(path):
    path.write_bytes(framed(header_of()))
    assert refusal(path) == (
        f"{path} holds no complete sketch ('radius' is missing in its header); write it again with "
        "Sketch.save."
    )
    path.write_bytes(framed(header_of(content="poem")))
    assert refusal(path) == (
        f"{path} does not say that it holds a sketch; give a file written by Sketch.save."
    )


def test_no_pickle_is_ever_read(path, tmp_path):
    objects = tmp_path / "objects.npy"
    np.save(objects, np.array([{}], dtype=object), allow_pickle=True)
    path.write_bytes(framed(header_of(arrays=["P"]) + objects.read_bytes()))
    assert "its content cannot be understood" in refusal(path)
