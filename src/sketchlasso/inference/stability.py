"""Stability selection: features that are selected on most half-samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import BlockMatrix, as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import DuplicateColumnWarning, InvalidInputError
from sketchlasso.estimators.base import CallbackSupport, Watcher, reported, reporter, validated
from sketchlasso.estimators.fit import prepare
from sketchlasso.estimators.parameters import check_values
from sketchlasso.inference.checks import check_enough_rows, copied_columns, listed
from sketchlasso.inference.error_control import Assumption, error_control, grid_step
from sketchlasso.instances import complementary_pairs
from sketchlasso.linalg.threads import thread_count
from sketchlasso.problem.terms import Terms, default_ratio
from sketchlasso.results.entering import first_to_enter
from sketchlasso.results.path import Grid, Problem
from sketchlasso.solvers import Settings
from sketchlasso.types import BoolArray
from sketchlasso.warn import warn_user


@dataclass(eq=False, repr=False, kw_only=True)
class StabilitySelection(CallbackSupport, SelectorMixin, BaseEstimator):
    """Select features that enter the square-root LASSO early on most half-samples.

    The rows are split in half at random `n_pairs` times. On each half the penalty falls until q
    features have entered. A feature is selected if it is among these on at least a share `cutoff`
    of the halves. The expected number of noise features selected, those that a half-sample selects
    with a probability of at most q / n_features, is then bounded for independent rows, see
    :func:`error_control`. Constant columns are never selected and not counted as features.

    N. Meinshausen and P. Buehlmann, "Stability selection", JRSS B 72 (2010). R. D. Shah and
    R. J. Samworth, "Variable selection with error control", JRSS B 75 (2013).

    Parameters
    ----------
    cutoff : float, optional
        Share of half-samples in which a feature has to be selected.
    q : int, optional
        Features selected on each half-sample.
    pfer : float, optional
        Largest acceptable bound on the expected number of falsely selected features. Where only
        one of the three is given, or none, `pfer` is 1 unless given, then `cutoff` 0.75.
    assumption : {"unimodal", "none"}
        Which bound: of Shah and Samworth, or of Meinshausen and Buehlmann ("none").
    n_pairs : int
        Complementary pairs of half-samples.
    n_alphas : int
        Penalties of the grid on which features enter, evenly spaced in log scale. Those that
        enter between two penalties are ordered by the size of their coefficients.
    alpha_min_ratio : float, optional
        Smallest over largest penalty; 1e-2 where n_samples < n_features, else 1e-3. Fewer than q
        features may have entered there, which the bound allows.
    fit_intercept : bool
    standardize : bool
        Whether to divide columns by their standard deviations on all rows. Without it the scale
        of a column decides how early it enters.
    positive : bool
        Whether only features with coefficients > 0 enter.
    tol : float
        Relative duality gap.
    n_jobs : int or None
        Threads: -1 for all cores, None for one.
    random_state : int, RandomState or None
        Of the half-samples.
    verbose : bool, int or callable
        See :class:`SqrtLasso`; progress is counted in half-samples.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features,)
        Share of half-samples on which each feature is selected.
    cutoff_, q_, pfer_ : float, int, float
        The values used; `pfer_` is the bound reached.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties, largest first, as far down as was needed.
    stability_path_ : ndarray of shape (n_alphas, n_features)
        Share of half-samples on which each feature has been selected by each penalty; its last
        row is `frequencies_`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 200))
    >>> y = X[:, :3].sum(axis=1) + rng.standard_normal(100)
    >>> StabilitySelection(pfer=0.5, random_state=0).fit(X, y).get_support(indices=True)
    array([0, 1, 2])
    """

    cutoff: float | None = None
    q: int | None = None
    pfer: float | None = None
    assumption: Assumption = "unimodal"
    n_pairs: int = 50
    n_alphas: int = 200
    alpha_min_ratio: float | None = None
    fit_intercept: bool = True
    standardize: bool = True
    positive: bool = False
    tol: float = 1e-6
    n_jobs: int | None = -1
    random_state: int | np.random.RandomState | None = None
    verbose: bool | int | Watcher = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @reported
    def fit(self, X: Any, y: Any) -> StabilitySelection:
        """Select features on all half-samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        StabilitySelection
        """
        X, y = validated(self, X, y, y_numeric=True)
        self._check(X, y)
        state = check_random_state(self.random_state)
        data = prepare(X, y, None, self.standardize, None, fit_intercept=self.fit_intercept)
        varying = column_scales(data.X, np.ones(len(data.Y))) > 0
        if not varying.any():
            raise InvalidInputError(
                "every column of X is constant, but a feature has to vary to be selected; pass "
                "columns that do."
            )
        control = error_control(
            int(varying.sum()),
            cutoff=self.cutoff,
            q=self.q,
            pfer=self.pfer,
            n_pairs=self.n_pairs,
            assumption=self.assumption,
        )
        for group in copied_columns(data.X)[:1]:
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
            warn_user(
                DuplicateColumnWarning(
                    f"columns {listed(names, group)} of X are equal up to sign and scale, so "
                    "half-samples cannot choose between them; drop all but one."
                )
            )
        rows = complementary_pairs(len(y), int(self.n_pairs), int(state.randint(2**31 - 1)))
        settings = Settings(
            tol=float(self.tol),
            n_threads=thread_count(self.n_jobs),
            callback=reporter(self),
        )
        terms = Terms(bool(self.fit_intercept), positive=bool(self.positive))
        problem = Problem(as_rows(data.X), data.Y, terms=terms, settings=settings)
        ratio = self.alpha_min_ratio
        grid = Grid(
            int(self.n_alphas), default_ratio(data.X.shape) if ratio is None else float(ratio)
        )
        alphas, entered = first_to_enter(problem, grid, rows, control.q)
        counts = np.zeros((len(alphas), X.shape[1]))
        for own in entered:
            counts[list(own.values()), list(own)] += 1.0
        self.stability_path_ = np.cumsum(counts, axis=0) / len(entered)
        self.frequencies_ = self.stability_path_[-1].copy()
        self.cutoff_, self.q_, self.pfer_ = control.cutoff, control.q, control.pfer
        self.alphas_ = alphas * data.x_unit
        return self

    def _check(self, X: Any, y: Any) -> None:
        """Refuse data without usable half-samples."""
        check_values(self.get_params(deep=False))
        if isinstance(X, BlockMatrix):
            raise InvalidInputError(
                "X in blocks was given, but half-samples need X in memory; pass an array or a "
                "sparse matrix."
            )
        check_enough_rows(X.shape[0])
        if np.all(y == y[0]):
            raise InvalidInputError(
                f"y is {y[0]:g} on every row, so no feature can explain it; pass a response that "
                "varies."
            )

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        # Compare counts, so that rounding of a share does not matter.
        counts = np.rint(self.frequencies_ * 2 * self.n_pairs)
        return np.asarray(counts >= grid_step(self.cutoff_, int(self.n_pairs)))
