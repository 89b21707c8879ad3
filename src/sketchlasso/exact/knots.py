"""Solutions of one chain along the knots of its path, on the Gram matrix of its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.exact.gram_cache import TrainingGram
from sketchlasso.exact.point import Target
from sketchlasso.kernels.gram_path import GramFace, GramProblem, blank_solutions, walk_gram
from sketchlasso.solvers.algorithms.homotopy import spread_factors
from sketchlasso.types import FloatArray, IntArray

__all__ = ["MOST_ACTIVE", "KeptFace", "KnotWalk", "Stretch"]

# With more active columns a knot costs more than a penalty of another solver.
MOST_ACTIVE = 1000
NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Solutions along a stretch of the path, from larger to smaller penalties.

    Attributes
    ----------
    points : list of (ndarray of shape (s,), ndarray of shape (s,))
        Columns of X and their coefficients, one pair per solution; some may be zero.
    lambdas, squares, inner, worst, l1 : ndarray of shape (found,)
        lambda, ||r||^2, y'r, the largest |x_j'r| / f_j of the columns at work, and
        sum_j f_j |w_j|.
    knots : int
    """

    points: list[tuple[IntArray, FloatArray]]
    lambdas: FloatArray
    squares: FloatArray
    inner: FloatArray
    worst: FloatArray
    l1: FloatArray
    knots: int

    def __len__(self) -> int:
        return len(self.points)


class KeptFace:
    """Arrays of the kernel that outlive a walk, and where they stand.

    Attributes
    ----------
    count : int
        Active columns of the face where the last walk ended; -1 where it is of no use.
    begun : int
        Those of the face where the next walk begins; -1 where it is to be made.
    """

    def __init__(self) -> None:
        self.count = self.begun = -1
        self._L = np.empty((0, 0))
        self._active, self._slopes = np.empty(0, dtype=np.int64), np.empty(0)

    def arrays(self, most: int, p: int) -> GramFace:
        """Room for `most` active columns among p; a new size forgets the face."""
        if len(self._active) != most:
            self._L = np.zeros((most, most))
            self._active, self._slopes = np.zeros(most, dtype=np.int64), np.zeros(most)
            self.begun = -1
        return GramFace(
            self._L,
            self._active,
            self._slopes,
            np.zeros(most),
            np.zeros(most),
            np.empty(p),
            np.empty(p),
            np.empty(p, dtype=bool),
            np.empty(p),
        )


class KnotWalk:
    """A place on the path of one response on one row set, and the way down from there.

    The walk only proposes: it knows the columns that the Gram matrix holds, and those to the
    precision of their Gram matrix.
    """

    def __init__(self, target: Target, gram: TrainingGram) -> None:
        self._target, self._gram = target, gram
        self._v = target.training.correlate(target.y)
        self._support, self._signs, self._level = NOBODY, np.empty(0), np.inf
        # The face where the last walk ended, and whether the place is still there.
        self._face = KeptFace()
        self._ended: Stretch | None = None

    @staticmethod
    def possible(target: Target) -> bool:
        """Whether every column has a penalty, so that the path starts at zero."""
        return len(target.free) == 0 and target.null > 0

    @property
    def level(self) -> float:
        """The lambda of the place; inf before the first step."""
        return self._level

    def find(self, penalties: FloatArray, squared: bool) -> Stretch:
        """Solutions for a leading part of decreasing penalties (a,); the place stays.

        Parameters
        ----------
        penalties : ndarray of shape (a,)
            Values of alpha, or of lambda where `squared`.
        squared : bool
        """
        columns = self._gram.columns
        rows = int(np.count_nonzero(self._target.training.weights))
        most = min(len(columns), rows, MOST_ACTIVE)
        out = blank_solutions(len(penalties), most)
        done, knots, ended = 0, 0, -1
        if most > 0 and len(self._support) <= most:
            arrays = self._face.arrays(most, len(columns))
            done, knots, ended = walk_gram(
                self._problem(squared),
                arrays,
                self._face.begun,
                self._gram.place[self._support],
                self._signs,
                self._level,
                penalties,
                out,
            )
        points = [
            (columns[out.indices[i, :count]], out.values[i, :count].copy())
            for i, count in enumerate(out.counts[:done].tolist())
        ]
        lambdas, squares, inner, worst, l1 = out.facts[:done].T
        stretch = Stretch(points, lambdas, squares, inner, worst, l1, knots)
        # Only a walk that came to its last penalty ends on the face of its last solution.
        whole = done == len(penalties)
        self._face.begun, self._ended = -1, stretch
        self._face.count = ended if whole else -1
        return stretch

    def _problem(self, squared: bool) -> GramProblem:
        columns = self._gram.columns
        return GramProblem(
            self._gram.buffer,
            self._v[columns],
            self._target.null**2,
            self._target.factor[columns] * spread_factors(columns),
            self._target.positive,
            squared,
        )

    def move_to(self, stretch: Stretch, number: int) -> None:
        """Go to one of the solutions of a stretch."""
        support, values = stretch.points[number]
        self._support, self._signs = support[values != 0], np.sign(values[values != 0])
        self._level = float(stretch.lambdas[number])
        there = stretch is self._ended and number == len(stretch) - 1
        # Coefficients that have just reached zero are still on the face, but not in the support.
        there = there and len(self._support) == self._face.count
        self._face.begun = self._face.count if there else -1
