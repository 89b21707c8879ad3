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
from sketchlasso.interfaces.commands.data import read_given
from sketchlasso.interfaces.commands.describe import all_names
from sketchlasso.interfaces.commands.report import Bar, Report, Sheet, sheet_of
from sketchlasso.interfaces.commands.screen import Screen, Watch

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
        str,
        "Penalty of the initial estimate: a number, pivotal, rigorous, rigorous-robust, or auto "
        "(none where rows suffice for least squares, else pivotal).",
    ] = "auto",
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
    outputs.check_table(output)
    penalty = options.penalty_of(alpha, "auto", "rigorous", "rigorous-robust")
    given = read_given(file, data, needs_target=True).without_references()
    if given.response.dtype.kind not in "biuf" or given.response.ndim != 1:
        raise InvalidInputError(
            f"the target of {given.source} is not one column of numbers, but intervals are for "
            "regressions; give a target of numbers."
        )
    start = perf_counter()
    with screen.watching("regressing every feature on the others") as watch:
        try:
            found = sl.inference.desparsified(
                given.X,
                given.response,
                alpha=penalty,
                errors="robust" if robust else "equal",
                feature_names=given.names,
                progress=None if watch is None else partial(watch.blocks, what="features"),
            )
        except UnusableColumnsError as refused:
            raise InvalidInputError(
                f"{refused} --drop-constant and --drop-duplicates leave out all such columns."
            ) from None
    seconds = perf_counter() - start
    adjustment: Any = ADJUSTMENTS[adjust]
    lower, upper = found.interval(level)
    columns = {
        "estimate": found.estimate,
        "standard_error": found.standard_error,
        "z_value": found.z_value,
        "p_value": found.p_value,
        "adjusted": found.adjusted(adjustment),
        "lower": lower,
        "upper": upper,
        "flagged": found.flagged,
        "bias_bound": found.bias_bound,
    }
    printed = outputs.write_columns(output, {"feature": found.names, **columns})
    if plot is not None:
        _draw(found, level, adjustment, plot)
    cutoff = 1 - level
    significant = int(np.sum(columns["adjusted"] <= cutoff))
    counts = f"{significant} of {len(found.names)} features"
    noise = "any noise" if found.errors == "robust" else "noise of equal variance"
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
        facts=(
            *given.facts(),
            ("noise", f"{found.noise:.4g}"),
            ("errors", f"for {noise}"),
            ("found", f"{counts} with adjusted p-values ({adjustment}) up to {cutoff:.2g}"),
            ("flagged", f"{found.flagged.sum()} intervals, which may miss the truth too often"),
            ("seconds", f"{seconds:.2f}"),
        ),
        sheets=_sheet(found, columns, level, top),
        outcome=printed,
    )


def _draw(found: sl.inference.Desparsified, level: float, adjustment: Any, plot: Path) -> None:
    shown = min(len(found.names), MOST_DRAWN)
    axes = outputs.panels([["intervals", "p-values"]], height=max(4.0, 1.2 + 0.28 * shown))
    sl.plots.plot_forest(found, level=level, top=shown, ax=axes["intervals"])
    sl.plots.plot_volcano(found, cutoff=1 - level, adjustment=adjustment, ax=axes["p-values"])
    outputs.save_picture(axes["intervals"], plot)


def _sheet(
    found: sl.inference.Desparsified, columns: dict[str, Any], level: float, top: int
) -> tuple[Sheet, ...]:
    # A p-value that is too small for a float is not zero.
    p_values, adjusted = (
        [value or "< 1e-300" for value in columns[name]] for name in ("p_value", "adjusted")
    )
    shown = (
        ("feature", found.names),
        ("estimate", columns["estimate"]),
        ("error", columns["standard_error"]),
        ("lower", columns["lower"]),
        ("upper", columns["upper"]),
        ("p-value", p_values),
        ("adjusted", adjusted),
        *((("", np.where(found.flagged, "flagged", "")),) if found.flagged.any() else ()),
    )
    order = np.argsort(found.p_value, kind="stable")[:top]
    return sheet_of(f"smallest p-values, {100 * level:g} % intervals", shown, order)


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
        str, "Assumption of the bound: unimodal, or none (Meinshausen and Buehlmann)."
    ] = "unimodal"
    pairs: Annotated[int, "Pairs of half-samples."] = 50
    intercept: Annotated[bool, "Whether models have an intercept."] = True
    standardize: Annotated[bool, "Divide columns by their standard deviations."] = True
    positive: Annotated[bool, "Choose positive effects only."] = False
    threads: options.Threads = -1
    seed: options.Seed = 0

    def selector(self, watch: Watch | None) -> sl.inference.StabilitySelection:
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
    outputs.check_table(output)
    given = read_given([file], data, needs_target=True)
    y, classes = given.signs(None)
    start = perf_counter()
    with screen.watching("half-samples") as watch:
        selector = rule.selector(watch).fit(given.X, y)
    seconds = perf_counter() - start
    given.note_on_gaps("gaps were filled from all rows before the rows were split in half")
    columns = {"frequency": selector.frequencies_, "selected": selector.get_support()}
    names = all_names(given.names, given.X.shape[1])
    printed = outputs.write_columns(output, {"feature": names, **columns})
    if plot is not None:
        outputs.save_picture(sl.plots.plot_stability(selector, feature_names=given.names), plot)
    chosen = selector.get_support(indices=True)
    frequencies = selector.frequencies_
    selected = [{"feature": names[j], "frequency": frequencies[j]} for j in chosen]
    bound = f"{selector.pfer_:.3g} false selections expected at most ({rule.assumption})"
    return Report(
        data={
            "n_samples": given.X.shape[0],
            "n_features": given.X.shape[1],
            "target": given.target_name,
            "cutoff": selector.cutoff_,
            "q": selector.q_,
            "pfer": selector.pfer_,
            "assumption": selector.assumption,
            "selected": selected,
            "frequencies": frequencies,
            "seconds": seconds,
        },
        facts=(
            *given.facts(classes),
            ("halves", f"{2 * rule.pairs}, {selector.q_} features chosen on each"),
            ("cutoff", f"{selector.cutoff_:g} of the halves"),
            ("bound", bound),
            ("selected", f"{len(chosen)} of {given.X.shape[1]} features"),
            ("seconds", f"{seconds:.2f}"),
        ),
        sheets=_shares_sheet(selector, names, top),
        outcome=printed,
    )


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
