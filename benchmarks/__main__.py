"""Run benchmarks: ``python -m benchmarks NAME``, ``python -m benchmarks all``."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from benchmarks.datasets import MissingDataError
from benchmarks.report import RESULTS, Report

NAMES = """
batch loo exact defaults accuracy coverage inference intervals graphs
topics_held_out topics_speed gpu out_of_core
"""
BENCHMARKS = NAMES.split()


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name.replace('topics_', 'topics.')}")


def title_of(module: ModuleType) -> str:
    return (module.__doc__ or "").splitlines()[0].rstrip(".")


def common_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument("--repeats", type=int, help="measured runs (5; quick: 1)")
    parser.add_argument("--peer-limit", type=float, help="of a slow peer, seconds (900; quick: 60)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    return parser


def run_one(name: str, arguments: list[str]) -> int:
    """Run one benchmark here; its options are its own and the common ones."""
    module = module_of(name)
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common_options()],
    )
    module.add_options(parser)
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (1 if options.quick else 5)
    options.peer_limit = options.peer_limit or (60.0 if options.quick else 900.0)
    settings = {key: value for key, value in vars(options).items() if key != "results"}
    options.report = Report(name, title_of(module), options.results, settings)
    try:
        module.run(options)
    except MissingDataError as error:
        print(f"{name}: skipped. {error}")
        return 0
    options.report.finish()
    return 0


def run_all(arguments: list[str]) -> int:
    """Run every benchmark in a process of its own, so that none sees another's memory."""
    argparse.ArgumentParser(parents=[common_options()]).parse_args(arguments)
    failed = []
    for name in BENCHMARKS:
        print(f"\n=== {name}", flush=True)
        command = [sys.executable, "-m", "benchmarks", name, *arguments]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def main(arguments: list[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help", "--list"):
        print("usage: python -m benchmarks NAME [--help] | all [--quick] | --list\n")
        for known in BENCHMARKS:
            print(f"{known:17} {title_of(module_of(known))}")
        return 0
    if name == "all":
        return run_all(rest)
    if name not in BENCHMARKS:
        print(f"{name} is not a benchmark; choose from {', '.join(BENCHMARKS)}, or all.")
        return 2
    return run_one(name, rest)


if __name__ == "__main__":
    sys.exit(main())
