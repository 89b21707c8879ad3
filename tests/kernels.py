"""Run the tests with the kernels of other CPUs: `python -m tests.kernels --help`.

OpenBLAS and Numba choose their code for the CPU at hand, and each choice rounds in its own
way. Both take another choice from the environment.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

KERNELS = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "generic": {"NUMBA_CPU_NAME": "generic"},
}

# What depends most on rounding: it runs under two kernels in `make test`.
SENSITIVE = [
    "tests/properties",
    "tests/reference",
    "tests/unit/data/test_on_device.py",
    "tests/unit/estimators/test_estimator_checks.py",
    "tests/unit/estimators/test_estimators_device.py",
    "tests/unit/exact",
    "tests/unit/inference/test_desparsified.py",
    "tests/unit/inference/test_neighbourhoods.py",
    "tests/unit/inference/test_nodewise.py",
    "tests/unit/inference/test_treatment_effect.py",
    "tests/unit/kernels",
    "tests/unit/solvers/test_device.py",
]

# Tests among them that rounding cannot change: shapes and messages, files, compiling, and
# averages over many data sets. They run once.
STEADY = [
    "tests/properties/test_leakage.py::test_noise_is_not_predicted_better_than_by_chance",
    "tests/properties/test_topics.py",
    "tests/unit/estimators/test_estimator_checks.py::test_no_other_check_fails",
    "tests/unit/inference/test_treatment_effect.py::"
    "test_intervals_cover_the_effect_though_controls_are_selected",
    "tests/unit/kernels/test_compiled_once.py",
    "tests/unit/kernels/test_compiling.py",
]

# Prints the kernels in use, one word per library. Prescott's may carry an older name.
LOOK = """
import numba, numpy, scipy.linalg, threadpoolctl
from numba.core.registry import cpu_target
print(cpu_target.target_context.codegen().magic_tuple()[1])
print(*(pool["architecture"].replace("Katmai", "Prescott")
        for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"))
"""


def environment(kernel: str) -> dict[str, str]:
    """Variables of one kernel, or of several joined by `+` (one of OpenBLAS, one of Numba)."""
    # Threads of BLAS that wait for work sleep at once: other tests run beside these.
    chosen = dict(os.environ) | {"OPENBLAS_THREAD_TIMEOUT": "4"}
    for name in kernel.split("+"):
        if name not in KERNELS:
            raise SystemExit(f"No kernel is called {name!r}: choose from {', '.join(KERNELS)}.")
        chosen |= KERNELS[name]
    return chosen


def can_run(kernel: str) -> bool:
    """Whether this CPU has the instructions: the other kernels need no more than AVX2."""
    from numpy._core._multiarray_umath import __cpu_features__

    return "SkylakeX" not in kernel or bool(__cpu_features__.get("AVX512_SKX"))


def in_use(kernel: str) -> tuple[str, set[str]]:
    """Return the CPU that Numba compiles for and the kernels of all loaded OpenBLAS libraries."""
    command = [sys.executable, "-c", LOOK]
    found = subprocess.run(
        command, env=environment(kernel), capture_output=True, text=True, check=True
    )
    cpu, blas = found.stdout.splitlines()
    return cpu, set(blas.split())


def takes_effect(kernel: str) -> bool:
    """Whether the libraries obey: a variable that they ignore would test the same code again."""
    cpu, blas = in_use(kernel)
    return all(cpu == name if name == "generic" else blas == {name} for name in kernel.split("+"))


def run(kernel: str, module: str, arguments: list[str]) -> str:
    """Run a module under a kernel and return the outcome in a word or two."""
    if not can_run(kernel):
        return "not run: this CPU lacks the instructions"
    if not takes_effect(kernel):
        return f"FAILED: the libraries use {in_use(kernel)} instead"
    print(f"\n== {kernel}: {module} {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", module, *arguments]
    status = subprocess.run(command, cwd=ROOT, env=environment(kernel), check=False).returncode
    return "passed" if status == 0 else f"FAILED: {module} returned {status}"


def main() -> None:
    """Run the tests under every kernel asked for; the exit status says whether all passed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.kernels",
        description="Run the tests with the kernels of other CPUs.",
        epilog="Further arguments go to pytest, paths of tests among them.",
    )
    parser.add_argument(
        "--kernels",
        default=",".join(KERNELS),
        help="names separated by commas; Prescott+generic sets both at once (default: all)",
    )
    parser.add_argument(
        "--sensitive", action="store_true", help="run only the tests that depend on rounding most"
    )
    parser.add_argument(
        "--compile", action="store_true", help="compile the kernels for the tests, and run none"
    )
    options, arguments = parser.parse_known_args()
    if options.sensitive:
        arguments += [*SENSITIVE, *(f"--deselect={test}" for test in STEADY)]
    module = "tests.compiled" if options.compile else "pytest"
    outcomes = {name: run(name, module, arguments) for name in options.kernels.split(",")}
    print()
    for name, outcome in outcomes.items():
        print(f"{name:<18} {outcome}")
    sys.exit(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
