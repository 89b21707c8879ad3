"""`sketchlasso infer` and `stability`: p-values, and features chosen on most half-samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, UnusableColumnsError
from sketchlasso.interfaces.commands import options, outputs
from sketchlasso.interfaces.commands.data import Given, read_given
from sketchlasso.interfaces.commands.describe import feature_name
from sketchlasso.interfaces.commands.report import Bar, Facts, Report, Sheet, sheet_of
from sketchlasso.interfaces.commands.screen import Screen, Watch, Watcher
from sketchlasso.types import FloatArray

# How many intervals are drawn at most: those of the smallest p-values.
MOST_DRAWN = 20
ADJUSTMENTS = {
    "holm": "holm",
    "bh": "benjamini-hochberg",
    "by": "benjamini-yekutieli",
}


def infer(
    file: options.File,
    data: options.DataOptions,
    screen: Screen,
    level: Annotated[float, "Level of the confidence intervals."] = 0.95,
    adjust: Annotated[
        str, "p-values for many tests: holm, bh or by (false discovery rates)."
    ] = "holm",
    robust: Annotated[bool, "Standard errors for noise of unequal variance."] = False,
    alpha: Annotated[
        str, "Penalty of the initial estimate: a number, or pivotal, rigorous or rigorous-robust."
    ] = "pivotal",
    output: Annotated[Path | None, "Table to write, one row per feature."] = None,
    plot: Annotated[
        Path | None,
        "Picture of the intervals, and of p-values against estimates (.png, .svg, .pdf).",
    ] = None,
    top: Annotated[
        int, typer.Option(help="How many features to show, smallest p-values first.", min=0)
    ] = 10,
) -> Report:
    """Estimate every coefficient, with its error and p-value.

    The desparsified square-root LASSO: one regression per feature, on the full data.
    """
    if not 0 < level < 1:
        raise InvalidInputError(
            f"--level must be strictly between 0 and 1, such as 0.95, not {level:g}."
        )
    options.check_choice("--adjust", adjust, tuple(ADJUSTMENTS))
    outputs.check_table(output, text=True)
    given = read_given(file, data, needs_target=True).without_references()
    penalty = options.penalty_of(alpha, "rigorous", "rigorous-robust")
    adjustment: Any = ADJUSTMENTS[adjust]
    start = perf_counter()
    with screen.watching("regressing every feature on the others") as watch:
        found = _inferred(given, penalty, robust, watch)
    seconds = perf_counter() - start
    columns = _columns(found, level, adjustment)
    outputs.write_columns(output, columns, found.names)
    if plot is not None:
        _draw(found, level, adjustment, plot)
    facts = _facts(found, given, columns, level, adjustment)
    return Report(
        data={
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
        facts=(*facts, ("seconds", f"{seconds:.2f}")),
        sheets=_sheet(found, columns, level, top),
    )


def _inferred(
    given: Given, alpha: float | str, robust: bool, watch: Watch | None
) -> sl.inference.Desparsified:
    """Estimate the coefficients; an error about columns names the options that leave them out."""
    y = given.response
    if y.dtype.kind not in "biuf" or y.ndim != 1:
        raise InvalidInputError(
            f"the target of {given.source} is not one column of numbers, but intervals are for "
            "regressions; give a target of numbers."
        )
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
        drops = given.drop_options(refused.columns)
        if not drops:
            raise
        raise InvalidInputError(f"{str(refused).rstrip('.')} with {drops}.") from None


def _facts(
    found: sl.inference.Desparsified,
    given: Given,
    columns: dict[str, Any],
    level: float,
    adjustment: str,
) -> Facts:
    cutoff = 1 - level
    significant = int(np.sum(columns["adjusted"] <= cutoff))
    noise = "any noise" if found.errors == "robust" else "noise of equal variance"
    return (
        *given.facts(),
        ("noise", f"{found.noise:.4g}"),
        ("errors", f"for {noise}"),
        (
            "found",
            f"{significant} of {len(found.names)} features with adjusted p-values ({adjustment}) "
            f"up to {cutoff:.2g}",
        ),
        ("bias bound", f"{found.bias_bound.max():.2f} at most"),
    )


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


def _draw(found: sl.inference.Desparsified, level: float, adjustment: Any, plot: Path) -> None:
    shown = min(len(found.names), MOST_DRAWN)
    axes = outputs.panels([["intervals", "p-values"]], height=max(4.0, 1.2 + 0.28 * shown))
    sl.plots.plot_forest(found, level=level, top=shown, ax=axes["intervals"])
    sl.plots.plot_volcano(found, cutoff=1 - level, adjustment=adjustment, ax=axes["p-values"])
    outputs.save_picture(axes["intervals"], plot)


def _sheet(
    found: sl.inference.Desparsified, columns: dict[str, Any], level: float, top: int
) -> tuple[Sheet, ...]:
    shown = (
        ("feature", found.names),
        ("estimate", columns["estimate"]),
        ("error", columns["standard_error"]),
        ("lower", columns["lower"]),
        ("upper", columns["upper"]),
        ("p-value", _probabilities(columns["p_value"])),
        ("adjusted", _probabilities(columns["adjusted"])),
    )
    order = np.argsort(found.p_value, kind="stable")[:top]
    return sheet_of(f"smallest p-values, {100 * level:g} % intervals", shown, order)


def _probabilities(values: FloatArray) -> list[float | str]:
    """Return p-values for people; those that are too small for a float are not zero."""
    return [value or "< 1e-300" for value in values]


@dataclass(frozen=True)
class SelectionOptions:
    """How often a feature has to be chosen, and the bound on false selections."""

    panel: ClassVar[str] = "Selection"
    pfer: Annotated[
        float | None, "Expected number of false selections to accept at most; 1 by default."
    ] = None
    cutoff: Annotated[
        float | None, "Share of half-samples that a feature needs; 0.75 by default."
    ] = None
    q: Annotated[
        int | None,
        "Features chosen on each half-sample. Two of --pfer, --cutoff and --q decide the third.",
    ] = None
    assumption: Annotated[
        str, "Assumption of the bound: unimodal, r-concave, or none (Meinshausen and Buehlmann)."
    ] = "unimodal"
    pairs: Annotated[int, "Pairs of half-samples."] = 50
    intercept: Annotated[bool, "Whether models have an intercept."] = True
    standardize: Annotated[bool, "Divide columns by their standard deviations."] = True
    positive: Annotated[bool, "Choose positive effects only."] = False
    threads: options.Threads = -1
    seed: options.Seed = 0

    def selector(self, watch: Watcher | None) -> sl.inference.StabilitySelection:
        """Return the selector that the options ask for."""
        return sl.inference.StabilitySelection(
            pfer=self.pfer,
            cutoff=self.cutoff,
            q=self.q,
            assumption=self.assumption,  # type: ignore[arg-type]
            n_pairs=self.pairs,
            fit_intercept=self.intercept,
            standardize=self.standardize,
            positive=self.positive,
            n_jobs=self.threads,
            random_state=self.seed,
            verbose=watch or False,
        )


def stability(
    file: options.File,
    data: options.DataOptions,
    rule: SelectionOptions,
    screen: Screen,
    output: Annotated[
        Path | None,
        "Table to write: every feature, how often it was chosen, whether it is selected.",
    ] = None,
    plot: Annotated[Path | None, "Picture of the stability paths (.png, .svg, .pdf)."] = None,
    top: Annotated[int, typer.Option(help="How many features to show at most.", min=0)] = 20,
) -> Report:
    """Select features with a bound on the number of false ones.

    The rows are split in half many times; features that are chosen on most halves are selected.
    """
    outputs.check_table(output, text=True)
    given = read_given([file], data, needs_target=True)
    y, classes = given.signs(None)
    start = perf_counter()
    with screen.watching("half-samples") as watch:
        selector = rule.selector(watch).fit(given.X, y)
    seconds = perf_counter() - start
    given.note_on_gaps("gaps were filled from all rows before the rows were split in half")
    columns = {"frequency": selector.frequencies_, "selected": selector.get_support()}
    names = [feature_name(given.names, j) for j in range(given.X.shape[1])]
    outputs.write_columns(output, columns, names)
    if plot is not None:
        outputs.save_picture(sl.plots.plot_stability(selector, feature_names=given.names), plot)
    selected = f"{len(selector.get_support(indices=True))} of {given.X.shape[1]} features"
    bound = f"{selector.pfer_:.3g} false selections expected at most ({rule.assumption})"
    return Report(
        data={**_selected(selector, given), "seconds": seconds},
        facts=(
            *given.facts(classes),
            ("halves", f"{2 * rule.pairs}, {selector.q_} features chosen on each"),
            ("cutoff", f"{selector.cutoff_:g} of the halves"),
            ("bound", bound),
            ("selected", selected),
            ("seconds", f"{seconds:.2f}"),
        ),
        sheets=_shares_sheet(selector, names, top),
    )


def _selected(selector: sl.inference.StabilitySelection, given: Given) -> dict[str, Any]:
    """Describe for machines what was selected."""
    return {
        "n_samples": given.X.shape[0],
        "n_features": given.X.shape[1],
        "target": given.target_name,
        "cutoff": selector.cutoff_,
        "q": selector.q_,
        "pfer": selector.pfer_,
        "assumption": selector.assumption,
        "selected": [
            {"feature": feature_name(given.names, int(j)), "frequency": selector.frequencies_[j]}
            for j in selector.get_support(indices=True)
        ],
        "frequencies": selector.frequencies_,
    }


def _shares_sheet(
    selector: sl.inference.StabilitySelection, names: Sequence[str], top: int
) -> tuple[Sheet, ...]:
    """List the features chosen most often, down to half of the cutoff."""
    often = selector.frequencies_
    order = np.argsort(-often, kind="stable")[:top]
    order = order[often[order] >= 0.5 * selector.cutoff_]
    columns = (
        ("feature", names),
        ("share", often),
        ("", np.where(selector.get_support(), "selected", "")),
        ("", list(map(Bar, often))),
    )
    return sheet_of("share of half-samples", columns, order)
