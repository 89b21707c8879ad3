"""Data four times as large as what the process may have: the same answer as in memory."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

out_of_core = pytest.importorskip("benchmarks.out_of_core")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the limit and its figures are those of Linux"
)
DATA, SHARD = 720_000_000, 45_000_000
# Less than this does not hold the buffers of BLAS and the compiler as well.
FREE = 176_000_000


def test_data_are_sketched_and_cross_validated_in_a_quarter_of_their_size(tmp_path):
    # pytest keeps its own folders for a while; this one is too large for that.
    with TemporaryDirectory(dir=tmp_path) as place:
        out_of_core.generate(Path(place), DATA, shard=SHARD)
        # The first run compiles what is not compiled yet, which takes memory of its own.
        free = out_of_core.in_process(Path(place), "80MB")
        limited = out_of_core.in_process(Path(place), "80MB", extra=FREE)
    # The limit was never touched, though one copy of the data would have broken it four times.
    assert limited["peak"] <= limited["limit"]
    assert DATA >= 4 * FREE
    assert out_of_core.difference(limited, free) <= out_of_core.AGREES
