"""A fit on all rows: data to unit scale, a sketch or none, solve, and back to the user's units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from sketchlasso.data import BlockMatrix, DataMatrix, MatrixLike, as_responses, as_rows
from sketchlasso.data.transform import (
    ColumnTransform,
    column_scales,
    column_units,
    divided_columns,
    in_column_units,
    in_units,
    matrix_unit,
    near_zero,
)
from sketchlasso.errors import (
    DeviceWarning,
    EmptyModelWarning,
    InaccurateWarning,
    InvalidInputError,
)
from sketchlasso.estimators.base import Watcher, in_memory
from sketchlasso.estimators.parameters import (
    Parameters,
    PenaltySearch,
    Radii,
    check_parameters,
    ready_sketch,
    settings_of,
    terms_of,
)
from sketchlasso.instances import check_weights
from sketchlasso.linalg.device import CPU
from sketchlasso.problem.terms import Terms
from sketchlasso.results.path import Grid, Path, Problem
from sketchlasso.results.radius import RadiusPolicy, radius_policies
from sketchlasso.results.refits import Refitter
from sketchlasso.results.search import fit_all
from sketchlasso.sketches import Sketch, extend_sketch
from sketchlasso.sketches import sketch as make_sketch
from sketchlasso.sketches.sketch import check_sketch_of
from sketchlasso.types import BoolArray, FloatArray, IntArray
from sketchlasso.warn import warn_user

# A sketch saves nothing where the smaller side of X is at most this.
EXACT_BELOW = 500
# Blocks of the Krylov space that an automatic sketch takes its singular directions from.
ROUGH_ITERATIONS = 4
# An empty model with a larger gap in the full problem is not that problem's solution.
EMPTY_GAP = 1e-6

# Fitted attributes by name, without the underscore: arrays with one row per response.
Attributes: TypeAlias = "dict[str, NDArray[Any]]"
# Which responses (t,), and their attributes.
Fitted: TypeAlias = "tuple[IntArray, Attributes]"


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data ready to be sketched and solved."""

    # Array, csr_array or BlockMatrix (r, n): rows in use, columns less `offsets` and divided by
    # `scales`.
    X: Any
    Y: FloatArray  # (r, t)
    weights: FloatArray | None  # (r,): divided by `weight_unit`
    rows: IntArray  # (r,): their numbers in the user's X
    scales: FloatArray | None  # (n,): what standardisation divided by
    n_given: int  # rows of the user's X
    x_unit: float  # power of two that `X` is divided by, with penalties and radii
    y_units: FloatArray  # (t,): powers of two that the columns of `Y` are divided by
    weight_unit: float  # see `effective_unit`
    offsets: FloatArray  # (n,): zero but for columns far from zero

    @property
    def in_blocks(self) -> bool:
        """Whether X is in blocks, which give no single columns."""
        return isinstance(self.X, BlockMatrix)

    def constant_responses(self, fit_intercept: bool) -> BoolArray:
        """Which responses (t,) an intercept, or nothing, fits exactly, at any penalty."""
        used = self.Y if self.weights is None else self.Y[self.weights > 0]
        return np.all(used == (used[:1] if fit_intercept else 0.0), axis=0)

    @property
    def row_weights(self) -> FloatArray:
        """Weights (r,) of the rows, one where none were given."""
        return np.ones(len(self.Y)) if self.weights is None else self.weights

    @property
    def loss_unit(self) -> float:
        """What the weights divide lengths of residuals by."""
        return float(np.sqrt(self.weight_unit))

    @property
    def penalty_unit(self) -> float:
        """What penalties and radii for `X` and `weights` are divided by."""
        return self.x_unit * self.loss_unit

    @property
    def divisors(self) -> FloatArray:
        """Divisors (n,) of the columns of the user's X."""
        return np.full(self.X.shape[1], self.x_unit) if self.scales is None else self.scales

    @property
    def transform(self) -> ColumnTransform:
        """From the user's X to `X`."""
        return ColumnTransform(scales=self.divisors)

    def to_original(self, coef: FloatArray, columns: IntArray) -> FloatArray:
        """Coefficients (t, n) of some responses in the units of the user's X and y."""
        return coef / self.divisors * self.y_units[columns, None]

    def original_intercept(self, coef: Any, intercept: FloatArray, units: Any) -> FloatArray:
        """Intercepts (t,) in the units of the user's X and y, from coefficients (t, n) for `X`."""
        return np.asarray((intercept - coef @ (self.offsets / self.divisors)) * units)

    def radius_in_units(self, radius: Radii) -> Radii:
        """The radius, or the radii, of the user's in the units of `X`."""
        if radius is None or self.penalty_unit == 1.0:
            return radius
        return [
            replace(policy, factor=policy.factor / self.penalty_unit)
            if policy.kind == "given"
            else policy
            for policy in radius_policies(radius, None)
        ]

    def original_sketch(self, sketch: Sketch | None, ready: Sketch | None) -> Sketch | None:
        """A sketch of `X` as one of the user's X: the `ready` one that it came from, if any."""
        if sketch is None:
            return None
        if ready is not None:
            return ready
        if self.x_unit == 1.0:
            return sketch
        given = DataMatrix.of(in_units(self.X, 1.0 / self.x_unit))
        return sketch.rescaled(self.x_unit, given.fingerprint())


def prepare_fit(
    model: Parameters, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> Prepared:
    """Data ready to be fitted; checks the parameters, and sets standardized_ and scale_."""
    check_parameters(model, X.shape[1])
    if isinstance(X, BlockMatrix) and model.sketch is None:
        raise InvalidInputError(
            "sketch=None was given, but it solves the full problem, which needs X in memory, "
            "and X is in blocks; leave it out, or pass an array or a sparse matrix."
        )
    ready = ready_sketch(model)
    data = prepare(
        X,
        y,
        sample_weight,
        model.standardize,
        ready,
        fit_intercept=bool(model.fit_intercept),
        single=ready is not None or sketch_method(model, X) is not None,
    )
    fitted: Any = model
    fitted.standardized_, fitted.scale_ = data.scales is not None, data.scales
    return data


def prepare(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    standardize: bool | Literal["auto"],
    ready: Sketch | None,
    *,
    fit_intercept: bool,
    single: bool = False,
) -> Prepared:
    """Drop rows without weight, and divide columns by their standard deviations as asked.

    X (m, n) is validated, y is (m,) or (m, t), `sample_weight` (m,) may be a dask array. All
    rows stay where a `ready` sketch of all rows is given. Standardised columns are in double
    precision, unless X is in blocks, or float32 and `single` is enough for its products.
    """
    Y = as_responses(y, X.shape[0])
    given = len(Y)
    rows, weights, weight_unit = np.arange(given), None, 1.0
    sample_weight = in_memory(sample_weight)
    if sample_weight is not None:
        weights = check_weights(sample_weight, given)
        if ready is None:
            rows = np.flatnonzero(weights)
        weight_unit = effective_unit(weights)
        weights = weights[rows] / weight_unit
        weights = None if np.all(weights == 1.0) else weights
    stored: Any = X
    entries: Any = sparse.csr_array(stored) if sparse.issparse(X) else X
    if len(rows) < given:
        entries, Y = entries[rows], Y[rows]
    unit, y_units, scales = 1.0, column_units(Y), None
    offsets = np.zeros(X.shape[1])
    if _standardizes(standardize, ready, entries):
        if fit_intercept:
            entries, offsets = near_zero(entries)
        if not (single or isinstance(entries, BlockMatrix)):
            entries = entries.astype(np.float64, copy=False)
        # Standardised columns have no unit, nor have penalties on their coefficients.
        entries, units = in_column_units(entries)
        scales = column_scales(entries, np.ones(len(rows)) if weights is None else weights)
        scales = np.where(scales > 0, scales, 1.0)
        entries, scales = divided_columns(entries, scales), scales * units
    elif not isinstance(entries, BlockMatrix) and (ready is None or ready.column_scales is None):
        # Columns of a sketch that were divided by scales have no unit.
        unit = matrix_unit(entries)
        entries = in_units(entries, unit)
    return Prepared(
        entries,
        Y / y_units,
        weights,
        rows,
        scales,
        given,
        unit,
        y_units,
        weight_unit,
        offsets,
    )


def effective_unit(weights: FloatArray) -> float:
    """Return the number c such that weights divided by it sum to their effective number of rows.

        c = sum w_i^2 / sum w_i,    effective number (sum w_i)^2 / sum w_i^2    (Kish)

    Noise e of equal variance has the correlations x_j' W e / ||e||_W, of variance
    sum w_i^2 x_ij^2 / sum w_i: where weights and features are unrelated, c times that without
    weights. Penalties that outweigh noise are therefore those of weights divided by c.
    """
    largest = float(weights.max())
    share = weights / largest
    return largest * float(share @ share / share.sum())


def _standardizes(standardize: bool | Literal["auto"], ready: Sketch | None, X: MatrixLike) -> bool:
    """Whether columns are divided by their standard deviations.

    Columns of a dense table are in units of all kinds. The entries of sparse data, such as word
    counts, are in the same unit, and a ready sketch has its own scales.
    """
    if standardize != "auto":
        return bool(standardize)
    if ready is not None:
        return False
    return not (X.sparse if isinstance(X, BlockMatrix) else sparse.issparse(X))


def first_sketch(model: Parameters, data: Prepared, column: int) -> Sketch | None:
    """The sketch on which a response is fitted; None for the full problem."""
    ready = ready_sketch(model)
    if ready is not None:
        if data.scales is not None:
            raise InvalidInputError(
                "standardize=True cannot be combined with a ready sketch, which has scales of its "
                "own or none; make the sketch with scale=True and leave out standardize=True."
            )
        unit = 1.0 / data.x_unit
        varying = ~data.constant_responses(bool(model.fit_intercept))
        given = data.X if unit == 1.0 else in_units(data.X, unit)
        check_sketch_of(ready, as_rows(given), data.Y[:, varying])
        return ready if unit == 1.0 else ready.rescaled(unit)
    method: Any = sketch_method(model, data.X)
    if method is None:
        if model.device not in (CPU, "auto"):
            warn_user(
                DeviceWarning(
                    f"device={model.device!r} is not used: these data are solved without a sketch, "
                    "on the CPU; choose a sketch, or leave the device out."
                )
            )
        return None
    options: dict[str, Any] = {
        "center": bool(model.fit_intercept),
        "random_state": check_random_state(model.random_state),
    }
    if method != "exact":
        options["rank"] = min(int(model.rank), *data.X.shape)
    if model.sketch == "auto" and method == "response" and not data.in_blocks:
        # Singular directions from fewer products: models on text predict as well with them.
        options |= {"n_iter": ROUGH_ITERATIONS, "oversampling": int(model.rank)}
    target = data.Y[:, column] if method == "response" else None
    return make_sketch(data.X, target, method=method, **options)


def sketch_groups(model: Parameters, sketch: Sketch | None, columns: IntArray) -> list[IntArray]:
    """Which of some responses (t,) share a sketch, where `sketch` is that of the first one.

    Responses share the directions that do not depend on them, and have directions of their own
    that do, unless the sketch was given.
    """
    shared = sketch is None or not sketch.response_rank or ready_sketch(model) is not None
    return [columns] if shared else list(columns[:, None])


def own_sketch(first: Sketch | None, data: Prepared, column: int, other: bool) -> Sketch | None:
    """The sketch of a response, from that of the first one if it is an`other`."""
    if first is None or not other:
        return first
    return extend_sketch(
        first,
        data.X,
        data.Y[:, column],
        directions=first.response_rank,
        random_state=first.seed,
    )


def sketches(model: Parameters, data: Prepared) -> Iterator[tuple[IntArray, Sketch | None]]:
    """Responses that share a sketch, and that sketch, which constant responses do not need."""
    constant = data.constant_responses(bool(model.fit_intercept))
    columns = np.flatnonzero(~constant)
    if len(columns):
        first = first_sketch(model, data, columns[0])
        for number, group in enumerate(sketch_groups(model, first, columns)):
            yield group, own_sketch(first, data, group[0], number > 0)
    if constant.any():
        yield np.flatnonzero(constant), None


def sketch_method(model: Parameters, X: Any) -> str | None:
    """The sketching method that the parameters ask for; None for no sketch at all."""
    if model.sketch != "auto":
        assert model.sketch is None or isinstance(model.sketch, str)
        return model.sketch
    return automatic_method(
        X.shape,
        int(model.rank),
        robust=model.radius is not None or isinstance(X, BlockMatrix),
        predictive=isinstance(model, PenaltySearch) and sparse.issparse(X),
    )


def automatic_method(
    shape: tuple[int, int],
    rank: int,
    *,
    robust: bool = False,
    predictive: bool = False,
) -> str | None:
    """Return the sketching method that ``sketch="auto"`` means, or None for no sketch.

    Parameters
    ----------
    shape : tuple of int
        Of X, (n_samples, n_features).
    rank : int
    robust : bool
        Whether a radius is requested, or X is in blocks, which need a sketch.
    predictive : bool
        Whether the radius is searched for the best predictions on sparse data. On text the
        robust term of a sketch predicts better than the LASSO alone.

    Returns
    -------
    str or None
        ``"response"`` where the smaller side of X is above 500 and the rank, and a sketch is
        `robust` or `predictive`. Else None, or ``"exact"`` where `robust`. The number of responses
        makes no difference: each needs directions of its own in a sketch, which take longer than
        its problems on X.
    """
    if min(shape) <= max(EXACT_BELOW, rank):
        return "exact" if robust else None
    return "response" if robust or predictive else None


def problem_of(
    model: Parameters,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    report: Watcher | None,
    *,
    terms: Terms | None = None,
    searching: bool = False,
) -> Problem:
    """The problem of the responses ``data.Y[:, columns]``, on a sketch or without one."""
    X = data.X
    if sketch is None and data.in_blocks:
        # The responses are constant, so no feature is used: zeros save the passes over the blocks.
        X = sparse.csr_array(X.shape, dtype=X.dtype)
    return Problem(
        as_rows(X),
        data.Y[:, columns],
        data.weights,
        terms_of(model) if terms is None else terms,
        settings_of(model, sketch, report, searching=searching),
        model.solver,
    )


def fit_response(
    model: Parameters,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
    radius: RadiusPolicy | None = None,
    *,
    report: Watcher | None,
    path: Path | None = None,
    terms: Terms | None = None,
    relaxed: bool | None = None,
) -> Attributes:
    """Fit responses that share a sketch and a penalty on all rows, in the units of the user.

    The responses are the `columns` (t,) of ``data.Y``; radius, terms and `relaxed` are by default
    those of the model, and a `path` of that one penalty may be known. Returns arrays (t, ...):
    coef, intercept, alpha, radius, dual_gap, full_gap and n_iter; where relaxed also penalised_coef
    and penalised_intercept.
    """
    problem = problem_of(model, data, columns, sketch, report, terms=terms)
    radii: Radii = data.radius_in_units(model.radius) if radius is None else radius
    if sketch is None and model.sketch is not None:
        radii = None
    if path is None:
        path = fit_all(problem, Grid([alpha], radii=radii), sketch)
        path.warn_if_unsolved()
    coef, intercept = path.models.coef.toarray(), path.models.intercept
    units = data.y_units[columns]
    fit: Attributes = {
        "coef": data.to_original(coef, columns),
        "intercept": data.original_intercept(coef, intercept, units),
        "alpha": path.alphas.reshape(len(columns), -1)[:, 0] * data.penalty_unit,
        "radius": path.radius * data.penalty_unit,
        "dual_gap": path.gap * units * data.loss_unit,
        "full_gap": path.certificate(problem.X, problem.Y, problem.weights).relative_gap,
        "n_iter": path.n_iter,
    }
    if not (model.relaxed if relaxed is None else relaxed):
        return fit
    fit |= {"penalised_coef": fit["coef"], "penalised_intercept": fit["intercept"]}
    coef, intercept = coef.copy(), intercept.copy()
    for row, column in enumerate(columns):
        coef[row], intercept[row] = refit_on_support(
            data, data.Y[:, column], coef[row], problem.terms
        )
    fit["coef"] = data.to_original(coef, columns)
    fit["intercept"] = data.original_intercept(coef, intercept, units)
    return fit


def refit_on_support(
    data: Prepared, y: FloatArray, coef: FloatArray, terms: Terms
) -> tuple[FloatArray, float]:
    """Coefficients (n,) and intercept of the least-squares fit of y (r,) on the support of `coef`.

    `coef` (n,) is on the scale of ``data.X``; the penalty factors of `terms` are not used.
    """
    fit_intercept = terms.fit_intercept
    support = np.flatnonzero(coef)
    weights = data.row_weights
    mean = float(weights @ y / weights.sum()) if fit_intercept else 0.0
    if support.size == 0:
        return np.zeros_like(coef), mean
    rows = int(np.count_nonzero(weights))
    if support.size + fit_intercept >= rows:
        warn_user(
            InaccurateWarning(
                f"{support.size} features were selected from {rows} rows, so the relaxed fit would "
                "interpolate; the penalised coefficients are kept. Use a larger penalty."
            )
        )
        residual = y - data.X[:, support] @ coef[support]
        return coef, float(weights @ residual / weights.sum()) if fit_intercept else 0.0
    relaxed = np.zeros_like(coef)
    relaxed[support], intercept = Refitter(data.X, weights, support, terms).refit(y, support)
    return relaxed, intercept


def keep_fits(estimator: Any, fits: Sequence[Fitted], data: Prepared, single: bool) -> None:
    """Write the fitted attributes; those of a single response without their first axis."""
    order = np.argsort(np.concatenate([columns for columns, _ in fits]))
    # Attributes of some fits only.
    for name in ("penalised_coef", "penalised_intercept", "loadings"):
        estimator.__dict__.pop(f"{name}_", None)
    for name in fits[0][1]:
        values = np.concatenate([fit[name] for _, fit in fits])[order]
        setattr(estimator, f"{name}_", values[0] if single else values)
    estimator.n_iter_ = int(np.max(estimator.n_iter_))
    deviations = data.scales
    if deviations is None and not data.in_blocks:
        deviations = column_scales(data.X, data.row_weights) * data.x_unit
    if deviations is not None:
        deviations = np.where(np.atleast_2d(estimator.coef_).any(axis=0), deviations, 0.0)
    estimator.feature_std_ = deviations


def empty_models(fit: Attributes) -> BoolArray:
    """Which models (t,) have no feature."""
    coef = fit["penalised_coef" if "penalised_coef" in fit else "coef"]
    return np.asarray(~coef.any(axis=1))


def warn_of_empty_models(fits: Sequence[Fitted], constant: BoolArray) -> None:
    """Warn of models without a feature, for all of one cause together.

    Responses that are `constant` (t,) have no other.
    """
    radii: list[float] = []
    alphas: list[float] = []
    flat, total = 0, sum(len(columns) for columns, _ in fits)
    for columns, found in fits:
        empty = empty_models(found)
        # Where the problem without a radius has features, only the radius keeps them out.
        radius = empty & (found["full_gap"] > EMPTY_GAP) & (found["radius"] > 0)
        flat += int(np.count_nonzero(constant[columns]))
        radii += found["radius"][radius].tolist()
        alphas += found["alpha"][empty & ~radius & ~constant[columns]].tolist()

    def whose(count: int) -> str:
        return "the model has" if total == 1 else f"{count} of {total} models have"

    if radii:
        warn_user(
            EmptyModelWarning(
                f"{whose(len(radii))} no feature because of the sketch's radius ({max(radii):.3g}),"
                " but the full problem has some at this penalty; use sketch=None, a larger rank "
                "or a smaller radius."
            )
        )
    if alphas:
        warn_user(
            EmptyModelWarning(
                f"{whose(len(alphas))} no feature, with one prediction for every row: none "
                f"outweighs the penalty ({max(alphas):.3g}); use a smaller one, unless no feature "
                "is to be expected."
            )
        )
    if flat:
        warn_user(EmptyModelWarning(f"{whose(flat)} no feature, because the response is constant."))
