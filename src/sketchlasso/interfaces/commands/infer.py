"""`sketchlasso infer` and `stability`: p-values, and features chosen on most half-samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, UnusableColumnsError
from sketchlasso.interfaces.commands import options, outputs
from sketchlasso.interfaces.commands.data import read_given
from sketchlasso.interfaces.commands.describe import all_names
from sketchlasso.interfaces.commands.screen import Bar, Report, Screen, Watch, facts_of, sheet_of

ADJUSTMENTS: dict[str, Any] = {
    "holm": "holm",
    "bh": "benjamini-hochberg",
    "by": "benjamini-yekutieli",
}


@dataclass(frozen=True)
class InferenceOptions:
    """How errors are estimated, and which features are reported."""

    panel: ClassVar[str] = "Inference"
    level: Annotated[float, "Level of the confidence intervals."] = 0.95
    adjust: Annotated[
        Literal["holm", "bh", "by"],
        "p-values for many tests: holm, bh or by (false discovery rates).",
    ] = "holm"
    robust: Annotated[bool, "Standard errors for noise of unequal variance."] = False
    alpha: Annotated[
        str,
        "Penalty of the initial estimate: a number, pivotal, rigorous, rigorous-robust, or auto "
        "(none where rows suffice for least squares, else pivotal).",
    ] = "auto"

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InvalidInputError(
                f"--level must be strictly between 0 and 1, such as 0.95, not {self.level:g}."
            )
        self.penalty()

    def penalty(self) -> Any:
        """Return the penalty of the initial estimate."""
        return options.penalty_of(self.alpha, "auto", "rigorous", "rigorous-robust")


def infer(
    file: options.Files,
    data: options.DataOptions,
    asked: InferenceOptions,
    table: outputs.TableOptions,
    picture: outputs.PlotOptions,
    screen: Screen,
    top: options.Top = 10,
) -> Report:
    """Estimate every coefficient, with its error and p-value.

    The desparsified square-root LASSO: one regression per feature, on the full data.
    """
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
                alpha=asked.penalty(),
                errors="robust" if asked.robust else "equal",
                feature_names=given.names,
                progress=None if watch is None else partial(watch.blocks, what="features"),
            )
        except UnusableColumnsError as refused:
            raise InvalidInputError(
                f"{refused} --drop-constant and --drop-duplicates leave out all such columns."
            ) from None
    seconds = perf_counter() - start
    adjustment = ADJUSTMENTS[asked.adjust]
    columns = found.table(asked.level, adjustment)
    printed = table.write(columns)
    cutoff, count = 1 - asked.level, len(found.names)
    if picture.plot is not None:
        shown = min(count, 20)
        axes = outputs.panels([["intervals", "p-values"]], height=max(4.0, 1.2 + 0.28 * shown))
        sl.plots.plot_forest(found, level=asked.level, top=shown, ax=axes["intervals"])
        sl.plots.plot_volcano(found, cutoff=cutoff, adjustment=adjustment, ax=axes["p-values"])
        picture.save(axes["intervals"])
    document = {
        "n_samples": given.X.shape[0],
        "n_features": count,
        "target": given.target_name,
        "level": asked.level,
        "adjustment": adjustment,
        "errors": found.errors,
        "noise": float(found.noise),
        "n_significant": int(np.sum(columns["adjusted"] <= cutoff)),
        "n_flagged": int(found.flagged.sum()),
        "seconds": seconds,
    }
    # A p-value that is too small for a float is not zero.
    small = {name: [p or "< 1e-300" for p in columns[name]] for name in ("p_value", "adjusted")}
    listed = [(name.replace("_", " "), part) for name, part in {**columns, **small}.items()]
    return Report(
        {**document, **columns},
        facts=facts_of(document),
        sheets=sheet_of(
            f"smallest p-values, {100 * asked.level:g} % intervals",
            listed,
            np.argsort(found.p_value, kind="stable")[:top],
        ),
        outcome=printed,
    )


@dataclass(frozen=True)
class SelectionOptions:
    """How often a feature has to be chosen, and the bound on false selections."""

    panel: ClassVar[str] = "Selection"
    pfer: Annotated[float | None, "False selections expected at most; 1 by default."] = None
    cutoff: Annotated[float | None, "Share of halves that a feature needs; 0.75 by default."] = None
    q: Annotated[int | None, "Features chosen on each half; two of the three suffice."] = None
    assumption: Annotated[
        Literal["unimodal", "none"],
        "Assumption of the bound: unimodal, or none (Meinshausen and Buehlmann).",
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
            assumption=self.assumption,
            n_pairs=self.pairs,
            fit_intercept=self.intercept,
            standardize=self.standardize,
            positive=self.positive,
            n_jobs=self.threads,
            random_state=self.seed,
            verbose=watch or False,
        )


def stability(
    file: options.Files,
    data: options.DataOptions,
    rule: SelectionOptions,
    table: outputs.TableOptions,
    picture: outputs.PlotOptions,
    screen: Screen,
    top: options.Top = 20,
) -> Report:
    """Select features with a bound on the number of false ones.

    The rows are split in half many times; features that are chosen on most halves are selected.
    """
    given = read_given(file, data, needs_target=True)
    y, _ = given.signs(None)
    start = perf_counter()
    with screen.watching("half-samples") as watch:
        selector = rule.selector(watch).fit(given.X, y)
    seconds = perf_counter() - start
    given.note_on_gaps("gaps were filled from all rows before the rows were split in half")
    names, often = all_names(given.names, given.X.shape[1]), selector.frequencies_
    selected = selector.get_support()
    printed = table.write({"feature": names, "frequency": often, "selected": selected})
    if picture.plot is not None:
        picture.save(sl.plots.plot_stability(selector, feature_names=given.names))
    order = np.argsort(-often, kind="stable")[:top]
    columns = (
        ("feature", names),
        ("share", often),
        ("", np.where(selected, "selected", "")),
        ("", list(map(Bar, often))),
    )
    document = {
        "n_samples": given.X.shape[0],
        "n_features": given.X.shape[1],
        "target": given.target_name,
        "cutoff": selector.cutoff_,
        "q": selector.q_,
        "pfer": selector.pfer_,
        "assumption": selector.assumption,
        "n_selected": int(selected.sum()),
        "seconds": seconds,
    }
    chosen = [{"feature": names[j], "frequency": often[j]} for j in np.flatnonzero(selected)]
    return Report(
        {**document, "selected": chosen, "frequencies": often},
        facts=facts_of(document),
        sheets=sheet_of(
            "share of half-samples", columns, order[often[order] >= 0.5 * selector.cutoff_]
        ),
        outcome=printed,
    )
