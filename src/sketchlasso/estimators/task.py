"""Prepare the user's arrays for a fit: rows, units, scales and sketches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
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
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.blocks import in_memory
from sketchlasso.estimators.parameters import Radii, SearchSpecification, Specification
from sketchlasso.instances import check_weights
from sketchlasso.results.path import Problem
from sketchlasso.results.radius import radius_policies
from sketchlasso.sketches import Sketch, extend_sketch
from sketchlasso.sketches import sketch as make_sketch
from sketchlasso.sketches.sketch import check_sketch_of, check_sketch_shape
from sketchlasso.types import BoolArray, FloatArray, IntArray

# A sketch saves nothing where the smaller side of X is at most this.
EXACT_BELOW = 500
# Blocks of the Krylov space that an automatic sketch takes its singular directions from.
ROUGH_ITERATIONS = 4


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
    given: Any = None  # the rows in use as the user gave them, where the division rounded them

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

    def sketch_in_units(self, sketch: Sketch) -> Sketch:
        """A sketch of the user's X as one of `X`."""
        return sketch if self.x_unit == 1.0 else sketch.rescaled(1.0 / self.x_unit)

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
    unit, y_units, scales, original = 1.0, column_units(Y), None, entries
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
        original if scales is not None and entries.dtype == np.float32 else None,
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


def problem_of(
    spec: Specification,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    *,
    searching: bool = False,
) -> Problem:
    """The problem of the responses ``data.Y[:, columns]``, on a sketch or without one.

    When `searching`, fits are only compared with each other.
    """
    X = data.X
    if sketch is None and data.in_blocks:
        # The responses are constant, so no feature is used: zeros save the passes over the blocks.
        X = sparse.csr_array(X.shape, dtype=X.dtype)
    return Problem(
        as_rows(X),
        data.Y[:, columns],
        data.weights,
        spec.terms,
        spec.settings(sketch, searching=searching),
        spec.solver,
    )


# Columns of Y, and a function that makes their sketch.
SketchPlan = tuple[IntArray, Callable[[], Sketch | None]]


def sketch_plans(spec: Specification, data: Prepared) -> list[SketchPlan]:
    """Which responses are fitted on the same sketch, and what makes it.

    Responses share the directions that do not depend on them, and have directions of their own
    that do. Constant responses, which an intercept fits exactly, need no sketch.
    """
    constant = data.constant_responses(spec.terms.fit_intercept)
    columns = np.flatnonzero(~constant)
    if spec.ready is not None:
        _check_ready(spec.ready, data)
    plans = _plans(spec, data, columns) if len(columns) else []
    if constant.any():
        plans.append((np.flatnonzero(constant), lambda: None))
    return plans


def _plans(spec: Specification, data: Prepared, columns: IntArray) -> list[SketchPlan]:
    ready = spec.ready
    if ready is not None:
        return [(columns, lambda: data.sketch_in_units(ready))]
    method: Any = sketch_method(spec, data.X)
    if method is None:
        return [(columns, lambda: None)]
    options: dict[str, Any] = {
        "center": spec.terms.fit_intercept,
        "random_state": check_random_state(spec.random_state),
    }
    if method != "exact":
        options["rank"] = min(int(spec.rank), *data.X.shape)
    if spec.sketch == "auto" and method == "response" and not data.in_blocks:
        # Singular directions from fewer products: models on text predict as well with them.
        options |= {"n_iter": ROUGH_ITERATIONS, "oversampling": int(spec.rank)}
    target = data.Y[:, columns[0]] if method == "response" else None
    first = make_sketch(data.X, target, method=method, **options)
    if first.response_rank == 0:
        return [(columns, lambda: first)]

    def own(column: int) -> Sketch:
        return extend_sketch(
            first,
            data.X,
            data.Y[:, column],
            directions=first.response_rank,
            random_state=first.seed,
        )

    return [
        (columns[:1], lambda: first),
        *((np.array([column]), partial(own, int(column))) for column in columns[1:]),
    ]


def solves_without_sketch(spec: Specification, data: Prepared) -> bool:
    """Whether the parameters lead to the full problem for these data."""
    return spec.ready is None and sketch_method(spec, data.X) is None


def sketch_method(spec: Specification, X: Any) -> str | None:
    """The sketching method that the parameters ask for; None for no sketch at all."""
    if spec.sketch != "auto":
        assert spec.sketch is None or isinstance(spec.sketch, str)
        return spec.sketch
    searching = isinstance(spec, SearchSpecification)
    return automatic_method(
        X.shape,
        int(spec.rank),
        robust=spec.radius is not None or isinstance(X, BlockMatrix),
        predictive=searching and sparse.issparse(X),
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


def _check_ready(sketch: Sketch, data: Prepared) -> None:
    """Refuse a ready sketch of another shape, or together with standardisation."""
    check_sketch_shape(sketch, data.X.shape)
    if data.x_unit != 1.0:  # elsewhere the search compares the sketch with X
        check_sketch_of(sketch, in_units(data.X, 1.0 / data.x_unit))
    if data.scales is not None:
        raise InvalidInputError(
            "standardize=True cannot be combined with a ready sketch, which has scales of its own "
            "or none; make the sketch with scale=True and leave out standardize=True."
        )
