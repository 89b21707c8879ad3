"""What all workers share is made once, and made again where it failed."""

import pytest
from tests.shared import made_once


class Factory:
    """Stands for pytest's `tmp_path_factory` of one worker."""

    def __init__(self, folder):
        self.getbasetemp = lambda: folder


@pytest.fixture
def workers(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    return [Factory(tmp_path / name) for name in ("popen-gw0", "popen-gw1")]


def test_the_second_worker_finds_what_the_first_has_made(workers):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "file").write_text("content")

    first, second = (made_once(worker, "thing", make) for worker in workers)
    assert made == [first] == [second]
    assert (second / "file").read_text() == "content"


def test_what_failed_half_way_is_made_again(workers):
    def fail(folder):
        (folder / "half").touch()
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        made_once(workers[0], "thing", fail)
    folder = made_once(workers[1], "thing", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]
