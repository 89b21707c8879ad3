"""Effects of treatments among many controls, with standard errors valid after selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import MatrixLike, as_entries, as_responses
from sketchlasso.data.transform import column_units
from sketchlasso.data.validate import refuse_unreal
from sketchlasso.errors import EmptyModelWarning, FewTreatedWarning, InvalidInputError
from sketchlasso.estimators import SqrtLasso
from sketchlasso.inference.checks import (
    as_numbers,
    check_choice,
    check_enough_rows,
    column_names,
    dense_matrix,
)
from sketchlasso.inference.estimates import NormalEstimates
from sketchlasso.types import BoolArray, FloatArray
from sketchlasso.warn import not_warning_of, warn_user

EffectMethod: TypeAlias = Literal["double-selection", "partialling-out"]
Errors: TypeAlias = Literal["auto", "robust", "equal"]
Loadings: TypeAlias = Literal["robust", "equal"]
# Rows in which a treatment has to differ from its most common value; fewer are fitted almost
# exactly, and the error is too small.
FEWEST_TREATED = 5


@dataclass(frozen=True, eq=False)
class TreatmentEffects(NormalEstimates):
    """Effects of k treatments on a response, each with the other ones among its controls.

    Attributes
    ----------
    estimate, standard_error : ndarray of shape (k,)
    controls : ndarray of shape (k, n + k)
        Which columns of X, then of d, were selected as controls of each treatment.
    names : tuple of str
        Of the treatments.
    control_names : tuple of str
        Of the columns of X, then of d.
    method : {"double-selection", "partialling-out"}
    n_samples : int
    degrees_of_freedom : float
        Infinite: estimates are taken as normal.
    """

    estimate: FloatArray
    standard_error: FloatArray
    controls: BoolArray
    names: tuple[str, ...]
    control_names: tuple[str, ...]
    method: str
    n_samples: int
    degrees_of_freedom: float = np.inf

    def __repr__(self) -> str:
        return (
            f"<TreatmentEffects: {len(self.estimate)} by {self.method} on {self.n_samples} rows, "
            f"{self.controls.sum(axis=1).max()} controls at most: {self._listed()}>"
        )

    def table(self, level: float = 0.95) -> dict[str, Any]:
        """Columns of a table with one row per treatment and its number of controls.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        dict of str to list or ndarray
            For example for ``pandas.DataFrame``.
        """
        counts = self.controls.sum(axis=1)
        return {"treatment": list(self.names), **self._columns(level), "n_controls": counts}


def treatment_effect(
    X: MatrixLike,
    y: ArrayLike,
    d: Any,
    *,
    method: EffectMethod = "double-selection",
    loadings: Loadings = "robust",
    errors: Errors = "auto",
    tol: float = 1e-10,
    progress: Callable[[int, int], None] | None = None,
) -> TreatmentEffects:
    """Estimate the effects of treatments d on y, given controls X of which few matter.

    ::

        y = d a + X b + noise,    d = X c + noise

    Controls are selected by two regressions on them with a rigorous penalty: of y and of d.
    Double selection then regresses y on d and on the union of both selections. Partialling out
    regresses the residual of y on that of d, both of refits on their own selections. Each of
    several treatments has the other ones among its controls.

    A. Belloni, V. Chernozhukov and C. Hansen, Review of Economic Studies 81 (2014).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (m, n)
        Controls. Data frames give their names.
    y : array-like of shape (m,)
    d : array-like of shape (m,) or (m, k)
    method : {"double-selection", "partialling-out"}
    loadings : {"robust", "equal"}
        Whether penalties allow for noise whose variance depends on the controls.
    errors : {"auto", "robust", "equal"}
        Standard errors for any noise or for noise of equal variance. ``"auto"`` is robust after
        double selection and equal after partialling out, as in hdm.
    tol : float
        Relative duality gap of the selections.
    progress : callable, optional
        Called with the treatments done and their number.

    Returns
    -------
    TreatmentEffects
        A treatment that differs from its most common value in fewer than 5 rows causes a
        :class:`FewTreatedWarning`.

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import treatment_effect
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 50))
    >>> d = X[:, 0] + rng.standard_normal(200)
    >>> y = 0.5 * d + X[:, 0] + rng.standard_normal(200)
    >>> found = treatment_effect(X, y, d)
    >>> lower, upper = found.interval(0.95)
    >>> bool(lower[0] < 0.5 < upper[0])
    True
    """
    check_choice("method", method, get_args(EffectMethod))
    check_choice("loadings", loadings, get_args(Loadings))
    check_choice("errors", errors, get_args(Errors))
    as_entries(X)
    controls = dense_matrix(X)
    m, n = controls.shape
    names = column_names(getattr(X, "columns", None), n)
    check_enough_rows(m)
    responses = as_responses(y, m)
    if responses.shape[1] != 1:
        raise InvalidInputError(
            f"y has {responses.shape[1]} columns, but effects are on one response at a time; pass "
            "one of them."
        )
    response = responses[:, 0]
    treatments, own = _treatments(d, m)
    for column, name in zip(treatments.T, own, strict=True):
        values, counts = np.unique(column, return_counts=True)
        usual = values[np.argmax(counts)]
        different = m - int(counts.max())
        if different < FEWEST_TREATED:
            warn_user(
                FewTreatedWarning(
                    f"treatment {name} differs from {usual:g} in {different} of {m} rows, but the "
                    f"error of its effect needs at least {FEWEST_TREATED} such rows; collect more, "
                    "or do not rely on its interval."
                )
            )
    k = treatments.shape[1]
    robust = errors == "robust" or (errors == "auto" and method == "double-selection")
    everything = np.hstack([controls, treatments])
    # Penalties follow the scale of a control, so that units affect rounding only.
    everything /= column_units(everything)
    chosen = np.zeros((k, n + k), dtype=bool)
    estimate, error = np.empty(k), np.empty(k)
    for number in range(k):
        others = np.delete(np.arange(n + k), n + number)
        W, treatment = everything[:, others], treatments[:, number]
        of_y, y_left = _selected(W, response, loadings, tol)
        of_d, d_left = _selected(W, treatment, loadings, tol)
        union = of_y | of_d
        chosen[number, others] = union
        free = m - 2
        if method == "double-selection":
            d_left, y_left = _without(W[:, union], treatment, response)
            # White's errors are enlarged for the controls as in hdm.
            free = m - int(union.sum()) - (1 if robust else 2)
        d_left = d_left - d_left.mean()
        if np.linalg.norm(d_left) <= 1e-10 * np.linalg.norm(treatment - treatment.mean()):
            raise InvalidInputError(
                f"treatment {own[number]} is an exact combination of its controls, so it has no "
                "effect of its own; leave those controls out."
            )
        estimate[number], error[number] = _effect(d_left, y_left, free, robust)
        if progress is not None:
            progress(number + 1, k)
    return TreatmentEffects(estimate, error, chosen, own, (*names, *own), method, m)


def _treatments(d: Any, m: int) -> tuple[FloatArray, tuple[str, ...]]:
    """Treatments (m, k), each of which varies, and their names."""
    refuse_unreal("d", d)
    values = as_numbers("d", d)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != m or values.shape[1] == 0:
        raise InvalidInputError(
            f"d has shape {np.shape(d)}, but X has {m} rows; pass treatments of shape ({m},) or "
            f"({m}, k)."
        )
    if not np.isfinite(values).all() or (np.ptp(values, axis=0) == 0).any():
        raise InvalidInputError(
            "d holds a constant treatment, NaN or infinity, but an effect needs a treatment that "
            "varies, of finite numbers; leave out such treatments or rows."
        )
    if hasattr(d, "columns"):
        return values, tuple(map(str, d.columns))
    if values.shape[1] == 1 and getattr(d, "name", None) is not None:
        return values, (str(d.name),)
    return values, tuple(f"d{number}" for number in range(values.shape[1]))


def _effect(v: FloatArray, y: FloatArray, free: int, robust: bool) -> tuple[float, float]:
    """Least squares of a residual y (m,) on a centred one v (m,): the effect and its error."""
    e, square = y - y.mean(), v @ v
    effect = v @ e / square
    left = e - effect * v
    if robust:
        return effect, np.sqrt(len(v) / free * (v**2 @ left**2)) / square
    return effect, np.sqrt(left @ left / free / square)


def _without(W: FloatArray, d: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Residuals of d (m,) and of y (m,) after least squares on controls W (m, c)."""
    m, c = W.shape
    if c + 2 >= m:
        raise InvalidInputError(
            f"{c} controls were selected from {m} rows, which leaves none to estimate an error "
            "from; give more rows or fewer controls."
        )
    # About the means: a large mean of a control would hide how it varies.
    W = W - W.mean(axis=0)
    W /= np.maximum(np.linalg.norm(W, axis=0), np.finfo(np.float64).tiny)
    v, e = d - d.mean(), y - y.mean()
    v -= W @ np.linalg.lstsq(W, v, rcond=None)[0]
    e -= W @ np.linalg.lstsq(W, e, rcond=None)[0]
    return v, e


def _selected(
    X: FloatArray, y: FloatArray, loadings: Loadings, tol: float
) -> tuple[BoolArray, FloatArray]:
    """Features (n,) of X (m, n) that a rigorous penalty selects; residual (m,) of their refit."""
    alpha = "rigorous-robust" if loadings == "robust" else "rigorous"
    model: Any = SqrtLasso(alpha, standardize=False, sketch=None, relaxed=True, tol=tol)
    with not_warning_of(EmptyModelWarning):
        model.fit(X, y)
    return model.penalised_coef_ != 0, y - model.predict(X)
