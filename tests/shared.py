"""Folders that take long to fill, filled once for all parallel workers."""

import os
import shutil


def shared_folder(tmp_path_factory):
    """Return the folder that all workers of this run of pytest have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def made_once(tmp_path_factory, name, make):
    """Return a folder that `make(folder)` has filled.

    The first worker that asks fills it, and the others wait for it. A folder that could not be
    filled is made again by the next worker, so that each reports the failure.
    """
    import fcntl

    place = shared_folder(tmp_path_factory) / "shared"
    place.mkdir(exist_ok=True)
    folder, complete = place / name, place / f"{name}.complete"
    with open(place / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            complete.touch()
    return folder
