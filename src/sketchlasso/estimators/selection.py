"""Choose penalties and radii by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sketchlasso.cluster import active_engine
from sketchlasso.data import as_rows
from sketchlasso.errors import GridEdgeWarning, InvalidInputError, unaccepted
from sketchlasso.estimators.base import (
    Attributes,
    Fitted,
    empty_models,
    fit_response,
    warn_of_empty_models,
)
from sketchlasso.estimators.blocks import in_memory
from sketchlasso.estimators.parameters import SearchSpecification
from sketchlasso.estimators.task import Prepared, SketchPlan, problem_of, sketch_plans
from sketchlasso.instances import RowSet, RowSets, shuffled_folds, splitter_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.threads import map_items, thread_count
from sketchlasso.problem.terms import check_alphas
from sketchlasso.results import Choice, CrossValidation
from sketchlasso.results.path import Grid
from sketchlasso.results.progress import SharedProgress
from sketchlasso.results.radius import RadiusPolicy
from sketchlasso.results.refits import refitted
from sketchlasso.results.search import searched
from sketchlasso.results.sketched import fold_bases
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase
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
# Classes or targets that a warning lists by name.
MOST_NAMED = 10

# The best penalty, at an end of its grid, a remark about it, and what to do.
Edge: TypeAlias = "tuple[float, str, str]"
# Fits of the responses that share a sketch, and the sketch.
Searched: TypeAlias = "tuple[list[Fitted], Sketch | None]"


def choose(
    spec: SearchSpecification,
    data: Prepared,
    target: Any,
    groups: ArrayLike | None,
    metrics: tuple[str, ...],
    classes: NDArray[Any] | None = None,
) -> tuple[list[Fitted], FloatArray, Sketch | None]:
    """Cross-validate every response and fit it at its choice on all rows.

    Splitters may stratify by `target` (m,) or keep `groups` (m,) together; with `classes`, the
    labels of a classifier, folds are stratified. `scoring` must be one of the `metrics`.

    Returns columns and attributes of the fits; predictions (m, t) out of fold at the penalties
    used, NaN for rows never held out; and the sketch of the first response.
    """
    if not isinstance(spec.scoring, str) or spec.scoring not in metrics:
        raise unaccepted("scoring", spec.scoring, f"one of {', '.join(map(repr, metrics))}")
    rows = _folds(spec, data, target, in_memory(groups), stratified=classes is not None)
    if data.weights is not None:
        rows = rows.weighted(data.weights)
    plans = sketch_plans(spec, data)
    searches = (2 if _may_do_without(spec, data) else 1) * len(plans)
    progress = SharedProgress(spec.report, parts=searches) if len(plans) > 1 else None
    first = plans[0][1]()
    # What the sketches of the folds share, where several responses have sketches of their own.
    bases = None
    if progress is not None and first is not None and first.response_rank:
        bases = fold_bases(data.X, first, rows)

    def search(plan: SketchPlan) -> Searched:
        each = spec if progress is None else replace(spec, report=progress.part())
        return _search(each, data, rows, plan, bases)

    stop = progress.stop if progress is not None else lambda: None
    parts = map_items(search, plans, _searches_at_once(spec, data, first, len(plans)), stop)
    if progress is not None:
        progress.end()
    fits: list[Any] = [fit for some, _ in parts for fit in some]
    predictions = np.full((data.n_given, data.Y.shape[1]), np.nan)
    longest = max(found["alphas"].shape[1] for _, found in fits)
    warn_of_empty_models(fits, data.constant_responses(spec.terms.fit_intercept))
    _warn_at_the_edge({int(columns[0]): found.pop("edge") for columns, found in fits}, classes)
    for columns, found in fits:
        predictions[data.rows[:, None], columns] = found.pop("predictions").T
        _continue(found, longest)
    used = next((sketch for *_, sketch in parts if sketch is not None), None)
    return fits, predictions, data.original_sketch(used, spec.ready)


def _searches_at_once(
    spec: SearchSpecification, data: Prepared, sketch: Sketch | None, count: int
) -> int:
    """How many sketches to search at the same time: as many as there are threads, or one.

    A single search cannot keep all cores busy: it waits for its slowest fold at every stage.
    """
    threads, engine = thread_count(spec.n_jobs), active_engine()
    alone = spec.device != CPU or data.in_blocks or (engine is not None and engine.remote)
    if alone or sketch is None or count < max(2, threads):
        return 1
    return int(max(1, min(threads, KEPT_BYTES // (8 * FOLDS * sketch.rank * sum(sketch.shape)))))


def _search(
    spec: SearchSpecification,
    data: Prepared,
    rows: RowSets,
    plan: SketchPlan,
    bases: list[RowsBase] | None,
) -> Searched:
    """Cross-validate the responses that share a sketch, and fit them at their choices."""
    columns, make = plan
    sketch = make()
    alphas = spec.alphas if spec.spaces_alphas else check_alphas(spec.alphas) / data.penalty_unit
    radii = data.radius_in_units(spec.radius)
    if sketch is None and spec.sketch is not None:
        radii = None
    problem = problem_of(spec, data, columns, sketch, searching=True)
    grid = Grid(alphas, spec.alpha_min_ratio, radii)
    metrics: Any = tuple(dict.fromkeys((spec.scoring, "mse")))
    found = searched(problem, grid, sketch, rows, metrics, bases if sketch is not None else None)
    if spec.relaxed:
        found = refitted(found, problem, metrics)
    if sketch is not None and _may_do_without(spec, data):
        rival = _on_all_of_x(spec, data, rows, columns, found)
        found, sketch = (found, sketch) if rival is None else (rival, None)
    found.fits.warn_if_unsolved()
    fits = []
    for place, column in enumerate(columns.tolist()):
        choices = {rule: found.best(spec.scoring, place, rule) for rule in ("min", "1se")}
        used, response = choices[spec.selection], np.array([column])
        search: dict[str, Any] = _grid_attributes(spec, data, found, place, column, choices)
        search["edge"] = _at_the_edge(spec, data, found, place, column, choices["min"])
        if sketch is None:
            path = found.fit_on_all_rows(place, used, float(spec.tol))
            fitted = fit_response(spec, data, response, None, used.alpha, path=path)
        else:
            scored, scaled = _radius_of_all(data, rows, found, place, used)
            fitted = fit_response(spec, data, response, sketch, used.alpha, scaled)
            features = found.n_nonzero[:, place, used.radius_index, used.alpha_index]
            if empty_models(fitted)[0] and features.all():
                fitted = fit_response(spec, data, response, sketch, used.alpha, scored)
        fits.append((response, search | fitted))
    return fits, sketch


def _radius_of_all(
    data: Prepared, rows: RowSets, found: CrossValidation, response: int, used: Choice
) -> tuple[RadiusPolicy, RadiusPolicy]:
    """The radius that was scored, and that for all rows: a realised error is a length over rows."""
    if used.radius.kind != "realised":
        return used.radius, used.radius
    scored = found.radius[:, response, used.radius_index, used.alpha_index]
    all_of_them = data.row_weights.sum()
    trained = [row_set.all_weights(rows.n_samples).sum() for row_set in rows]
    scales = np.sqrt(all_of_them / np.array(trained))
    radii = float(np.mean(scored)), float(np.mean(scored * scales))
    return RadiusPolicy("given", radii[0]), RadiusPolicy("given", radii[1])


def _may_do_without(spec: SearchSpecification, data: Prepared) -> bool:
    """Whether no parameter asks for a sketch, or for penalties that take long without one."""
    automatic = spec.sketch == "auto" and spec.spaces_alphas
    plain = spec.radius is None and spec.device in (CPU, "auto")
    return automatic and plain and sparse.issparse(data.X)


def _on_all_of_x(
    spec: SearchSpecification,
    data: Prepared,
    rows: RowSets,
    columns: IntArray,
    found: CrossValidation,
) -> CrossValidation | None:
    """The search of X itself, where models on an automatic sketch are small and clearly worse.

    A sketch keeps the directions in which X varies most, and the response's own. The few features
    that matter may lie outside of them, and the best model on the sketch is then a small one.
    """
    best = found.best(spec.scoring)
    at = (0, best.radius_index, best.alpha_index)
    if found.interrupted or found.n_nonzero[:, *at].mean() > SMALL_MODEL:
        return None
    # Shares of correct labels vary in jumps, and would lead the search to the smallest penalties.
    problem = problem_of(spec, data, columns, None, searching=True)
    metrics: Any = tuple(dict.fromkeys(("mse", spec.scoring)))
    rival = searched(problem, Grid(spec.alphas, spec.alpha_min_ratio), None, rows, metrics)
    if spec.relaxed:
        rival = refitted(rival, problem, metrics)
    if rival.interrupted or not rival.clearly_better(found, spec.scoring):
        return None
    return rival


def _folds(
    spec: SearchSpecification,
    data: Prepared,
    target: Any,
    groups: ArrayLike | None,
    stratified: bool,
) -> RowSets:
    """Folds of the user's rows, without those dropped for their weight of zero."""
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
            "sample_weight is zero on every training or test row of a fold, but both are needed; "
            "give weight to more rows, or use fewer folds."
        )
    return RowSets(len(data.rows), judged)


def _grid_attributes(
    spec: SearchSpecification,
    data: Prepared,
    found: CrossValidation,
    response: int,
    column: int,
    choices: dict[str, Choice],
) -> Attributes:
    """Attributes of the search for one response, and its out-of-fold predictions (1, r)."""
    best, used = choices["min"], choices[spec.selection]
    unit = float(data.y_units[column])
    units = {"mse": unit * unit, "mae": unit}  # unit**2 raises where the square overflows
    at = (response, best.radius_index)
    values = {
        "alpha_min": best.alpha * data.penalty_unit,
        "alpha_1se": choices["1se"].alpha * data.penalty_unit,
        "alphas": found.alphas[at] * data.penalty_unit,
        "mse_path": found.scores["mse"][:, *at].T * units["mse"],
        "score_path": found.scores[spec.scoring][:, *at].T * units.get(spec.scoring, 1.0),
        "n_nonzero_path": found.n_nonzero[:, *at].T,
        "fold_share": found.support_share(response, used),
        "predictions": unit * found.out_of_fold(as_rows(data.X), response, used),
    }
    return {name: np.asarray(value)[None] for name, value in values.items()}


def _warn_at_the_edge(edges: dict[int, Edge | None], classes: NDArray[Any] | None) -> None:
    """Warn once per remark, and name all responses that it is about."""
    reached = {column: edge for column, edge in edges.items() if edge is not None}
    for remark, remedy in dict.fromkeys(edge[1:] for edge in reached.values()):
        some = [column for column, edge in reached.items() if edge[1] == remark]
        if len(some) > 1:
            names = [repr(classes[[c]].tolist()[0]) if classes is not None else c for c in some]
            listed = ", ".join(map(str, names[:MOST_NAMED]))
            more = f" and {len(some) - MOST_NAMED} more" if len(some) > MOST_NAMED else ""
            kind = "classes" if classes is not None else "targets"
            best = f"the best penalty of {len(some)} of {len(edges)} {kind} ({listed}{more})"
        else:
            whose = ""
            if len(edges) > 1:
                own = classes is not None and f"class {classes[some].tolist()[0]!r}"
                whose = f" of {own or f'target {some[0]}'}"
            best = f"the best penalty{whose}, {reached[some[0]][0]:.3g},"
        warn_user(GridEdgeWarning(f"{best} is {remark}{remedy}."))


def _at_the_edge(
    spec: SearchSpecification,
    data: Prepared,
    found: CrossValidation,
    response: int,
    column: int,
    best: Choice,
) -> Edge | None:
    """The best penalty and a remark, where it is at an end of a grid of at least three."""
    at, index = (response, best.radius_index), best.alpha_index
    alphas = found.alphas[at] * data.penalty_unit
    if len(alphas) < 3 or 0 < index < len(alphas) - 1:
        return None
    constant = np.ptp(data.Y[:, column]) == 0
    if constant or not spec.terms.penalised(data.X.shape[1]).any():
        return None
    if _flat_end(index, alphas, found.scores[spec.scoring][:, *at].T):
        return None
    automatic = spec.spaces_alphas
    remedy = ""
    if index > 0:
        remark = "the smallest of the grid, so a smaller one may be better; "
        remedy = "lower alpha_min_ratio" if automatic else "add smaller penalties"
    elif automatic:
        remark = "the largest of the grid: no penalised feature makes predictions better"
    elif not found.n_nonzero[:, *at].any():
        remark = "so large, like all of the grid, that no feature is used; add smaller penalties"
    else:
        remark = "the largest of the grid, so a larger one may be better; add larger penalties"
    return float(alphas[index]), remark, remedy


def _flat_end(index: int, alphas: FloatArray, scores: FloatArray) -> bool:
    """Return whether the best penalty is the smallest, and one ten times as large scores the same.

    The penalty then no longer matters, so smaller ones cannot be better. `scores` has shape
    (n_alphas, n_folds).
    """
    larger = np.flatnonzero(alphas >= 10.0 * alphas[-1])
    if index != len(alphas) - 1 or not len(larger):
        return False
    changes, last = scores[larger[-1]] - scores[-1], scores[-1]
    # NaN, where that penalty was left out, is not flat.
    return bool(abs(changes.mean()) <= FLAT * last.std() / np.sqrt(len(last)))


def _continue(found: Attributes, count: int) -> None:
    """Extend the grid of a response to `count` evenly spaced penalties, without scores.

    The search may have continued the grid of another response further.
    """
    alphas = found["alphas"]
    more = count - alphas.shape[1]
    if more == 0:
        return
    step = alphas[:, -1:] / alphas[:, -2:-1]
    found["alphas"] = np.hstack([alphas, alphas[:, -1:] * step ** np.arange(1, more + 1)])
    for name, unknown in (("mse_path", np.nan), ("score_path", np.nan), ("n_nonzero_path", 0)):
        padding = ((0, 0), (0, more), (0, 0))
        found[name] = np.pad(found[name], padding, constant_values=unknown)
