"""scikit-learn's check_estimator on every estimator: checks run, passed, failed, skipped.

Estimators with their defaults and in other settings; no list of expected failures. What is
skipped is what scikit-learn itself skips for want of an optional package or setting: nothing
with the variable, one check without.

    SCIPY_ARRAY_API=1 python -m benchmarks estimator_checks
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from time import perf_counter
from typing import Any

import sketchlasso as sl

LINEAR = (sl.SqrtLasso, sl.SqrtLassoCV, sl.SqrtLassoClassifier, sl.SqrtLassoClassifierCV)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"sketch": None},
    {"sketch": "response"},
    {"sketch": "randomized"},
    {"sketch": "randomized", "refine": "exact"},
    {"standardize": True},
    {"relaxed": True},
    {"positive": True},
    {"fit_intercept": False},
)
TRANSFORMER: tuple[dict[str, Any], ...] = ({}, {"method": "response"}, {"scale": True})


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def estimators(quick: bool) -> list[Any]:
    """Every estimator in every setting; small grids for the quick run of those that search."""
    found = [sl.SketchTransformer(**given) for given in TRANSFORMER]
    for kind in LINEAR:
        grid = {"alphas": 8} if quick and kind.__name__.endswith("CV") else {}
        found += [kind(**given, **grid) for given in SETTINGS]
    return found


def run(options: argparse.Namespace) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    report = options.report
    skipped: set[str] = set()
    for estimator in estimators(options.quick):
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes = check_estimator(estimator, on_skip=None, on_fail=None)
        counts = Counter(outcome["status"] for outcome in outcomes)
        skipped |= {
            f"{outcome['check_name']} ({outcome['exception']})"
            for outcome in outcomes
            if outcome["status"] == "skipped"
        }
        report.add(
            estimator=repr(estimator),
            checks=len(outcomes),
            passed=counts["passed"],
            failed=counts["failed"] + counts["xfail"],
            skipped=counts["skipped"],
            seconds=perf_counter() - start,
        )
    for text in sorted(skipped):
        report.note(f"skipped by scikit-learn: {text}")
