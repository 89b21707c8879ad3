"""The GPU in seconds, with the floors beside them, and against the CPU of the same machine.

Sizes are those of the New York Times corpus: 300,000 documents, 102,660 words, 70 million
non-zeros, generated here; cross-validation and leave-one-out run on the real rcv1 and gisette_like
where they are there.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.gpu.floors import Floors
from benchmarks.gpu.work import crossover, every_feature, every_row, folds
from sketchlasso.linalg.device import open_device

PARTS = {
    "features": every_feature,
    "cv": folds,
    "loo": every_row,
    "crossover": crossover,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="cuda", help="cuda, or torch for PyTorch on the CPU")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--cpu-share", type=float, default=0.02, help="of the features, on the CPU")


def run(options: argparse.Namespace) -> None:
    report = options.report
    device = open_device(options.device)
    if device is None:
        report.note("no GPU: nothing to measure. --device torch runs the same code on the CPU")
        return
    floors = Floors.measured(device, options.quick)
    report.note(floors.words())
    report.note(
        "seconds: wall time of the call, arrays in the host's memory before and after; floor: the "
        "larger of bytes over the measured bandwidth and operations over the measured rate"
    )
    context: dict[str, Any] = {"options": options, "floors": floors, "report": report}
    for name in options.parts:
        PARTS[name](**context)
