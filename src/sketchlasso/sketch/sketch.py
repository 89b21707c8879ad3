"""The sketch of a data matrix: an immutable record, saved and loaded whole."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.data import ColumnTransform, DataMatrix, MatrixLike
from sketchlasso.errors import StoredFileError
from sketchlasso.sketch.options import checked_radius
from sketchlasso.sketch.radius import RadiusKind
from sketchlasso.sketch.store import read_container, write_container
from sketchlasso.types import FloatArray, RealArray

__all__ = ["Sketch", "SketchCost", "load_sketch"]

SCALARS = ("radius", "radius_kind", "radius_failure_probability", "method", "seed", "fingerprint")
ARRAYS = ("P", "Q", "singular_values", "column_means", "column_scales")


@dataclass(frozen=True)
class SketchCost:
    """What a sketch cost to make.

    Attributes
    ----------
    passes : int
        Walks over X, those for means, scales and the radius included.
    products : int
        Columns that X or X' was multiplied with.
    seconds : float
    """

    passes: int = 0
    products: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Sketch:
    """A data matrix in two thin factors, A ~ Q P', and how far from it they are.

    A is X with its columns centred and scaled as asked; all arrays are read-only.

    Attributes
    ----------
    P : ndarray of shape (n_features, rank)
    Q : ndarray of shape (n_samples, rank)
        Orthonormal columns, except in a pair the user brought.
    radius : float
        Upper bound on ||A - QP'||, or the number that was given; the epsilon of the paper.
    radius_kind : {"spectral", "frobenius", "given"}
        Norm that the radius bounds.
    radius_failure_probability : float or None
        Probability that the radius falls short of the norm; 0 for certain, None when given.
    singular_values : ndarray of shape (rank,)
        Of Q P', largest first.
    method : str
    seed : int or None
        Passing it as ``random_state`` repeats the sketch.
    column_means, column_scales : ndarray of shape (n_features,) or None
        What centring subtracted and scaling divided by; None when not done.
    cost : SketchCost
    fingerprint : str or None
        Digest of X; None when the pair was brought without X.
    """

    P: RealArray
    Q: RealArray
    radius: float
    singular_values: RealArray
    method: str
    radius_kind: RadiusKind = "given"
    radius_failure_probability: float | None = None
    seed: int | None = None
    column_means: FloatArray | None = None
    column_scales: FloatArray | None = None
    cost: SketchCost = field(default_factory=SketchCost)
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        for name in ARRAYS:
            array = getattr(self, name)
            if array is not None:
                # Factors are read by rows; a copy also drops the wider array it was cut from,
                # and a view leaves the caller's own array writeable.
                array = np.ascontiguousarray(array).view()
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    def rank(self) -> int:
        """Number of columns of P and Q."""
        return len(self.singular_values)

    @property
    def n_samples(self) -> int:
        """Rows of X."""
        return len(self.Q)

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return len(self.P)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of X, (n_samples, n_features)."""
        return self.n_samples, self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of P and Q."""
        return self.P.dtype

    @property
    def transform(self) -> ColumnTransform:
        """Centring and scaling, with the way back for coefficients."""
        return ColumnTransform(self.column_means, self.column_scales)

    def with_radius(self, radius: float) -> Sketch:
        """Return the same factors with a radius of the user's choice."""
        return replace(
            self,
            radius=float(checked_radius(float(radius))),
            radius_kind="given",
            radius_failure_probability=None,
        )

    def matches(self, X: MatrixLike) -> bool:
        """Return whether X is, entry for entry and in the same storage, what was sketched."""
        return self.fingerprint is not None and DataMatrix.of(X).fingerprint() == self.fingerprint

    def summary(self) -> str:
        """Return a few lines on what was sketched, how, and how well."""
        m, n = self.shape
        done = [
            word
            for word, array in (("centred", self.column_means), ("scaled", self.column_scales))
            if array is not None
        ]
        columns = ", columns " + " and ".join(done) if done else ""
        return "\n".join(
            (
                f"Sketch of {m} samples x {n} features{columns}",
                f"  rank      {self.rank} ({self.method}, {self.dtype}, seed {self.seed})",
                f"  radius    {self.radius:.4g} ({self._radius_words()})",
                f"  largest   {self.singular_values[0]:.4g} (singular value of QP')",
                f"  cost      {self.cost.passes} passes over X, {self.cost.products} products, "
                f"{self.cost.seconds:.2f} s",
            )
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a file; :func:`load_sketch` reads it back.

        The container is described in :mod:`sketchlasso.sketch.store`. Its header holds
        ``content`` ("sketch"), the scalar attributes of this class under their own names,
        ``cost`` as a mapping, and its arrays are P, Q, singular_values and, where present,
        column_means and column_scales.

        Parameters
        ----------
        path : path-like
            Replaced if it exists; never left half-written.
        """
        header = {name: getattr(self, name) for name in SCALARS}
        arrays = {name: getattr(self, name) for name in ARRAYS}
        write_container(
            path,
            {"content": "sketch", **header, "cost": asdict(self.cost)},
            {name: array for name, array in arrays.items() if array is not None},
        )

    def __repr__(self) -> str:
        m, n = self.shape
        return (
            f"Sketch({m} x {n}, rank={self.rank}, method={self.method!r}, radius={self.radius:.4g})"
        )

    def _radius_words(self) -> str:
        if self.radius_failure_probability is None:
            return "given"
        odds = self.radius_failure_probability
        certainty = f", with probability 1 - {odds:.0e}" if odds else ""
        return f"at least the {self.radius_kind} norm of X - QP'{certainty}"


def load_sketch(path: str | os.PathLike[str]) -> Sketch:
    """Read a sketch that :meth:`Sketch.save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Sketch

    Raises
    ------
    StoredFileError
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    header, arrays = read_container(path)
    try:
        if header["content"] != "sketch":
            raise KeyError("content")
        _check_shapes(arrays)
        everything: dict[str, Any] = {name: header[name] for name in SCALARS} | arrays
        loaded = Sketch(**everything, cost=SketchCost(**header["cost"]))
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise StoredFileError(
            f"{path} holds no complete sketch; write it again with Sketch.save."
        ) from problem
    return loaded


def _check_shapes(arrays: dict[str, NDArray[Any]]) -> None:
    n, rank = arrays["P"].shape
    expected = {"singular_values": (rank,), "column_means": (n,), "column_scales": (n,)}
    if arrays["Q"].shape[1] != rank:
        raise ValueError("Q")
    for name, shape in expected.items():
        if name in arrays and arrays[name].shape != shape:
            raise ValueError(name)
