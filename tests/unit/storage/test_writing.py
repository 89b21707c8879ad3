"""Files are complete or not there; one writer at a time; finished parts survive a stop."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from scipy import sparse
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.storage import Parts, replacing

HOLDER = """
import sys
from sketchlasso.storage import Parts
with Parts.beside(sys.argv[1], {}, "corpus"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_file_appears_only_when_complete(tmp_path):
    path = tmp_path / "file"
    with replacing(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_keeps_the_old_file_and_leaves_no_other(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("name", "opened"),
    [("a.gz", gzip.open), ("a.bz2", bz2.open), ("a.XZ", lzma.open), ("a.txt", open)],
)
def test_the_ending_decides_the_compression(tmp_path, name, opened):
    with replacing(tmp_path / name, compress=True) as file:
        file.write(b"words")
    with opened(tmp_path / name, "rb") as file:
        assert file.read() == b"words"


def test_a_link_and_the_permissions_of_its_file_stay(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o664)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o664


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(pipe) as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoredFileError, match="No space left"), replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert "file" in os.listdir(tmp_path) and not list(tmp_path.glob(".*"))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    text = refusal(StoredFileError, replacing(tmp_path / "no" / "file").__enter__)
    assert "No such file or directory" in text and "a folder that exists" in text


def test_a_second_writer_is_refused_until_the_first_ends(tmp_path):
    output = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(output)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        text = refusal(StoredFileError, Parts.beside(output, {}, "corpus").__enter__)
        assert "is being written by another process" in text
        holder.kill()
    with Parts.beside(output, {}, "corpus"):
        pass
    assert os.listdir(tmp_path) == []


def is_kept(parts, number):
    """Whether a part is there, with its number as the only entry; it is made otherwise."""
    made = []

    def make():
        made.append(number)
        return SimpleNamespace(coef=sparse.csr_array([[float(number)]]))

    shape, rebuild = (1, 1), lambda coef: SimpleNamespace(coef=coef)
    assert parts.resumed(number, make, shape, {}, rebuild).coef.toarray() == [[number]]
    return not made


def stopped(path, settings, numbers):
    with pytest.raises(KeyboardInterrupt), Parts.beside(path, settings, "corpus") as parts:
        for number in numbers:
            assert not is_kept(parts, number)
        raise KeyboardInterrupt


def test_parts_survive_a_stop_and_go_with_success(tmp_path):
    path = tmp_path / "all.images"
    stopped(path, {"rank": 5}, (0, 2))
    with Parts.beside(path, {"rank": 5}, "corpus") as parts:
        assert [is_kept(parts, number) for number in range(3)] == [True, False, True]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_counts_as_missing(tmp_path):
    path = tmp_path / "all.images"
    stopped(path, {}, (0,))
    [part] = (tmp_path / "all.images.parts").glob("*.part")
    part.write_bytes(part.read_bytes()[:-1])
    with Parts.beside(path, {}, "corpus") as parts:
        assert not is_kept(parts, 0)
        assert is_kept(parts, 0)


def test_parts_of_other_settings_are_kept_and_refused(tmp_path):
    path = tmp_path / "all.images"
    stopped(path, {"rank": 5}, (0,))
    with pytest.raises(InvalidInputError, match="another corpus or other settings"):
        Parts.beside(path, {"rank": 6}, "corpus").__enter__()
    with Parts.beside(path, {"rank": 5}, "corpus") as parts:
        assert is_kept(parts, 0)
