"""What a contender returns: models on the scale of X, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeAlias

import numpy as np
from scipy import sparse

from benchmarks.accuracy.splits import Training
from sketchlasso.engine import LinearModels


@dataclass
class Stopwatch:
    """Seconds by what they were spent on."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, what: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + perf_counter() - start


@dataclass(frozen=True, eq=False)
class Path:
    """Models of one label along its penalties, one instance per penalty."""

    alphas: np.ndarray
    models: LinearModels


@dataclass(frozen=True, eq=False)
class Fitted:
    """Models at the chosen hyper-parameters.

    Attributes
    ----------
    models : LinearModels
        One instance per label.
    alphas : list of float
        Chosen penalty (or C) of each label.
    at_edge : list of bool
        Whether the chosen penalty is the last of its grid.
    seconds : dict of float
        By phase; their sum is what the tables show.
    radii, policies : list of float, list of str
        Radius of each label's model and the rule it comes from, where there is one.
    gap : float
        Largest relative duality gap on the full data, NaN where not known.
    note : str
        What a reader of the table must know.
    paths : callable, optional
        The path of each label, fitted on all training rows. Called after the choice, for the
        figure only.
    """

    models: LinearModels
    alphas: list[float]
    at_edge: list[bool]
    seconds: dict[str, float]
    radii: list[float] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    gap: float = np.nan
    note: str = ""
    paths: Callable[[], list[Path]] | None = None


Contender: TypeAlias = Callable[[Training], Fitted]


class NotAvailableError(Exception):
    """A contender cannot run here; the message is one sentence for the table."""


def stack(models: list[LinearModels]) -> LinearModels:
    """Instances of several models as one."""
    coef = sparse.csr_array(sparse.vstack([model.coef for model in models]))
    return LinearModels(coef, np.concatenate([model.intercept for model in models]))


def dense_models(coef: np.ndarray, intercept: np.ndarray) -> LinearModels:
    """Coefficients (instances, n) that a peer returned as an array."""
    return LinearModels(sparse.csr_array(np.atleast_2d(coef)), np.atleast_1d(intercept))
