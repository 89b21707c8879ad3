"""Commands that write resumable parts, watched from outside."""

import time


def wait_for_a_part(process, folder):
    """Return once a process has written a first part into a folder; it must not end before."""
    until = time.monotonic() + 60
    while not any(folder.glob("*.part")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
