"""Where the operating system keeps caches."""

from sketchlasso.storage import cache_folder


def test_the_cache_folder_follows_the_system(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "sketchlasso"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().parts[-2:] == (".cache", "sketchlasso")
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-3:] == ("Library", "Caches", "sketchlasso")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache_folder() == tmp_path / "sketchlasso"

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert cache_folder() is None
