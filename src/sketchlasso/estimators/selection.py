"""Choosing penalties and radii by cross-validation, and what is kept of the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.cluster import active_engine
from sketchlasso.errors import Argument, GridEdgeWarning, InvalidInputError, Name, Part
from sketchlasso.estimators.base import ResponseFit, fit_response
from sketchlasso.estimators.blocks import in_memory
from sketchlasso.estimators.parameters import PenaltySearch, SearchSpecification
from sketchlasso.estimators.task import Prepared, SketchPlan, sketch_plans, task_of
from sketchlasso.instances import RowSet, RowSets, shuffled_folds, splitter_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.threads import map_items, thread_count
from sketchlasso.problem.terms import check_alphas
from sketchlasso.results import Choice, CrossValidation
from sketchlasso.results.cross_validation import searched
from sketchlasso.results.guide import Guide
from sketchlasso.results.sketched import FoldBases
from sketchlasso.results.stage_progress import SharedProgress
from sketchlasso.results.staged import KEPT_BYTES, kept_bytes
from sketchlasso.sketches import Sketch
from sketchlasso.types import FloatArray, IntArray
from sketchlasso.warn import warn_user

__all__ = ["Chosen", "choose", "keep_choices"]

FOLDS = 5
# Responses that are searched from the start; the others begin where these ended.
GUIDES = 2
# Scores differ by less than this share of their standard error: the penalty makes no difference.
FLAT = 1e-3


@dataclass(frozen=True, eq=False)
class Chosen:
    """What cross-validation says of one response.

    Attributes
    ----------
    used : Choice
        In the units of the data, which the fit is made in; all others in those of the user.
    best, one_standard_error : Choice
    alphas : ndarray of shape (n_alphas,)
    mse, scores, n_nonzero : ndarray of shape (n_alphas, n_folds)
        NaN and 0 for penalties that the search left out.
    predictions : ndarray of shape (m,)
        Out of fold, at the penalty used; NaN for rows never held out.
    fold_share : ndarray of shape (n,)
        Share of the folds in which a feature has a part, at the penalty used.
    sketch : Sketch or None
    column : int
        Which response.
    guide : Guide
        Where the search of another response may begin.
    """

    used: Choice
    best: Choice
    one_standard_error: Choice
    alphas: FloatArray
    mse: FloatArray
    scores: FloatArray
    n_nonzero: IntArray
    predictions: FloatArray
    fold_share: FloatArray
    sketch: Sketch | None
    column: int
    guide: Guide


def choose(
    spec: SearchSpecification,
    data: Prepared,
    target: Any,
    groups: Any,
    metrics: tuple[str, ...],
    classes: NDArray[Any] | None = None,
) -> tuple[list[ResponseFit], list[Chosen]]:
    """Cross-validate every response and fit it at its choice on all rows.

    Parameters
    ----------
    spec : SearchSpecification
    data : Prepared
    target : array-like of shape (m,) or None
        What splitters may stratify by, for all rows of the user's.
    groups : array-like of shape (m,) or None
    metrics : tuple of str
        What `scoring` may name.
    classes : ndarray of shape (n_classes,), optional
        Labels of a classifier, whose folds are stratified.
    """
    scoring: Any = spec.scoring
    if scoring not in metrics:
        raise InvalidInputError(
            Argument("scoring", scoring),
            f" was given, but one of {', '.join(map(repr, metrics))} is accepted; pass one of "
            "them.",
        )
    rows = _folds(spec, data, target, in_memory(groups), stratified=classes is not None)
    if data.weights is not None:
        rows = rows.weighted(data.weights)
    plans = sketch_plans(spec, data)
    progress = SharedProgress(spec.report, parts=len(plans)) if len(plans) > 1 else None
    threads = _searches_at_once(spec, data, rows, plans)
    bases = FoldBases() if progress is not None else None
    parts: list[tuple[list[ResponseFit], list[Chosen]]] = []

    def search(guide: Guide | None, plan: SketchPlan) -> tuple[list[ResponseFit], list[Chosen]]:
        own = spec if progress is None else replace(spec, report=progress.part())
        return _search(own, data, rows, plan, classes, guide, bases)

    stop = progress.stop if progress is not None else lambda: None
    for some in (plans[:GUIDES], plans[GUIDES:]):
        guide = _guide([chosen for _, choices in parts for chosen in choices])
        parts += map_items(partial(search, guide), some, threads, stop)
    if progress is not None:
        progress.end()
    fits = [fit for some, _ in parts for fit in some]
    return fits, [chosen for _, some in parts for chosen in some]


def _guide(earlier: list[Chosen]) -> Guide | None:
    """Where searches begin after earlier ones: where the one with the largest radius ended."""
    guides = [chosen.guide for chosen in earlier]
    return max(guides, key=lambda guide: guide.best, default=None)


def _searches_at_once(
    spec: SearchSpecification, data: Prepared, rows: RowSets, plans: list[SketchPlan]
) -> int:
    """Threads over the sketches: all cores where there are as many sketches, or none.

    A search of its own has less to do at once than there are cores, and waits for its slowest
    fold at every stage.
    """
    _, make = plans[0]
    engine = active_engine()
    if (
        spec.device != CPU
        or len(plans) < max(2, thread_count(spec.n_jobs))
        or data.in_blocks
        or (engine is not None and engine.remote)
    ):
        return 1
    sketch = make()
    if sketch is None:
        return 1
    fitting = KEPT_BYTES // kept_bytes(data.matrix_for(sketch), sketch, len(rows))
    return int(max(1, min(thread_count(spec.n_jobs), fitting)))


def _search(
    spec: SearchSpecification,
    data: Prepared,
    rows: RowSets,
    plan: SketchPlan,
    classes: NDArray[Any] | None,
    guide: Guide | None,
    bases: FoldBases | None,
) -> tuple[list[ResponseFit], list[Chosen]]:
    """Cross-validate the responses that share a sketch, and fit them at their choices."""
    columns, make = plan
    sketch = make()
    scoring: Any = spec.scoring
    task = task_of(spec, data, columns, sketch, _alphas(spec.alphas, data), searching=True)
    found = searched(
        replace(task, alpha_min_ratio=spec.alpha_min_ratio, guide=guide, bases=bases),
        sketch,
        data.radius_in_units(spec.radius) if sketch is not None else None,
        rows,
        spec.refine if sketch is not None else None,
        tuple(dict.fromkeys((scoring, "mse"))),
    )
    fits, choices = [], []
    for place, column in enumerate(columns):
        whose = _whose(classes, data, int(column))
        chosen = _chosen(spec, scoring, found, place, sketch, data, int(column), whose)
        choices.append(chosen)
        fits.append(
            fit_response(
                spec,
                data,
                np.array([column]),
                sketch,
                chosen.used.alpha,
                chosen.used.radius if sketch is not None else None,
                found.start_of(place, chosen.used),
            )
        )
    return fits, choices


def _alphas(alphas: Any, data: Prepared) -> Any:
    """Penalties given in the user's units in those of the data; a number of penalties as it is."""
    if data.x_unit == 1.0 or isinstance(alphas, int | np.integer):
        return alphas
    return check_alphas(alphas) / data.x_unit


def _folds(
    spec: SearchSpecification, data: Prepared, target: Any, groups: Any, stratified: bool
) -> RowSets:
    """Folds of all rows of the user's, less those that have no weight and were dropped."""
    m, cv = data.n_given, spec.cv
    if cv is None or isinstance(cv, int | np.integer):
        count = FOLDS if cv is None else int(cv)
        cv = shuffled_folds(count, target, stratified, spec.random_state)
    rows = splitter_rows(cv, m, target, groups)
    if len(data.rows) == m:
        return rows
    place = np.full(m, -1)
    place[data.rows] = np.arange(len(data.rows))

    def kept(numbers: IntArray) -> IntArray:
        found = place[numbers]
        return found[found >= 0]

    sets = tuple(
        RowSet(
            kept(fold.removed),
            kept(fold.test),
            None if fold.weights is None else fold.weights[data.rows],
        )
        for fold in rows
    )
    judged = tuple(fold for fold in sets if len(fold.test))
    if not judged or any(len(fold.removed) == len(data.rows) for fold in judged):
        raise InvalidInputError(
            "sample_weight is zero on every row that a fold trains on or is judged by, but both "
            "are needed; give weight to more rows, or use fewer folds."
        )
    return RowSets(len(data.rows), judged)


def _chosen(
    spec: SearchSpecification,
    scoring: Any,
    found: CrossValidation,
    response: int,
    sketch: Sketch | None,
    data: Prepared,
    column: int,
    whose: str,
) -> Chosen:
    best = found.best(scoring, response)
    careful = found.best(scoring, response, rule="1se")
    used = best if spec.selection == "min" else careful
    best, careful = (
        replace(choice, alpha=choice.alpha * data.x_unit) for choice in (best, careful)
    )
    alphas = found.alphas[response, best.radius_index] * data.x_unit
    unit = float(data.y_units[column])
    at = (response, best.radius_index)
    units = {"mse": unit * unit, "mae": unit}  # unit**2 raises where the square overflows
    if np.ptp(data.Y[:, column]) > 0 and spec.terms.penalised(data.X.shape[1]).any():
        automatic = isinstance(spec.alphas, int | np.integer)
        if not _flat_end(best, alphas, found.scores[scoring][:, *at].T):
            _warn_at_the_edge(best, alphas, automatic, whose)
    predictions = np.full(data.n_given, np.nan)
    predictions[data.rows] = (
        unit * found.predictions[:, response, used.radius_index, used.alpha_index]
    )
    return Chosen(
        used=used,
        best=best,
        one_standard_error=careful,
        alphas=alphas,
        mse=found.scores["mse"][:, *at].T * units["mse"],
        scores=found.scores[scoring][:, *at].T * units.get(scoring, 1.0),
        n_nonzero=found.n_nonzero[:, *at].T,
        predictions=predictions,
        fold_share=found.support_share(response, used),
        sketch=data.original_sketch(sketch, spec.ready),
        column=column,
        guide=found.guide(response),
    )


def _whose(classes: NDArray[Any] | None, data: Prepared, column: int) -> str:
    """Which of several responses, in words."""
    if data.Y.shape[1] == 1:
        return ""
    if classes is not None:
        return f" of class {classes[[column]].tolist()[0]!r}"
    return f" of target {column}"


def _flat_end(best: Choice, alphas: FloatArray, scores: FloatArray) -> bool:
    """Return whether the best penalty is the smallest and ten times as much scores the same.

    The penalty then has no influence any more, so smaller ones cannot be better. `scores` has
    shape (n_alphas, n_folds).
    """
    larger = np.flatnonzero(alphas >= 10.0 * alphas[-1])
    if best.alpha_index != len(alphas) - 1 or not len(larger):
        return False
    changes, last = scores[larger[-1]] - scores[-1], scores[-1]
    # NaN, where that penalty was left out, is not flat.
    return bool(abs(changes.mean()) <= FLAT * last.std() / np.sqrt(len(last)))


def _warn_at_the_edge(best: Choice, alphas: FloatArray, automatic: bool, whose: str) -> None:
    """Warn where the grid ends at the best penalty; a grid of one or two has no inside."""
    if len(alphas) < 3 or 0 < best.alpha_index < len(alphas) - 1:
        return
    remedy: tuple[Part, ...] = ()
    if best.alpha_index > 0:
        remark = "the smallest of the grid, so a smaller one may be better; "
        remedy = ("lower ", Name("alpha_min_ratio")) if automatic else ("add smaller penalties",)
    elif automatic:
        remark = "the largest of the grid: no penalised feature makes predictions better"
    else:
        remark = "the largest of the grid, so a larger one may be better; add larger penalties"
    best_penalty = f"the best penalty{whose}, {best.alpha:.3g}"
    warn_user(GridEdgeWarning(f"{best_penalty}, is {remark}", *remedy, "."))


def _continued(chosen: Chosen, count: int) -> Chosen:
    """The same with so many penalties, evenly spaced; those added were left out."""
    more = count - len(chosen.alphas)
    if more == 0:
        return chosen
    step = chosen.alphas[-1] / chosen.alphas[-2]
    unknown = np.full((more, chosen.mse.shape[1]), np.nan)
    return replace(
        chosen,
        alphas=np.append(chosen.alphas, chosen.alphas[-1] * step ** np.arange(1, more + 1)),
        mse=np.vstack([chosen.mse, unknown]),
        scores=np.vstack([chosen.scores, unknown]),
        n_nonzero=np.vstack([chosen.n_nonzero, np.zeros_like(unknown, dtype=np.intp)]),
    )


def keep_choices(estimator: PenaltySearch, choices: list[Chosen], single: bool) -> FloatArray:
    """Write the attributes that describe the search; return the out-of-fold predictions.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_targets)
    """
    estimator.sketch_ = choices[0].sketch
    choices = sorted(choices, key=lambda chosen: chosen.column)

    # The grid of one response may have been continued further than that of another.
    longest = max(len(chosen.alphas) for chosen in choices)
    choices = [_continued(chosen, longest) for chosen in choices]

    def each(values: list[Any]) -> Any:
        return values[0] if single else np.array(values)

    estimator.alpha_min_ = each([chosen.best.alpha for chosen in choices])
    estimator.alpha_1se_ = each([chosen.one_standard_error.alpha for chosen in choices])
    estimator.alphas_ = each([chosen.alphas for chosen in choices])
    estimator.mse_path_ = each([chosen.mse for chosen in choices])
    estimator.score_path_ = each([chosen.scores for chosen in choices])
    estimator.n_nonzero_path_ = each([chosen.n_nonzero for chosen in choices])
    estimator.fold_share_ = each([chosen.fold_share for chosen in choices])
    predictions = np.column_stack([chosen.predictions for chosen in choices])
    return predictions[:, 0] if single else predictions
