"""The sketch of a data matrix: an immutable record, its file and its checks."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from sketchlasso.data import (
    ColumnTransform,
    DataMatrix,
    ImplicitRows,
    MatrixLike,
    RowFactor,
    as_entries,
)
from sketchlasso.data.transform import unit_of
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.linalg.factor import psd_root
from sketchlasso.linalg.rows import read_only, rounding_of_sums
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.radius import (
    Radius,
    RadiusKind,
    RadiusName,
    realised_estimate,
    spectral_radius,
)
from sketchlasso.storage import Stored, reading, write_stored
from sketchlasso.types import FloatArray, RealArray, is_number

# Attributes that a file keeps: plain values by their type, with those that may be None, and arrays.
FACTS = {
    "radius": float,
    "radius_kind": str,
    "radius_failure_probability": float,
    "method": str,
    "seed": int,
    "fingerprint": str,
    "response_rank": int,
}
OPTIONAL = ("radius_failure_probability", "seed", "fingerprint")
ARRAYS = ("P", "Q", "singular_values", "column_means", "column_scales")


@dataclass(frozen=True)
class SketchCost:
    """Passes over X (also for means, scales and radius), columns multiplied with X or X', time."""

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
    Q : ndarray or ImplicitRows of shape (n_samples, rank)
        Orthonormal columns, except in a pair the user brought. For tall X in blocks Q = A W is
        known by W alone, and ``numpy.asarray(Q)`` collects its rows.
    radius : float
        The epsilon of the paper: upper bound on ||A - QP'||, the number that was given, or an
        estimate to start from.
    radius_kind : {"spectral", "frobenius", "realised", "given"}
        Norm that the radius bounds; or ``"realised"``, an estimate of ||(A - QP')w|| / ||w||
        that is made exact, instance by instance, when problems are solved.
    radius_failure_probability : float or None
        Probability that the radius falls short of the norm; None where it bounds none.
    singular_values : ndarray of shape (rank,)
        Of Q P', largest first.
    method : str
    seed : int or None
        Passing it as ``random_state`` repeats the sketch.
    column_means, column_scales : ndarray of shape (n_features,) or None
        What centring subtracted and scaling divided by.
    cost : SketchCost
    fingerprint : str or None
        Digest of X; None when the pair was brought without X.
    response_rank : int
        Trailing columns that were made from the response; functions that hold out rows remake
        them without these rows.
    """

    P: RealArray
    Q: RowFactor
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
    response_rank: int = 0

    def __post_init__(self) -> None:
        for name in ARRAYS:
            array = getattr(self, name)
            if array is not None and not isinstance(array, ImplicitRows):
                # By rows; a copy also drops the wider array it was cut from.
                object.__setattr__(self, name, read_only(np.ascontiguousarray(array)))

    @classmethod
    def made(
        cls,
        A: DataMatrix,
        factors: Factors,
        radius: Radius,
        method: str,
        seed: int,
        start: float,
        fingerprint: str | None,
    ) -> Sketch:
        """Return the sketch of A with these factors, begun at `start` of ``perf_counter``."""
        P = factors.P
        if A.transform.means is not None:
            # What rounding leaves of a constant column is no direction of a feature: the length of
            # what centring takes off the column, times its rounding.
            rounding = rounding_of_sums(A.shape[0], P.dtype.type) * A.column_shifts()
            constant = np.linalg.norm(P, axis=1) <= rounding
            P = np.where(constant[:, None], P.dtype.type(0), P) if constant.any() else P
        return cls(
            P,
            factors.Q,
            radius.value,
            factors.singular_values,
            method,
            radius_kind=radius.kind,
            radius_failure_probability=radius.failure_probability,
            seed=seed,
            column_means=A.transform.means,
            column_scales=A.transform.scales,
            cost=SketchCost(A.meter.passes, A.meter.products, perf_counter() - start),
            fingerprint=fingerprint,
            response_rank=factors.response_rank,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Sketch:
        # It is immutable, and scikit-learn's clone copies parameters deeply: without this,
        # estimators that share a sketch would each copy it.
        return self

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

    def view(self, X: MatrixLike) -> DataMatrix:
        """Return X of any number of rows, centred and scaled as the sketch is."""
        return DataMatrix.view(as_entries(X), self.transform)

    def with_radius(self, radius: float) -> Sketch:
        """Return the same factors with a radius of the user's choice."""
        size = float(checked_radius(float(radius)))
        return replace(self, radius=size, radius_kind="given", radius_failure_probability=None)

    def rescaled(self, unit: float, fingerprint: str | None = None) -> Sketch:
        """Return the sketch of X times `unit`, a power of two, with its digest."""
        means, scales = self.column_means, self.column_scales
        # Columns divided by their scales have no unit.
        factor = unit if scales is None else 1.0
        return replace(
            self,
            P=self.P * self.dtype.type(factor),
            radius=self.radius * factor,
            singular_values=self.singular_values * self.dtype.type(factor),
            column_means=None if means is None else means * unit,
            column_scales=None if scales is None else scales * unit,
            fingerprint=fingerprint,
        )

    def with_spectral_radius(self, X: MatrixLike) -> Sketch:
        """Return the same factors with a bound on ||A - QP'||_2, for X that was sketched."""
        if self.radius_kind == "spectral":
            return self
        bound = spectral_radius(self.view(X), self._factors, np.random.default_rng(self.seed))
        return replace(
            self,
            radius=bound.value,
            radius_kind=bound.kind,
            radius_failure_probability=bound.failure_probability,
        )

    def embed(self, X: MatrixLike) -> FloatArray:
        """Return the rows of Q (r, rank) that fit rows X (r, n) of the same features best.

        q minimises ||x - P q||, x centred and scaled as the sketch is.
        """
        A = self.view(X)
        # In units of P, whose squares might overflow or vanish.
        unit = unit_of(float(np.abs(self.P).max()))
        P = self.P.astype(np.float64) / unit
        _, inverse = psd_root(P.T @ P)
        product = A.matmat(P.astype(self.dtype)).astype(np.float64)
        return np.asarray(product @ (inverse.T @ inverse) / unit)

    def typical_error(self, A: DataMatrix) -> float:
        """Estimate ||(A - QP')w|| / ||w|| for w drawn at random; A as it was sketched."""
        if self.radius_kind == "realised":
            return self.radius
        if self.radius == 0 and self.radius_kind != "given":
            return 0.0
        return realised_estimate(A, self._factors).value

    @property
    def _factors(self) -> Factors:
        return Factors(self.Q, self.P, self.singular_values, projected=False)

    def matches(self, X: MatrixLike) -> bool:
        """Return whether X is the matrix that was sketched, however it is stored."""
        return self.fingerprint is not None and DataMatrix.of(X).fingerprint() == self.fingerprint

    def summary(self) -> str:
        """Return a few lines on shape, rank, radius and cost."""
        (m, n), rank = self.shape, str(self.rank)
        words = {"centred": self.column_means, "scaled": self.column_scales}
        done = " and ".join(word for word, array in words.items() if array is not None)
        if self.response_rank:
            rank = f"{self.rank - self.response_rank} + {self.response_rank} from the response"
        meaning = "given"
        if self.radius_kind == "realised":
            meaning = "estimate of the error that coefficients realise"
        elif self.radius_failure_probability is not None:
            odds = self.radius_failure_probability
            certainty = f", with probability 1 - {odds:.0e}" if odds else ""
            meaning = f"at least the {self.radius_kind} norm of X - QP'{certainty}"
        cost = self.cost
        return (
            f"Sketch of {m} samples x {n} feature{'' if n == 1 else 's'}"
            f"{', columns ' + done if done else ''}\n"
            f"  rank      {rank} ({self.method}, {self.dtype}, seed {self.seed})\n"
            f"  radius    {self.radius:.4g} ({meaning})\n"
            f"  largest   {self.singular_values[0]:.4g} (singular value of QP')\n"
            f"  cost      {cost.passes} passes over X, {cost.products} products, "
            f"{cost.seconds:.2f} s"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a file; :func:`load_sketch` reads it back.

        Parameters
        ----------
        path : path-like
            Replaced if it exists; never left half-written.
        """
        write_stored(path, "sketch", *self.packed())

    def packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what JSON can hold of the sketch, and its arrays; see :meth:`unpacked`."""
        facts = {name: getattr(self, name) for name in FACTS} | {"cost": asdict(self.cost)}
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return facts, {n: np.asarray(array) for n, array in arrays.items() if array is not None}

    @classmethod
    def unpacked(cls, stored: Stored) -> Sketch:
        """Return the sketch that :meth:`packed` took apart; what does not fit is ValueError."""
        facts: Any = {
            name: stored.fact(name, kind, name in OPTIONAL) for name, kind in FACTS.items()
        }
        P, spent = stored.array("P", (None, None)), stored.part("cost")
        n, rank = P.shape
        shapes = {"Q": (None, rank), "singular_values": (rank,)}
        shapes |= {name: (n,) for name in ARRAYS[3:] if name in stored.arrays}
        arrays: Any = {name: stored.array(name, shape) for name, shape in shapes.items()}
        if P.size * arrays["Q"].size == 0 or facts["radius_kind"] not in get_args(RadiusKind):
            raise ValueError("its shape or kind of radius is none of a sketch")
        if facts["radius"] < 0 or not 0 <= facts["response_rank"] <= rank:
            raise ValueError("its radius or rank is none of a sketch")
        cost = SketchCost(
            spent.fact("passes", int), spent.fact("products", int), spent.fact("seconds", float)
        )
        return cls(P, **arrays, **facts, cost=cost)

    def __repr__(self) -> str:
        m, n = self.shape
        return (
            f"Sketch({m} x {n}, rank={self.rank}, method={self.method!r}, radius={self.radius:.4g})"
        )


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
        The file is missing, damaged, foreign, or of another version.
    """
    with reading(path, "sketch") as stored:
        return Sketch.unpacked(stored)


def checked_radius(radius: object) -> float | str:
    """Return the radius as a number or one of the names."""
    names = get_args(RadiusName)
    if isinstance(radius, str):
        if radius in names:
            return radius
    elif is_number(radius) and 0 <= float(radius) < np.inf:
        return float(radius)
    raise unaccepted("radius", radius, f"{', '.join(map(repr, names))} or a finite number >= 0")


def check_sketch(sketch: object, remedy: str = "make one with sketch(X)") -> Sketch:
    """Return the sketch, or refuse anything else that was given in its place."""
    if not isinstance(sketch, Sketch):
        raise InvalidInputError(
            f"sketch is of type {type(sketch).__name__}, but a Sketch is needed; {remedy}, and "
            "check the order of the arguments."
        )
    return sketch


def check_sketch_shape(sketch: Sketch, shape: tuple[int, ...]) -> None:
    """Refuse a matrix of another shape than the one that was sketched."""
    if shape != sketch.shape:
        raise InvalidInputError(
            f"X has shape {shape}, but the sketch given is of a matrix of shape {sketch.shape}; "
            "pass the X that was sketched, or make a sketch of this one."
        )


def check_sketch_of(sketch: object, X: MatrixLike, Y: FloatArray | None = None) -> Sketch:
    """Return the sketch, or refuse one that was not made from X (m, n), however that is stored.

    A sketch made with a response is refused for responses Y (m, t) that it does not hold. Factors
    that the user brought without X cannot be checked.
    """
    own = check_sketch(sketch)
    A = DataMatrix.of(X)
    check_sketch_shape(own, A.shape)
    if own.fingerprint is not None and own.fingerprint != A.fingerprint():
        raise InvalidInputError(
            "the sketch given was made from other data than X, although both have shape "
            f"{A.shape}; pass the X that was sketched, or make a sketch of this one."
        )
    if own.response_rank and Y is not None:
        Q, centred = np.asarray(own.Q), Y - Y.mean(axis=0)
        outside = np.linalg.norm(centred - Q @ (Q.T @ centred), axis=0)
        if (outside > 1e-3 * np.linalg.norm(centred, axis=0)).any():
            raise InvalidInputError(
                "the sketch given was made with another response than y; make one with this y, or "
                "one without a response."
            )
    return own
