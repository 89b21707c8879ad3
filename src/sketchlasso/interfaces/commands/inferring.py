"""`sketchlasso infer`: an interval and a p-value for every coefficient."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, UnusableColumnsError
from sketchlasso.interfaces.commands.data import read_given
from sketchlasso.interfaces.commands.describe import target_words
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import DataOptions, File, penalty_of
from sketchlasso.interfaces.commands.outputs import (
    check_outputs,
    output_option,
    panels,
    plot_option,
    save_picture,
)
from sketchlasso.interfaces.commands.report import Report, Sheet, wrote
from sketchlasso.interfaces.commands.screen import Screen, Watch

__all__ = ["infer"]

InferredTable = Annotated[
    Path | None,
    output_option("Table to write, one row per feature."),
]
Adjust = Annotated[
    str,
    typer.Option(help="p-values for many tests: holm, bh or by (false discovery rates)."),
]
InitialPenalty = Annotated[
    str,
    typer.Option(
        help="Penalty of the initial estimate: a number, or pivotal, rigorous or rigorous-robust."
    ),
]
Picture = Annotated[
    Path | None,
    plot_option("Picture of the intervals, and of p-values against estimates"),
]
Shown = Annotated[
    int, typer.Option(help="How many features to show, smallest p-values first.", min=0)
]
# Features whose intervals are drawn at most, those of the smallest p-values.
MOST_DRAWN = 20
ADJUSTMENTS = {
    "holm": "holm",
    "bh": "benjamini-hochberg",
    "by": "benjamini-yekutieli",
}


def infer(
    file: File,
    data: DataOptions,
    screen: Screen,
    level: Annotated[float, typer.Option(help="Of the confidence intervals.")] = 0.95,
    adjust: Adjust = "holm",
    robust: Annotated[
        bool, typer.Option("--robust", help="Errors for noise whose variance may differ.")
    ] = False,
    alpha: InitialPenalty = "pivotal",
    output: InferredTable = None,
    plot: Picture = None,
    top: Shown = 10,
) -> Report:
    """Estimate every coefficient, with its error and p-value.

    The desparsified square-root LASSO: one regression per feature, on the full data.
    """
    _check(level, adjust)
    check_outputs(output, plot)
    given = read_given(file, data, needs_target=True)
    y = _numbers(given)
    start = perf_counter()
    with screen.watching("regressing every feature on the others") as watch:
        found = _inferred(given, y, penalty_of(alpha, "rigorous", "rigorous-robust"), robust, watch)
    seconds = perf_counter() - start
    adjustment = ADJUSTMENTS[adjust]
    columns = _columns(found, level, adjustment)
    written = _write(found, columns, output, level, adjustment, plot)
    return Report(
        data={
            "command": "infer",
            "output": output,
            "plot": plot,
            "n_samples": given.X.shape[0],
            "target": given.target_name,
            "level": level,
            "adjustment": adjustment,
            "errors": found.errors,
            "noise": float(found.noise),
            "feature": list(found.names),
            **columns,
            "seconds": seconds,
        },
        facts=(*_facts(found, given, columns, level, adjustment, seconds), *written),
        sheets=_sheet(found, columns, level, top),
    )


def _inferred(
    given: Given, y: Any, alpha: Any, robust: bool, watch: Watch | None
) -> sl.inference.Desparsified:
    """Estimate the coefficients; name the options that leave out columns without an effect."""
    try:
        return sl.inference.desparsified(
            given.X,
            y,
            alpha=alpha,
            errors="robust" if robust else "equal",
            feature_names=given.names,
            progress=None if watch is None else partial(watch.blocks, what="features"),
        )
    except UnusableColumnsError as refused:
        options = given.drop_options(refused.columns)
        if not options:
            raise
        raise InvalidInputError(f"{str(refused).rstrip('.')} with {options}.") from None


def _facts(
    found: sl.inference.Desparsified,
    given: Given,
    columns: dict[str, Any],
    level: float,
    adjustment: str,
    seconds: float,
) -> tuple[tuple[str, str], ...]:
    cutoff = 1 - level
    significant = int(np.sum(columns["adjusted"] <= cutoff))
    noise = "any noise" if found.errors == "robust" else "noise of equal variance"
    return (
        ("data", given.words()),
        ("target", target_words(given)),
        ("noise", f"{found.noise:.4g}"),
        ("errors", f"for {noise}"),
        (
            "found",
            f"{significant} of {len(found.names)} features with adjusted p-values ({adjustment}) "
            f"up to {cutoff:.2g}",
        ),
        ("bias bound", f"{found.bias_bound.max():.2f} at most"),
        ("seconds", f"{seconds:.2f}"),
    )


def _check(level: float, adjust: str) -> None:
    if not 0 < level < 1:
        raise InvalidInputError(
            f"--level {level:g} was given, but a number strictly between 0 and 1 is accepted; give "
            "for example 0.95."
        )
    if adjust not in ADJUSTMENTS:
        raise InvalidInputError(
            f"--adjust {adjust} was given, but {', '.join(ADJUSTMENTS)} are accepted; give one of "
            "them."
        )


def _numbers(given: Given) -> Any:
    y = given.response
    if y.dtype.kind not in "biuf" or y.ndim != 1:
        raise InvalidInputError(
            f"the target of {given.source} is not one column of numbers, but intervals are for "
            "regressions; give a target of numbers."
        )
    return y


def _columns(found: sl.inference.Desparsified, level: float, adjustment: Any) -> dict[str, Any]:
    lower, upper = found.interval(level)
    return {
        "estimate": found.estimate,
        "standard_error": found.standard_error,
        "z_value": found.z_value,
        "p_value": found.p_value,
        "adjusted": found.adjusted(adjustment),
        "lower": lower,
        "upper": upper,
        "bias_bound": found.bias_bound,
    }


def _write(
    found: sl.inference.Desparsified,
    columns: dict[str, Any],
    output: Path | None,
    level: float,
    adjustment: Any,
    plot: Path | None,
) -> tuple[tuple[str, str], ...]:
    """Write what was asked for; facts that say so."""
    if output is not None:
        values = np.column_stack(list(columns.values()))
        names = np.array(found.names)
        sl.io.write_table(output, sl.io.Table(values, names, tuple(columns), target_name="feature"))
    if plot is not None:
        shown = min(len(found.names), MOST_DRAWN)
        axes = panels([["intervals", "p-values"]], height=max(4.0, 1.2 + 0.28 * shown))
        sl.plots.plot_forest(found, level=level, top=shown, ax=axes["intervals"])
        sl.plots.plot_volcano(found, cutoff=1 - level, adjustment=adjustment, ax=axes["p-values"])
        save_picture(axes["intervals"], plot)
    return wrote(output, plot)


def _sheet(
    found: sl.inference.Desparsified, columns: dict[str, Any], level: float, top: int
) -> tuple[Sheet, ...]:
    order = np.argsort(found.p_value, kind="stable")[:top]
    if len(order) == 0:
        return ()
    shown = ("estimate", "standard_error", "lower", "upper", "p_value", "adjusted")
    rows = tuple((found.names[j], *(float(columns[name][j]) for name in shown)) for j in order)
    return (
        Sheet(
            f"smallest p-values, {100 * level:g} % intervals",
            ("feature", "estimate", "error", "lower", "upper", "p-value", "adjusted"),
            rows,
        ),
    )
