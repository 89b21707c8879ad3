"""Damaged files: every format that is read, mutated, through the commands that read it.

Every file ends in success or in one sentence and exit code 3 (or 2, where the file is in order but
its data are not): no signal, no traceback, no command over 10 s, no more memory than allowed. See
benchmarks/fuzz/runner.py for what exactly is accepted. Faults made on purpose come first (indices
beyond the columns, shapes and lengths that lie, nesting, files that inflate), random changes after
them. The same seed makes the same files.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

from benchmarks.fuzz.faults import faults_of
from benchmarks.fuzz.mutations import mutated
from benchmarks.fuzz.runner import MEMORY, Case, Outcome, run_case, warm
from benchmarks.fuzz.samples import Sample, make_samples

__all__ = ["add_options", "cases", "run"]

FILES, QUICK_FILES = 10_000, 300
# Files whose reader starts threads, which a child would not have.
THREADED = (".parquet", ".arrow")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, help=f"how many ({FILES}; quick: {QUICK_FILES})")
    parser.add_argument("--workers", type=int, default=1, help="processes that run commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", help="of files, separated by commas; all by default")
    parser.add_argument("--keep", type=Path, help="folder for the files of findings")


def cases(samples: list[Sample], count: int, seed: int) -> Iterator[Case]:
    """Faults made on purpose, then random changes to every sample in turn.

    At most half of the files are faults made on purpose; of more, an even choice is made.
    """
    random = Random(seed)
    faults = [(sample, fault) for sample in samples for fault in faults_of(sample)]
    step = max(1, -(-len(faults) // max(1, count // 2)))
    chosen = faults[seed % step :: step][:count]
    for sample, (what, content, codes) in chosen:
        made = partial(bytes, content) if isinstance(content, bytes) else content
        yield Case(sample, what, made, random.choice(sample.commands), codes)
    contents = [sample.path.read_bytes() for sample in samples]
    for number in range(count - len(chosen)):
        sample = samples[number % len(samples)]
        what, changed = mutated(sample, contents, random)
        yield Case(sample, what, partial(bytes, changed), random.choice(sample.commands))


@dataclass
class Tally:
    """Exit codes, findings and costs of some cases."""

    codes: Counter[tuple[str, int | None]] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    memory: int = 0

    def add(self, case: Case, outcome: Outcome) -> None:
        self.codes[case.sample.kind, outcome.code] += 1
        self.found[case.sample.kind] += outcome.finding is not None
        self.seconds = max(self.seconds, outcome.seconds)
        self.memory = max(self.memory, outcome.memory)

    def join(self, other: Tally) -> None:
        self.codes.update(other.codes)
        self.found.update(other.found)
        self.seconds = max(self.seconds, other.seconds)
        self.memory = max(self.memory, other.memory)


def run(options: argparse.Namespace) -> None:
    count = options.files or (QUICK_FILES if options.quick else FILES)
    total = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = _prepared(folder)
        if options.kinds:
            samples = [one for one in samples if one.kind in options.kinds.split(",")]
        work = partial(_worked, folder, samples, count, options)
        if options.workers == 1:
            total = work(0)
        else:
            with get_context("fork").Pool(options.workers) as pool:
                for part in pool.imap(work, range(options.workers)):
                    total.join(part)
    _report(options, total)
    if total.found.total():
        raise SystemExit(1)


def _worked(
    folder: Path, samples: list[Sample], count: int, options: argparse.Namespace, worker: int
) -> Tally:
    """Run every case whose turn is this worker's."""
    tally = Tally()
    work = folder / f"worker{worker}"
    shutil.copytree(folder / "case", work)
    for number, case in enumerate(cases(samples, count, options.seed)):
        if number % options.workers == worker:
            outcome = run_case(case, work)
            tally.add(case, outcome)
            if outcome.finding is not None:
                _show(number, case, outcome, options.keep)
    return tally


def _prepared(folder: Path) -> list[Sample]:
    """Make samples, and read each once in this process: children then find all code loaded."""
    (folder / "case").mkdir()
    samples = make_samples(folder)
    vocabularies = [path for path in folder.iterdir() if path.name.startswith("vocab.")]
    for path in vocabularies:
        (folder / "case" / path.name).write_bytes(path.read_bytes())
    for sample in samples:
        for command in sample.commands:
            if sample.path.suffix not in THREADED:
                warm(command, sample.path, folder / "case")
            intact = Case(sample, "none", sample.path.read_bytes, command)
            outcome = run_case(intact, folder / "case")
            if outcome.code not in (0, 1) or outcome.finding is not None:
                raise SystemExit(f"{command} fails on an intact file: {outcome.message}")
    return samples


def _show(number: int, case: Case, outcome: Outcome, keep: Path | None) -> None:
    print(f"{number}: {case.sample.path.name}, {case.fault}: {outcome.finding}", flush=True)
    print(f"    {' '.join(case.command)}", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{number}-{case.sample.path.name}").write_bytes(case.content())
        (keep / f"{number}.txt").write_text(f"{case.fault}\n{case.command}\n{outcome.message}")


def _report(options: argparse.Namespace, total: Tally) -> None:
    kinds = sorted({kind for kind, _ in total.codes})
    rows = [(kind, {kind}) for kind in kinds]
    for name, chosen in (*rows, ("all", set(kinds))):
        ended: Counter[int | None] = Counter()
        for (kind, code), number in total.codes.items():
            ended[code] += number if kind in chosen else 0
        exits = {f"exit {code}": ended[code] for code in range(4)}
        findings = sum(total.found[kind] for kind in chosen)
        options.report.add(format=name, files=ended.total(), **exits, findings=findings)
    options.report.note(
        f"Longest command {total.seconds:.1f} s of processor time; most memory of a process "
        f"{total.memory / 2**20:.0f} MiB, with {MEMORY / 2**20:.0f} MiB of address space beyond "
        "what the process began with."
    )
