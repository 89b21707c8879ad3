"""A fitted linear model in one table: effects, score, penalty and proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sketchlasso.errors import InvalidInputError
from sketchlasso.results.choices import mean_of, standard_error_of
from sketchlasso.results.reprs import MOST_ROWS, Screen, Shown, counted, gap_words, shown
from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class ModelSummary(Shown):
    """Effects of a fitted model, and how good and how exact it is.

    Attributes
    ----------
    estimator : str
        Class of the model.
    features, responses : tuple of str
        Names of the n features, and of the t targets or classes that have coefficients.
    per_unit, per_std : ndarray of shape (t, n)
        Coefficients, and coefficients times the standard deviations of their features: the effects
        of one unit and of one standard deviation. The latter are NaN for a model fitted to X in
        blocks without standardising it.
    fold_share : ndarray of shape (t, n) or None
        Share of the folds in which a feature was selected; None without a search.
    metric : str or None
        The score that chose the penalty.
    score, score_error : ndarray of shape (t,) or None
        Its mean over the held-out rows of the folds at the penalty used, and the standard error.
    alpha, radius, gap : ndarray of shape (t,)
        Penalty, radius and relative duality gap in the problem without a sketch: no other
        coefficients lower its objective by more than this share.
    """

    estimator: str
    features: tuple[str, ...]
    responses: tuple[str, ...]
    per_unit: FloatArray
    per_std: FloatArray
    fold_share: FloatArray | None
    metric: str | None
    score: FloatArray | None
    score_error: FloatArray | None
    alpha: FloatArray
    radius: FloatArray
    gap: FloatArray

    def table(self, top: int | None = None) -> dict[str, Any]:
        """Columns of a table with one row per effect, the largest first for every response.

        Parameters
        ----------
        top : int, optional
            About how many rows: the largest effects of each response, in equal numbers. By default
            all that are not zero.

        Returns
        -------
        dict of str to list or ndarray
            response (of several), feature, per_std, per_unit, and for a search fold_share.
        """
        sizes = np.abs(self.per_unit if np.isnan(self.per_std).any() else self.per_std)
        each = None if top is None else -(-top // len(sizes))
        rows: list[int] = []
        columns: list[int] = []
        for number, size in enumerate(sizes):
            used: IntArray = np.flatnonzero(self.per_unit[number])
            largest = used[np.argsort(-size[used], kind="stable")][:each]
            rows += [number] * len(largest)
            columns += largest.tolist()
        table: dict[str, Any] = {}
        if len(self.responses) > 1:
            table["response"] = [self.responses[row] for row in rows]
        table["feature"] = [self.features[column] for column in columns]
        table["per_std"] = self.per_std[rows, columns]
        table["per_unit"] = self.per_unit[rows, columns]
        if self.fold_share is not None:
            table["fold_share"] = self.fold_share[rows, columns]
        return table

    def to_frame(self) -> Any:
        """:meth:`table` as a ``pandas.DataFrame``.

        Returns
        -------
        DataFrame
        """
        # The only use of pandas, which nothing else needs.
        return import_module("pandas").DataFrame(self.table())

    def _screen(self) -> Screen:
        table, used = self.table(MOST_ROWS), np.count_nonzero(self.per_unit.any(axis=0))
        if np.isnan(self.per_std).any():
            del table["per_std"]
        if "fold_share" in table:
            table["fold_share"] = [f"{share:.0%}" for share in table["fold_share"]]
        headings = {"per_std": "per std. dev.", "per_unit": "per unit", "fold_share": "in folds"}
        columns = {headings.get(name, name): values for name, values in table.items()}
        facts = [("penalty", _range(self.alpha)), ("radius", _range(self.radius))]
        if self.score is not None and self.score_error is not None:
            words = f"{self.metric} {_range(self.score)}"
            if len(self.score) == 1:
                words += f" +- {self.score_error[0]:.2g}"
            facts.insert(0, ("score", f"{words} on held-out rows"))
        more = np.count_nonzero(self.per_unit) - len(table["feature"])
        return Screen(
            f"{self.estimator}: {used} of {counted(len(self.features), 'feature')} used",
            [*facts, ("gap", gap_words(self.gap))],
            columns,
            f"and {more} smaller" if more else "",
        )


def _range(values: FloatArray) -> str:
    """One number for all responses, or the smallest and the largest."""
    low, high = shown(float(np.min(values))), shown(float(np.max(values)))
    return low if low == high else f"{low} to {high}"


def summary_of(model: Any, feature_names: Sequence[str] | None) -> ModelSummary:
    """The summary of a fitted model; see :meth:`LinearModel.summary`."""
    check_is_fitted(model)
    coef = np.atleast_2d(model.coef_)
    t, n = coef.shape
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    features = tuple(f"x{j}" for j in range(n)) if names is None else tuple(map(str, names))
    if len(features) != n:
        raise InvalidInputError(
            f"feature_names has {len(features)} names, but the model has {n} features; give one "
            "name per feature."
        )
    labels = getattr(model, "classes_", range(t))
    responses = tuple(str(label) for label in (labels if t > 1 else labels[-1:]))
    deviations = np.full(n, np.nan) if model.feature_std_ is None else model.feature_std_
    score = score_error = None
    if hasattr(model, "score_path_"):
        paths = np.asarray(model.score_path_).reshape(t, -1, np.shape(model.score_path_)[-1])
        alphas = np.reshape(model.alphas_, (t, -1))
        at = np.abs(alphas - np.reshape(model.alpha_, (t, 1))).argmin(axis=1)
        used = paths[np.arange(t), at].T
        score, score_error = mean_of(used), standard_error_of(used)
    share = getattr(model, "fold_share_", None)
    return ModelSummary(
        estimator=type(model).__name__,
        features=features,
        responses=responses,
        per_unit=coef,
        per_std=coef * deviations,
        fold_share=None if share is None else np.atleast_2d(share),
        metric=getattr(model, "scoring", None),
        score=score,
        score_error=score_error,
        alpha=np.atleast_1d(model.alpha_),
        radius=np.atleast_1d(model.radius_),
        gap=np.atleast_1d(model.full_gap_),
    )
