"""Tests and intervals from estimates that are approximately normal, and their errors."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from sketchlasso.inference.checks import check_choice
from sketchlasso.results.intervals import check_level
from sketchlasso.types import FloatArray

Adjustment: TypeAlias = Literal["holm", "benjamini-hochberg", "benjamini-yekutieli"]
# Estimates that a repr shows.
LISTED = 3


class NormalEstimates:
    """Tests and intervals from `estimate` and `standard_error`, arrays of one shape."""

    estimate: FloatArray
    standard_error: FloatArray
    names: tuple[str, ...]

    def _listed(self) -> str:
        """Name the estimates of the smallest p-values with their standard errors."""
        order = np.argsort(self.p_value, axis=None, kind="stable")
        listed = []
        for place in order[:LISTED]:
            row, *response = np.unravel_index(place, self.estimate.shape)
            of = f" of response {response[0]}" if response else ""
            value, error = self.estimate.flat[place], self.standard_error.flat[place]
            listed.append(f"{self.names[row]} {value:.3g} +- {error:.2g}{of}")
        return ", ".join(listed) + (", ..." if len(order) > LISTED else "")

    @property
    def z_value(self) -> FloatArray:
        """Estimates over their standard errors."""
        return self.estimate / self.standard_error

    @property
    def p_value(self) -> FloatArray:
        """Two-sided p-values of the hypotheses that single coefficients are zero."""
        return 2.0 * ndtr(-np.abs(self.z_value))

    def adjusted(self, method: Adjustment = "holm") -> FloatArray:
        """p-values that allow for the number of tests.

        Parameters
        ----------
        method : {"holm", "benjamini-hochberg", "benjamini-yekutieli"}
            Holm bounds the probability of any false discovery, Benjamini-Hochberg the expected
            share of false ones for independent or positively dependent tests,
            Benjamini-Yekutieli that share under any dependence.

        Returns
        -------
        ndarray
            Of the shape of `p_value`; the tests of each response are adjusted among themselves.
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
        half = ndtri(0.5 + 0.5 * check_level(level)) * self.standard_error
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
    n = len(p_value)
    order = np.argsort(p_value, axis=0)
    left = np.arange(n, 0, -1).reshape(-1, *[1] * (p_value.ndim - 1))
    stepped = np.maximum.accumulate(left * np.take_along_axis(p_value, order, axis=0), axis=0)
    found = np.empty_like(p_value)
    np.put_along_axis(found, order, np.minimum(stepped, 1.0), axis=0)
    return found


def data_frame(columns: dict[str, Any]) -> Any:
    """Return columns as a data frame of pandas or polars, or unchanged without either package."""
    for package in ("pandas", "polars"):
        try:
            return import_module(package).DataFrame(columns)
        except ImportError:
            continue
    return columns
