"""Slow blocks and shards, so that something can happen meanwhile."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.io import BlockMatrix


@dataclass(frozen=True)
class SlowBlock:
    """A block that is made anew, slowly, wherever it is opened."""

    number: int
    rows: int
    columns: int
    seconds: float
    dtype: Any = np.float64
    sparse: bool = False
    name: str = ""

    def load(self):
        time.sleep(self.seconds)
        rng = np.random.default_rng(self.number)
        return rng.standard_normal((self.rows, self.columns))


def slow_matrix(blocks=8, rows=40, columns=12, seconds=0.02):
    return BlockMatrix([SlowBlock(number, rows, columns, seconds) for number in range(blocks)])


class Killer:
    """Kills a process at the first report of progress, as the system does when memory runs out."""

    def __init__(self, process):
        self.process, self.done = process, False

    def __call__(self, *progress):
        if not self.done:
            self.done = True
            os.kill(self.process, signal.SIGKILL)
