"""Choose penalties and radii by cross-validation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.cluster import active_engine
from sketchlasso.data import as_rows
from sketchlasso.errors import GridEdgeWarning, unaccepted
from sketchlasso.estimators.base import Watcher, in_memory, reporter
from sketchlasso.estimators.fit import (
    Attributes,
    Fitted,
    Prepared,
    empty_models,
    first_sketch,
    fit_response,
    own_sketch,
    problem_of,
    sketch_groups,
    warn_of_empty_models,
)
from sketchlasso.estimators.parameters import PenaltySearch, ready_sketch, terms_of
from sketchlasso.instances import RowSets, shuffled_folds, splitter_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.threads import map_items, thread_count
from sketchlasso.problem.terms import check_alphas
from sketchlasso.results.choices import Choice, CrossValidation
from sketchlasso.results.path import Grid
from sketchlasso.results.radius import RadiusPolicy
from sketchlasso.results.refits import refitted
from sketchlasso.results.scores import SCORES, Metric
from sketchlasso.results.search import search
from sketchlasso.results.sketched import fold_bases
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase
from sketchlasso.solvers.settings import SharedProgress
from sketchlasso.types import FloatArray, IntArray
from sketchlasso.warn import warn_user

FOLDS = 5  # as in scikit-learn
# Bytes of the sketches that searches side by side may keep.
KEPT_BYTES = 2 << 30
# Up to this many features of a model on a sketch, on average over the folds, X itself is searched,
# too: models of that size take little time there.
SMALL_MODEL = 1000
# Scores differ by less than this share of their standard error: the penalty makes no difference.
FLAT = 1e-3


def choose(
    model: PenaltySearch,
    data: Prepared,
    target: Any,
    groups: ArrayLike | None,
    metrics: tuple[str, ...],
    *,
    classes: bool = False,
) -> tuple[list[Fitted], FloatArray, Sketch | None]:
    """Cross-validate every response and fit it at its choice on all rows.

    Splitters may stratify by `target` (m,) or keep `groups` (m,) together; `classes` are those of a
    classifier, whose folds are stratified. `scoring` must be one of the `metrics`.

    Returns columns and attributes of the fits; predictions (m, t) out of fold at the penalties
    used, NaN for rows never held out; and the sketch of the first response.
    """
    if not isinstance(model.scoring, str) or model.scoring not in metrics:
        raise unaccepted("scoring", model.scoring, f"one of {', '.join(map(repr, metrics))}")
    rows = _folds(model, data, target, in_memory(groups), classes)
    if data.weights is not None:
        rows = rows.weighted(data.weights)
    report = reporter(model)
    constant = data.constant_responses(bool(model.fit_intercept))
    varying, parts = np.flatnonzero(~constant), []
    if len(varying):
        parts += _search_varying(model, data, rows, varying, report)
    if constant.any():
        parts.append(_search(model, data, rows, np.flatnonzero(constant), None, None, report))
    fits: list[Any] = [fit for some, _ in parts for fit in some]
    warn_of_empty_models(fits, constant)
    _warn_of_edges([fit.pop("edge") for _, fit in fits], "classes" if classes else "targets")
    predictions = np.full((data.n_given, data.Y.shape[1]), np.nan)
    longest = max(fit["alphas"].shape[1] for _, fit in fits)
    for columns, fit in fits:
        predictions[data.rows[:, None], columns] = fit.pop("predictions").T
        _continue(fit, longest)
    used = next((sketch for *_, sketch in parts if sketch is not None), None)
    return fits, predictions, data.original_sketch(used, ready_sketch(model))


def _search_varying(
    model: PenaltySearch,
    data: Prepared,
    rows: RowSets,
    columns: IntArray,
    report: Watcher | None,
) -> list[tuple[list[Fitted], Sketch | None]]:
    """Search for the responses that vary, those with sketches of their own side by side.

    A single search cannot keep all cores busy: it waits for its slowest fold at every stage.
    """
    first = first_sketch(model, data, columns[0])
    groups = sketch_groups(model, first, columns)
    if first is None or len(groups) == 1:
        return [_search(model, data, rows, columns, first, None, report)]
    # What the sketches of the folds share.
    bases = fold_bases(data.X, first, rows)
    searches = (2 if _may_do_without(model, data) else 1) * len(groups)
    progress = SharedProgress(report, parts=searches)

    def search_group(number: int) -> tuple[list[Fitted], Sketch | None]:
        sketch = own_sketch(first, data, groups[number][0], number > 0)
        return _search(model, data, rows, groups[number], sketch, bases, progress.part())

    threads, engine = thread_count(model.n_jobs), active_engine()
    alone = model.device != CPU or data.in_blocks or (engine is not None and engine.remote)
    if alone or len(groups) < threads:
        threads = 1
    kept = 8 * FOLDS * first.rank * sum(first.shape)
    threads = max(1, min(threads, KEPT_BYTES // kept))
    parts = map_items(search_group, range(len(groups)), threads, progress.stop)
    progress.end()
    return parts


def _search(
    model: PenaltySearch,
    data: Prepared,
    rows: RowSets,
    columns: IntArray,
    sketch: Sketch | None,
    bases: list[RowsBase] | None,
    report: Watcher | None,
) -> tuple[list[Fitted], Sketch | None]:
    """Cross-validate the responses that share a sketch, and fit them at their choices."""
    grid = Grid(model.alphas, model.alpha_min_ratio, data.radius_in_units(model.radius))
    if grid.count is None:
        grid = Grid(check_alphas(model.alphas) / data.penalty_unit, None, grid.radii)
    if sketch is None and model.sketch is not None:
        grid = Grid(grid.alphas, grid.alpha_min_ratio)
    metrics: Any = tuple(dict.fromkeys((model.scoring, "mse")))
    problem = problem_of(model, data, columns, sketch, report, searching=True)
    found = search(problem, grid, sketch, rows, metrics, bases)
    if model.relaxed:
        found = refitted(found, problem, metrics)
    if sketch is not None and _may_do_without(model, data):
        rival = _on_all_of_x(model, data, rows, columns, found, report)
        found, sketch = (found, sketch) if rival is None else (rival, None)
    found.fits.warn_if_unsolved()
    fits = []
    for place, column in enumerate(columns.tolist()):
        attributes = _search_attributes(model, data, found, place, column)
        used, response = found.best(model.scoring, place, model.selection), np.array([column])
        known = found.fit_on_all_rows(place, used, float(model.tol))
        radius = None if sketch is None else _radius_of_all(data, rows, found, place, used)
        fit = fit_response(
            model, data, response, sketch, used.alpha, radius, report=report, path=known
        )
        sizes = found.n_nonzero[:, place, used.radius_index, used.alpha_index]
        if sketch is not None and empty_models(fit)[0] and sizes.all():
            # The radius of more rows is a little larger, and leaves nothing.
            scored = found.radius[:, place, used.radius_index, used.alpha_index]
            radius = RadiusPolicy("given", float(scored.mean()))
            fit = fit_response(model, data, response, sketch, used.alpha, radius, report=report)
        fits.append((response, attributes | fit))
    return fits, sketch


def _radius_of_all(
    data: Prepared, rows: RowSets, found: CrossValidation, response: int, used: Choice
) -> RadiusPolicy:
    """The radius for all rows: a realised error is a length over rows, and folds have fewer."""
    if used.radius.kind != "realised":
        return used.radius
    scored = found.radius[:, response, used.radius_index, used.alpha_index]
    trained = [row_set.all_weights(rows.n_samples).sum() for row_set in rows]
    scales = np.sqrt(data.row_weights.sum() / np.array(trained))
    return RadiusPolicy("given", float(np.mean(scored * scales)))


def _may_do_without(model: PenaltySearch, data: Prepared) -> bool:
    """Whether no parameter asks for a sketch, or for penalties that take long without one."""
    automatic = model.sketch == "auto" and Grid(model.alphas).count is not None
    plain = model.radius is None and model.device in (CPU, "auto")
    return automatic and plain and sparse.issparse(data.X)


def _on_all_of_x(
    model: PenaltySearch,
    data: Prepared,
    rows: RowSets,
    columns: IntArray,
    found: CrossValidation,
    report: Watcher | None,
) -> CrossValidation | None:
    """The search of X itself, where models on an automatic sketch are small and clearly worse.

    A sketch keeps the directions in which X varies most, and the response's own. The few features
    that matter may lie outside of them, and the best model on the sketch is then a small one.
    """
    best = found.best(model.scoring)
    size = found.n_nonzero[:, 0, best.radius_index, best.alpha_index].mean()
    if found.interrupted or size > SMALL_MODEL:
        return None
    # Shares of correct labels vary in jumps, and would lead the search to the smallest penalties.
    metrics: Any = tuple(dict.fromkeys(("mse", model.scoring)))
    problem = problem_of(model, data, columns, None, report, searching=True)
    rival = search(problem, Grid(model.alphas, model.alpha_min_ratio), None, rows, metrics)
    if model.relaxed:
        rival = refitted(rival, problem, metrics)
    if rival.interrupted or not rival.clearly_better(found, model.scoring):
        return None
    return rival


def _folds(
    model: PenaltySearch, data: Prepared, target: Any, groups: Any, stratified: bool
) -> RowSets:
    """Folds of the rows that have weight; pairs of rows that the user gave may name the others."""
    cv, used = model.cv, data.rows
    target = None if target is None else np.asarray(target)[used]
    groups = None if groups is None else np.asarray(groups)[used]
    if cv is None or isinstance(cv, int | np.integer):
        cv = shuffled_folds(FOLDS if cv is None else cv, target, stratified, model.random_state)
    if hasattr(cv, "split") or len(used) == data.n_given:
        return splitter_rows(cv, len(used), target, groups)
    pairs = [
        (row_set.train(data.n_given), row_set.test) for row_set in splitter_rows(cv, data.n_given)
    ]
    kept = [tuple(np.searchsorted(used, np.intersect1d(p, used)) for p in pair) for pair in pairs]
    return splitter_rows(kept, len(used), target, groups)


def _search_attributes(
    model: PenaltySearch, data: Prepared, found: CrossValidation, place: int, column: int
) -> Attributes:
    """Attributes of the search for one response, and its out-of-fold predictions (1, r)."""
    choices = {rule: found.best(model.scoring, place, rule) for rule in ("min", "1se")}
    best, used = choices["min"], choices[model.selection]
    unit, at = float(data.y_units[column]), (place, best.radius_index)

    def scores(name: Metric) -> FloatArray:
        with np.errstate(over="ignore"):  # squared errors beyond doubles are infinite
            return found.scores[name][:, *at].T * np.float64(unit) ** SCORES[name].power

    values: dict[str, Any] = {
        "alpha_min": best.alpha * data.penalty_unit,
        "alpha_1se": choices["1se"].alpha * data.penalty_unit,
        "alphas": found.alphas[at] * data.penalty_unit,
        "mse_path": scores("mse"),
        "score_path": scores(model.scoring),
        "n_nonzero_path": found.n_nonzero[:, *at].T,
        "fold_share": found.support_share(place, used),
        "predictions": unit * found.out_of_fold(as_rows(data.X), place, used),
    }
    attributes = {name: np.asarray(value)[None] for name, value in values.items()}
    remark: Any = None
    if np.ptp(data.Y[:, column]) > 0 and terms_of(model).penalised(data.X.shape[1]).any():
        remark = _edge(Grid(model.alphas).count is not None, best.alpha_index, values)
    return attributes | {"edge": remark}


def _edge(automatic: bool, index: int, values: dict[str, Any]) -> tuple[float, str] | None:
    """The best penalty and a remark, where it is at an end of a grid of at least three."""
    alphas, scores = values["alphas"], values["score_path"]
    last = len(alphas) - 1
    if last < 2 or 0 < index < last:
        return None
    if index == 0:
        if automatic:
            remark = "the largest of the grid: no penalised feature makes predictions better"
        else:
            remark = "the largest of the grid, so a larger one may be better; add larger penalties"
        if not (automatic or values["n_nonzero_path"].any()):
            remark = "so large that, as on all of the grid, no feature is used; add smaller ones"
        return float(alphas[0]), remark
    tenfold = np.flatnonzero(alphas >= 10.0 * alphas[-1])
    if len(tenfold):
        # Where one ten times as large scores the same, the penalty no longer matters.
        change = abs(float((scores[tenfold[-1]] - scores[-1]).mean()))
        if change <= FLAT * scores[-1].std() / np.sqrt(scores.shape[1]):
            return None
    remedy = "lower alpha_min_ratio" if automatic else "add smaller penalties"
    remark = f"the smallest of the grid, so a smaller one may be better; {remedy}"
    return float(alphas[-1]), remark


def _warn_of_edges(edges: list[tuple[float, str] | None], kind: str) -> None:
    """Warn once per remark, for all responses that it is about."""
    reached = [edge for edge in edges if edge is not None]
    for remark, count in Counter(remark for _, remark in reached).items():
        best = f"the best penalty, {reached[0][0]:.3g},"
        if len(edges) > 1:
            best = f"the best penalty of {count} of {len(edges)} {kind}"
        warn_user(GridEdgeWarning(f"{best} is {remark}."))


def _continue(fit: Attributes, count: int) -> None:
    """Extend the grid of a response to `count` evenly spaced penalties, without scores.

    The search may have continued the grid of another response further.
    """
    alphas = fit["alphas"]
    more = count - alphas.shape[1]
    if more == 0:
        return
    step = alphas[:, -1:] / alphas[:, -2:-1]
    fit["alphas"] = np.hstack([alphas, alphas[:, -1:] * step ** np.arange(1, more + 1)])
    for name, unknown in (("mse_path", np.nan), ("score_path", np.nan), ("n_nonzero_path", 0)):
        fit[name] = np.pad(fit[name], ((0, 0), (0, more), (0, 0)), constant_values=unknown)
