"""What the desparsified LASSO returns: estimates, errors, tests and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.inference.column_problems import slices
from sketchlasso.inference.normal import Adjustment, NormalEstimates, data_frame
from sketchlasso.results.intervals import check_level
from sketchlasso.types import FloatArray, IntArray, is_whole

# Entries of the draws made at a time.
ENTRIES_AT_A_TIME = 2**24


@dataclass(frozen=True, eq=False)
class Desparsified(NormalEstimates):
    """Estimates of coefficients, free of the penalty's bias, with their standard errors.

    Arrays of several responses have a second axis for them.

    Attributes
    ----------
    estimate, standard_error : ndarray of shape (c,) or (c, t)
        In the units of X and y.
    bias_bound : ndarray of shape (c,)
        max_k |z_j'x_k| / ||z_j|| over the other columns, each of standard deviation one. Times
        ||b - beta||_1 / sigma it bounds the bias of an estimate in standard errors.
    noise : float or ndarray of shape (t,)
        Standard deviation of the noise.
    initial : ndarray of shape (n,) or (t, n)
        The initial estimate b.
    scores : ndarray of shape (m, c)
        z_j, centred.
    residual : ndarray of shape (m,) or (m, t)
        y - X b, centred.
    features : ndarray of shape (c,)
        Columns of X.
    names : tuple of str
        Of these columns.
    errors : {"equal", "robust"}
    """

    estimate: FloatArray
    standard_error: FloatArray
    bias_bound: FloatArray
    noise: Any
    initial: FloatArray
    scores: FloatArray
    residual: FloatArray
    features: IntArray
    names: tuple[str, ...]
    errors: str

    def __repr__(self) -> str:
        responses = "" if self.estimate.ndim == 1 else f" x {self.estimate.shape[1]} responses"
        return (
            f"<Desparsified: {len(self.features)} features{responses} on {len(self.scores)} rows, "
            f"bias bound {self.bias_bound.max():.2f} at most: {self._listed()}>"
        )

    def table(self, level: float = 0.95, adjustment: Adjustment = "holm") -> Any:
        """One row per feature, and per response where there are several.

        Parameters
        ----------
        level : float
            Of the intervals.
        adjustment : {"holm", "benjamini-hochberg", "benjamini-yekutieli"}
            Of the column ``adjusted``.

        Returns
        -------
        DataFrame of pandas or polars, or dict of arrays
            Whichever of the two packages is installed, in this order.
        """
        t = 1 if self.estimate.ndim == 1 else self.estimate.shape[1]
        columns: dict[str, Any] = {"feature": list(self.names) * t}
        if self.estimate.ndim == 2:
            columns["response"] = np.repeat(np.arange(t), len(self.features))
        values = self._columns(level, adjustment)
        columns |= {name: value.ravel(order="F") for name, value in values.items()}
        columns["bias_bound"] = np.tile(self.bias_bound, t)
        return data_frame(columns)

    def simultaneous(
        self,
        level: float = 0.95,
        *,
        group: ArrayLike | None = None,
        n_draws: int = 1000,
        random_state: Any = None,
    ) -> FloatArray:
        """Intervals that hold simultaneously, by the multiplier bootstrap.

        They are narrower than Bonferroni's where estimates depend on each other.

        Parameters
        ----------
        level : float
        group : array-like of shape (g,), optional
            Positions in `features`, or a mask; all by default.
        n_draws : int
        random_state : int, Generator or None

        Returns
        -------
        ndarray of shape (2, g) or (2, g, t)
            Lower and upper ends.
        """
        share = check_level(level)
        chosen = self._group(group)
        limit = np.quantile(self._largest(chosen, n_draws, random_state), share, axis=0)
        half = limit * self.standard_error[chosen]
        return np.stack([self.estimate[chosen] - half, self.estimate[chosen] + half])

    def group_test(self, group: ArrayLike, *, n_draws: int = 1000, random_state: Any = None) -> Any:
        """p-value of the hypothesis that all coefficients of a group are zero.

        The statistic is the largest |z_value| of the group; the multiplier bootstrap accounts for
        the dependence between the estimates.

        Parameters
        ----------
        group : array-like of shape (g,)
            Positions in `features`, or a mask.
        n_draws : int
            The p-value is at least 1 / (n_draws + 1).
        random_state : int, Generator or None

        Returns
        -------
        float or ndarray of shape (t,)
        """
        chosen = self._group(group)
        drawn = self._largest(chosen, n_draws, random_state)
        seen = np.abs(self.z_value[chosen]).max(axis=0)
        found = (1 + np.sum(drawn >= seen, axis=0)) / (n_draws + 1)
        return float(found) if self.estimate.ndim == 1 else found

    def _group(self, group: ArrayLike | None) -> IntArray:
        c = len(self.features)
        if group is None:
            return np.arange(c)
        values = np.asarray(group)
        if values.dtype == bool and values.shape == (c,):
            values = np.flatnonzero(values)
        whole = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iu"
        if not whole or values.min() < 0 or values.max() >= c:
            raise InvalidInputError(
                f"group of shape {values.shape} was given, but positions from 0 to {c - 1} or a "
                f"mask of shape ({c},) with at least one feature is accepted; pass one of them."
            )
        return np.unique(values).astype(np.intp)

    def _largest(self, chosen: IntArray, n_draws: int, random_state: Any) -> FloatArray:
        """Draws (n_draws,) or (n_draws, t) of the largest deviation in a group."""
        own = self.scores[:, chosen]
        if self.errors == "equal":
            drawn = largest_deviations(own, n_draws, random_state)
            return drawn if self.estimate.ndim == 1 else drawn[:, None]
        if self.estimate.ndim == 1:
            return largest_deviations(own * self.residual[:, None], n_draws, random_state)
        seeds = np.random.default_rng(random_state).spawn(self.residual.shape[1])
        return np.column_stack(
            [
                largest_deviations(own * r[:, None], n_draws, seed)
                for r, seed in zip(self.residual.T, seeds, strict=True)
            ]
        )


def largest_deviations(scores: FloatArray, n_draws: int, random_state: Any) -> FloatArray:
    """Draws (n_draws,) of max_j |sum_i s_ij g_i| / ||s_j|| with g_i independent and normal.

    s (m, c) are the scores, times the residual where errors are robust.
    """
    if not is_whole(n_draws) or n_draws < 100:
        raise unaccepted("n_draws", n_draws, "a whole number >= 100", "pass for example 1000")
    rng = np.random.default_rng(random_state)
    units = scores / np.linalg.norm(scores, axis=0)
    m, c = units.shape
    found = np.empty(n_draws)
    for part in slices(n_draws, max(1, ENTRIES_AT_A_TIME // c)):
        draws = rng.standard_normal((part.stop - part.start, m)) @ units
        found[part] = np.abs(draws, out=draws).max(axis=1)
    return found
