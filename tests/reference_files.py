"""Files with the results of other software, beside the folder of the real data sets."""

import os
from pathlib import Path

import pytest


def reference_file(name):
    """Return the path of a file of the folder `oracles` beside SKETCHLASSO_DATA, or skip."""
    data = os.environ.get("SKETCHLASSO_DATA", "")
    path = Path(data).parent / "oracles" / name
    if not data or not path.is_file():
        pytest.skip(f"needs {name} in the folder `oracles` beside SKETCHLASSO_DATA")
    return path
