"""Files are complete or not there; one writer at a time; finished parts survive a stop."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, Name, StoredFileError
from sketchlasso.storage import Content, replacing
from sketchlasso.storage.parts import Parts, only_writer

THING = Content("thing", Name("thing.save"), Name("load_thing"))
HOLDER = """
import sys
from pathlib import Path
from sketchlasso.storage.parts import only_writer
with only_writer(Path(sys.argv[1]), Path("out")):
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


def test_a_gzip_file_does_not_depend_on_its_name(tmp_path):
    for name in ("a.gz", "b.gz"):
        with replacing(tmp_path / name, compress=True) as file:
            file.write(b"words")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_pipes_and_circles_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    for name in ("pipe", "one"):
        text = refusal(StoredFileError, replacing(tmp_path / name).__enter__)
        assert "choose the path of a file" in text


def test_a_folder_that_is_not_there_is_named(tmp_path):
    text = refusal(StoredFileError, replacing(tmp_path / "no" / "file").__enter__)
    assert "No such file or directory" in text and "a folder that exists" in text


def test_a_second_writer_is_refused_until_the_first_ends(tmp_path):
    folder = tmp_path / "parts"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        text = refusal(StoredFileError, only_writer(folder, tmp_path / "out").__enter__)
        assert "is being written by another process" in text
        holder.kill()
    with only_writer(folder, tmp_path / "out"):
        pass


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
    with pytest.raises(KeyboardInterrupt), Parts.beside(path, settings, THING, "corpus") as parts:
        for number in numbers:
            assert not is_kept(parts, number)
        raise KeyboardInterrupt


def test_parts_survive_a_stop_and_go_with_success(tmp_path):
    path = tmp_path / "all.images"
    stopped(path, {"rank": 5}, (0, 2))
    with Parts.beside(path, {"rank": 5}, THING, "corpus") as parts:
        assert [is_kept(parts, number) for number in range(3)] == [True, False, True]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_counts_as_missing(tmp_path):
    path = tmp_path / "all.images"
    stopped(path, {}, (0,))
    [part] = (tmp_path / "all.images.parts").glob("*.part")
    part.write_bytes(part.read_bytes()[:-1])
    with Parts.beside(path, {}, THING, "corpus") as parts:
        assert not is_kept(parts, 0)


def test_a_part_is_made_again_only_where_it_is_missing_or_does_not_fit(tmp_path):
    made = []

    def make():
        made.append(len(made))
        coef = sparse.csr_array(np.eye(2, 3) + len(made))
        return SimpleNamespace(coef=coef, gap=np.array([0.5, np.nan]))

    def rebuild(coef, gap):
        return SimpleNamespace(coef=coef, gap=gap)

    with Parts.beside(tmp_path / "all.images", {}, THING, "corpus") as parts:
        for shape, calls in (((2, 3), 1), ((2, 3), 1), ((3, 3), 2)):
            found = parts.resumed(0, make, shape, {"gap": "f"}, rebuild, finite=False)
            assert len(made) == calls
            assert found.coef.toarray()[0, 1] == calls and found.gap[0] == 0.5
        parts.resumed(1, make, (2, 3), {"gap": "f"}, rebuild)
        parts.resumed(1, make, (2, 3), {"gap": "f"}, rebuild)  # a gap that is not finite
        assert len(made) == 4


def test_parts_of_other_settings_are_kept_and_refused(tmp_path):
    path = tmp_path / "all.images"
    stopped(path, {"rank": 5}, (0,))
    with pytest.raises(InvalidInputError, match="another corpus or other settings"):
        Parts.beside(path, {"rank": 6}, THING, "corpus").__enter__()
    with Parts.beside(path, {"rank": 5}, THING, "corpus") as parts:
        assert is_kept(parts, 0)
