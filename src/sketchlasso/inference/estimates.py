"""Estimates that are approximately normal: tests, intervals and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control
from scipy.stats import t as student
from sklearn.utils import gen_batches

from sketchlasso.errors import unaccepted
from sketchlasso.inference.checks import check_choice, checked_columns
from sketchlasso.linalg.seeds import RandomState
from sketchlasso.results.intervals import check_level
from sketchlasso.types import BoolArray, FloatArray, IntArray, is_whole

Adjustment: TypeAlias = Literal["holm", "benjamini-hochberg", "benjamini-yekutieli"]


class NormalEstimates:
    """Tests and intervals from `estimate` and `standard_error`, arrays of one shape."""

    estimate: FloatArray
    standard_error: FloatArray
    names: tuple[str, ...]
    degrees_of_freedom: Any  # of Student's distribution

    def _listed(self) -> str:
        """Name the estimates of the smallest p-values with their standard errors."""
        order = np.argsort(self.p_value, axis=None, kind="stable")
        listed = []
        for place in order[:3]:
            row, *response = np.unravel_index(place, self.estimate.shape)
            of = f" of response {response[0]}" if response else ""
            value, error = self.estimate.flat[place], self.standard_error.flat[place]
            listed.append(f"{self.names[row]} {value:.3g} +- {error:.2g}{of}")
        return ", ".join(listed) + (", ..." if len(order) > 3 else "")

    @property
    def z_value(self) -> FloatArray:
        """Estimates over their standard errors."""
        return self.estimate / self.standard_error

    @property
    def p_value(self) -> FloatArray:
        """Two-sided p-values of the hypotheses that single coefficients are zero."""
        return np.asarray(2.0 * student.sf(np.abs(self.z_value), self.degrees_of_freedom))

    def adjusted(self, method: Adjustment = "holm") -> FloatArray:
        """p-values that account for the number of tests of each response.

        Parameters
        ----------
        method : {"holm", "benjamini-hochberg", "benjamini-yekutieli"}
            Holm bounds the probability of any false discovery, Benjamini-Hochberg the expected
            share of false ones for independent or positively dependent tests,
            Benjamini-Yekutieli that share under any dependence.

        Returns
        -------
        ndarray
            Of the shape of `p_value`.
        """
        return adjusted_p_values(self.p_value, method)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Confidence intervals of single coefficients.

        Parameters
        ----------
        level : float
            Strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (2, ...)
            Lower and upper ends.
        """
        upper = student.ppf(0.5 + 0.5 * check_level(level), self.degrees_of_freedom)
        half = upper * self.standard_error
        return np.stack([self.estimate - half, self.estimate + half])

    def _columns(self, level: float, adjustment: Adjustment | None = None) -> dict[str, FloatArray]:
        """The columns that the tables of all kinds of estimates share."""
        lower, upper = self.interval(level)
        adjusted = {} if adjustment is None else {"adjusted": self.adjusted(adjustment)}
        return {
            "estimate": self.estimate,
            "standard_error": self.standard_error,
            "z_value": self.z_value,
            "p_value": self.p_value,
            **adjusted,
            "lower": lower,
            "upper": upper,
        }


def adjusted_p_values(p_value: FloatArray, method: Adjustment) -> FloatArray:
    """Adjust p-values (n,) or (n, t) along the first axis."""
    check_choice("method", method, get_args(Adjustment))
    if method != "holm":
        short: Literal["bh", "by"] = "bh" if method == "benjamini-hochberg" else "by"
        return np.asarray(false_discovery_control(p_value, axis=0, method=short))
    ordered = np.sort(p_value, axis=0).T
    stepped = np.maximum.accumulate(ordered * np.arange(len(p_value), 0, -1), axis=-1).T
    rank = np.argsort(np.argsort(p_value, axis=0), axis=0)
    return np.minimum(np.take_along_axis(stepped, rank, axis=0), 1.0)


@dataclass(frozen=True, eq=False)
class Desparsified(NormalEstimates):
    """Estimates of coefficients, free of the penalty's bias; several responses have a second axis.

    Attributes
    ----------
    estimate, standard_error : ndarray of shape (c,) or (c, t)
        In the units of X and y.
    flagged : ndarray of bool, of shape (c,) or (c, t)
        Intervals that may miss the true coefficient more often than they say: of columns that the
        rows cannot tell from similar ones, and of responses whose initial estimate has more
        coefficients than a quarter of the rows.
    bias_bound : ndarray of shape (c,)
        max_k |z_j'x_k| / ||z_j|| over the other columns, each of standard deviation one. Times
        ||b - beta||_1 / sigma it bounds the bias of an estimate in standard errors.
    noise : float or ndarray of shape (t,)
        Standard deviation of the noise.
    degrees_of_freedom : float or ndarray of shape (t,)
        Of the noise; infinite if it was given.
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
    flagged: BoolArray
    bias_bound: FloatArray
    noise: Any
    degrees_of_freedom: Any
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
            f"{self.flagged.sum()} flagged: {self._listed()}>"
        )

    def table(self, level: float = 0.95, adjustment: Adjustment = "holm") -> dict[str, Any]:
        """Columns of a table with one row per feature, and per response where there are several.

        Parameters
        ----------
        level : float
            Of the intervals.
        adjustment : {"holm", "benjamini-hochberg", "benjamini-yekutieli"}
            Of the column ``adjusted``.

        Returns
        -------
        dict of str to list or ndarray
            For example for ``pandas.DataFrame``.
        """
        t = 1 if self.estimate.ndim == 1 else self.estimate.shape[1]
        columns: dict[str, Any] = {"feature": list(self.names) * t}
        if self.estimate.ndim == 2:
            columns["response"] = np.repeat(np.arange(t), len(self.features))
        values = self._columns(level, adjustment)
        columns |= {name: value.ravel(order="F") for name, value in values.items()}
        columns["flagged"] = self.flagged.ravel(order="F")
        columns["bias_bound"] = np.tile(self.bias_bound, t)
        return columns

    def simultaneous(
        self,
        level: float = 0.95,
        *,
        group: ArrayLike | None = None,
        n_draws: int = 1000,
        random_state: RandomState = None,
    ) -> FloatArray:
        """Intervals that hold simultaneously, by the multiplier bootstrap.

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
        chosen = np.sort(checked_columns("group", group, len(self.features)))
        limit = np.quantile(self._largest(chosen, n_draws, random_state), share, axis=0)
        half = limit * self.standard_error[chosen]
        return np.stack([self.estimate[chosen] - half, self.estimate[chosen] + half])

    def group_test(
        self, group: ArrayLike, *, n_draws: int = 1000, random_state: RandomState = None
    ) -> Any:
        """p-value of no coefficient in a group: its largest |z_value|, by the multiplier bootstrap.

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
        chosen = np.sort(checked_columns("group", group, len(self.features)))
        drawn = self._largest(chosen, n_draws, random_state)
        seen = np.abs(self.z_value[chosen]).max(axis=0)
        found = (1 + np.sum(drawn >= seen, axis=0)) / (n_draws + 1)
        return float(found) if self.estimate.ndim == 1 else found

    def _largest(self, chosen: IntArray, n_draws: int, random_state: RandomState) -> FloatArray:
        """Draws (n_draws,) or (n_draws, t) of the largest deviation in a group."""
        scores = self.scores[:, chosen]
        rng = np.random.default_rng(random_state)
        residual = self.residual.reshape(len(scores), -1)
        degrees = np.broadcast_to(self.degrees_of_freedom, residual.shape[1])
        if self.errors == "equal":
            drawn = largest_deviations(scores, n_draws, rng)[:, None]
        else:
            drawn = np.empty((n_draws, residual.shape[1]))
            for response, seed in enumerate(rng.spawn(residual.shape[1])):
                own = scores * residual[:, [response]]
                drawn[:, response] = largest_deviations(own, n_draws, seed)
        # Errors are estimated: Student's distribution, as for single coefficients.
        finite = np.where(np.isfinite(degrees), degrees, 1.0)
        ratio = np.sqrt(rng.chisquare(finite, (n_draws, len(finite))) / finite)
        drawn = drawn / np.where(np.isfinite(degrees), ratio, 1.0)
        return drawn[:, 0] if self.estimate.ndim == 1 else drawn


def largest_deviations(scores: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Draws (n_draws,) of max_j |sum_i s_ij g_i| / ||s_j|| with g_i independent and normal.

    s (m, c) are the scores, times the residual where errors are robust.
    """
    if not is_whole(n_draws) or n_draws < 100:
        raise unaccepted("n_draws", n_draws, "a whole number >= 100", "pass for example 1000")
    units = scores / np.linalg.norm(scores, axis=0)
    m, c = units.shape
    found = np.empty(n_draws)
    for part in gen_batches(n_draws, max(1, 2**24 // c)):
        draws = rng.standard_normal((part.stop - part.start, m)) @ units
        found[part] = np.abs(draws, out=draws).max(axis=1)
    return found
