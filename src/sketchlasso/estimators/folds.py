"""Folds of the rows where the user gives their number alone."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import check_cv

__all__ = ["shuffled_folds"]


def shuffled_folds(count: int, target: Any, stratified: bool, random_state: Any) -> Any:
    """Return a splitter into shuffled folds; rows that lie together in a file are often alike.

    Parameters
    ----------
    count : int
    target : array-like of shape (m,) or None
    stratified : bool
        Whether the folds keep the shares of the classes in `target`.
    random_state : int, RandomState or None
        None shuffles in the same way every time.

    Returns
    -------
    KFold or StratifiedKFold
    """
    kind: Any = type(check_cv(count, target, classifier=stratified))
    return kind(count, shuffle=True, random_state=0 if random_state is None else random_state)
