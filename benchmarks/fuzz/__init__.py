"""Damaged files: every format that is read, mutated, through the commands that read it.

Every file ends in success or in one sentence and exit code 3 (or 2, where the file is in order but
its data are not): no signal, no traceback, no command over 10 s, no more memory than allowed. See
benchmarks/fuzz/runner.py for what exactly is accepted. Faults made on purpose come first (indices
beyond the columns, shapes and lengths that lie, nesting, files that inflate), random changes after
them. The same seed makes the same files.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
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
        made = content if isinstance(content, bytes) else content()
        yield Case(sample, what, made, random.choice(sample.commands), codes)
    contents = [sample.path.read_bytes() for sample in samples]
    for number in range(count - len(chosen)):
        sample = samples[number % len(samples)]
        what, changed = mutated(sample, contents, random)
        yield Case(sample, what, changed, random.choice(sample.commands))


def run(options: argparse.Namespace) -> None:
    count = options.files or (QUICK_FILES if options.quick else FILES)
    findings: list[tuple[Case, Outcome]] = []
    codes: Counter[tuple[str, int | None]] = Counter()
    slowest, largest = 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = _prepared(folder)
        if options.kinds:
            samples = [one for one in samples if one.kind in options.kinds.split(",")]
        work = folder / "case"
        for number, case in enumerate(cases(samples, count, options.seed)):
            outcome = run_case(case, work)
            codes[case.sample.kind, outcome.code] += 1
            slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.memory)
            if outcome.finding is not None:
                findings.append((case, outcome))
                _show(number, case, outcome, options.keep)
    _report(options, codes, findings, slowest, largest)
    if findings:
        raise SystemExit(1)


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
            intact = Case(sample, "none", sample.path.read_bytes(), command)
            outcome = run_case(intact, folder / "case")
            if outcome.code not in (0, 1) or outcome.finding is not None:
                raise SystemExit(f"{command} fails on an intact file: {outcome.message}")
    return samples


def _show(number: int, case: Case, outcome: Outcome, keep: Path | None) -> None:
    print(f"{number}: {case.sample.path.name}, {case.fault}: {outcome.finding}", flush=True)
    print(f"    {' '.join(case.command)}", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{number}-{case.sample.path.name}").write_bytes(case.content)
        (keep / f"{number}.txt").write_text(f"{case.fault}\n{case.command}\n{outcome.message}")


def _report(
    options: argparse.Namespace,
    codes: Counter[tuple[str, int | None]],
    findings: list[tuple[Case, Outcome]],
    slowest: float,
    largest: int,
) -> None:
    report = options.report
    found = Counter(case.sample.kind for case, _ in findings)
    kinds = sorted({kind for kind, _ in codes})
    for kinds_of_row, name in (*(((kind,), kind) for kind in kinds), (tuple(kinds), "all")):
        ended = Counter[int | None]()
        for kind in kinds_of_row:
            ended.update({code: codes[own, code] for own, code in codes if own == kind})
        exits = {f"exit {code}": ended[code] for code in range(4)}
        total = sum(found[kind] for kind in kinds_of_row)
        report.add(format=name, files=ended.total(), **exits, findings=total)
    report.note(
        f"slowest command {slowest:.1f} s of processor time, most memory {largest / 2**20:.0f} "
        f"MiB, with {MEMORY / 2**20:.0f} MiB of address space beyond what Python takes."
    )
