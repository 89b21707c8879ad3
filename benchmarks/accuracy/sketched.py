"""Our contenders: the full square-root LASSO, the paper's sketch, and the response-aware one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from benchmarks.accuracy.fitted import Fitted, Path, Stopwatch, stack
from benchmarks.accuracy.scoring import choose
from benchmarks.accuracy.splits import Training
from sketchlasso.engine import LinearModels, RadiusPolicy
from sketchlasso.sketches.response import response_share

# Models drawn in a curve of scores against non-zeros.
SIZES = 16


@dataclass(frozen=True)
class Recipe:
    """How a sketched column works: its rank, whether it looks at y, and the radii it tries."""

    rank: int
    sees_response: bool
    radii: tuple[str, ...]

    @property
    def spectral_shares(self) -> list[float | None]:
        """Each radius as a share of the spectral one, None where it is not one."""
        return [_spectral_share(policy) for policy in self.radii]


@dataclass(frozen=True, eq=False)
class Search:
    """Cross-validation of one label: predictions (m, radii, alphas), penalties, the sketch."""

    y: np.ndarray
    sketch: sl.Sketch | None
    predictions: np.ndarray
    alphas: np.ndarray
    radii: tuple[RadiusPolicy, ...]
    found: sl.CrossValidation | None = None

    @property
    def empty(self) -> bool:
        """Whether the radius leaves no feature at any penalty."""
        return not self.radii


def full(training: Training) -> Fitted:
    """The square-root LASSO on all of the data, solved exactly."""
    return _fit(training, None, [None] * training.Y.shape[1], Stopwatch())


def sketched(recipe: Recipe, training: Training) -> Fitted:
    """A sketch of the training rows, and everything else on the sketch."""
    watch = Stopwatch()
    with watch.time("sketch"):
        sketches = _sketches(recipe, training)
    return _fit(training, recipe, sketches, watch)


def _sketches(recipe: Recipe, training: Training) -> list[sl.Sketch]:
    """One sketch per label; the labels share it, or its common part, where there are several."""
    X, labels, seed = training.X, training.Y.T, training.seed
    rank = min(recipe.rank, *X.shape)
    if not recipe.sees_response:
        return [sl.sketch(X, rank=rank, random_state=seed)] * len(labels)
    radius: Any = "realised" if None in recipe.spectral_shares else "spectral"
    options: dict[str, Any] = {"radius": radius, "random_state": seed}
    if len(labels) == 1:
        return [sl.sketch(X, labels[0], method="response", rank=rank, **options)]
    directions = response_share(rank)
    base = sl.sketch(X, rank=max(rank - directions, 1), radius=0, random_state=seed)
    return [sl.extend_sketch(base, X, y, directions=directions, **options) for y in labels]


def _fit(
    training: Training,
    recipe: Recipe | None,
    sketches: list[sl.Sketch] | list[None],
    watch: Stopwatch,
) -> Fitted:
    with watch.time("choose"):
        searches = [
            _search(training, recipe, y, made)
            for y, made in zip(training.Y.T, sketches, strict=True)
        ]
        points = choose(training, np.stack([search.predictions for search in searches], axis=1))
    chosen = list(zip(searches, points, strict=True))
    with watch.time("refit"):
        paths = [_path(training, search, point, [search.alphas[point]]) for search, point in chosen]
    gaps = [path.full_gap[0] for path in paths if path is not None]
    return Fitted(
        stack([_models(path, search) for path, search in zip(paths, searches, strict=True)]),
        [float(search.alphas[point]) for search, point in chosen],
        [point[1] == training.grid.count - 1 for point in points],
        watch.seconds,
        radii=[float(path.radius[0]) for path in paths if path is not None],
        policies=[str(search.radii[point[0]]) for search, point in chosen if not search.empty],
        gap=float(np.max(gaps)) if gaps else np.nan,
        note=_note(searches),
        paths=partial(_whole_paths, training, chosen),
    )


def _search(
    training: Training, recipe: Recipe | None, y: np.ndarray, made: sl.Sketch | None
) -> Search:
    options: dict[str, Any] = {"alpha_min_ratio": training.grid.ratio}
    if recipe is not None and made is not None:
        shape = len(recipe.radii), training.grid.count
        if _leaves_nothing(recipe, made, y):
            return Search(y, made, np.full((len(y), *shape), y.mean()), np.zeros(shape), ())
        options = {"alpha_min_ratio": training.grid.sketch_ratio, "radii": list(recipe.radii)}
    metric: Any = training.metric
    found = sl.cross_validate(
        made,
        training.X,
        y,
        cv=training.folds,
        metrics=(metric,),
        alphas=training.grid.count,
        **options,
    )
    return Search(y, made, found.predictions[:, 0], found.alphas[0], found.radii, found)


def _leaves_nothing(recipe: Recipe, made: sl.Sketch, y: np.ndarray) -> bool:
    """Whether zero is optimal at every penalty for the smallest of the spectral radii."""
    shares = [share for share in recipe.spectral_shares if share is not None]
    if len(shares) < len(recipe.radii):
        return False
    smallest = made.radius * min(shares)
    problem = sl.build_problems(made, y, alphas=[1.0], radii=[smallest])
    return bool(sl.alpha_max(problem.batch)[0] <= 0)


def _spectral_share(policy: str) -> float | None:
    """0.3 for "0.3*spectral", None for what is not a share of the spectral radius."""
    factor, _, name = policy.rpartition("*")
    return float(factor or 1.0) if name == "spectral" else None


def _path(training: Training, search: Search, point: tuple[int, ...], alphas: Any) -> Any:
    """Fits on all training rows at the chosen radius, or None where no feature can enter."""
    if search.empty:
        return None
    options: dict[str, Any] = {}
    if search.sketch is not None:
        options["radius"] = search.radii[point[0]]
    return sl.sqrt_lasso_path(training.X, search.y, search.sketch, alphas=alphas, **options)


def _models(path: Any, search: Search) -> LinearModels:
    if path is not None:
        return path.models
    assert search.sketch is not None
    empty = sparse.csr_array((1, search.sketch.n_features))
    return LinearModels(empty, np.array([search.y.mean()]))


def _whole_paths(training: Training, chosen: list[tuple[Search, tuple[int, ...]]]) -> list[Path]:
    """Models of every size: those that cross-validation prefers, or every penalty."""
    return [
        _best_of_every_size(training, search)
        if len(search.radii) > 1
        else _every_penalty(training, search, point)
        for search, point in chosen
    ]


def _every_penalty(training: Training, search: Search, point: tuple[int, ...]) -> Path:
    """Every penalty at the chosen radius; an empty model repeats itself."""
    alphas = search.alphas[point[0]]
    path = _path(training, search, point, alphas)
    models = _models(path, search)
    return Path(alphas, stack([models] * len(alphas)) if path is None else models)


def _best_of_every_size(training: Training, search: Search) -> Path:
    """For a ladder of sizes, the penalty and radius that cross-validation prefers."""
    assert search.found is not None
    sizes = search.found.n_nonzero[:, 0].mean(axis=0)
    ladder = np.geomspace(max(sizes.min(), 1.0), max(sizes.max(), 2.0), SIZES)
    best = [
        search.found.best(training.metric, max_nonzero=max(size, sizes.min())) for size in ladder
    ]
    points = [(choice.radius_index, choice.alpha_index) for choice in best]
    models = {}
    for radius in {point[0] for point in points}:
        places = sorted({alpha for other, alpha in points if other == radius})
        path = _path(training, search, (radius,), search.alphas[radius][places])
        own = _models(path, search)
        for row, alpha in enumerate(places):
            one = LinearModels(own.coef[[row]], own.intercept[[row]])
            models[radius, alpha] = one
    # Sizes that share a model repeat it, so that all labels have as many points.
    alphas = np.array([search.alphas[point] for point in points])
    return Path(alphas, stack([models[point] for point in points]))


def _note(searches: list[Search]) -> str:
    count = sum(search.empty for search in searches)
    return f"the radius leaves no feature for {count} of {len(searches)} labels" if count else ""
