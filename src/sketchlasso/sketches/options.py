"""Options of the sketching methods, and the sentences that refuse bad ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.types import is_number, is_whole

Axis: TypeAlias = Literal["rows", "columns"]
Weights: TypeAlias = Literal["length", "leverage"]
Distribution: TypeAlias = Literal["gaussian", "sparse"]

RadiusName: TypeAlias = Literal["spectral", "frobenius", "realised"]

RADIUS_NAMES = get_args(RadiusName)


class _DefaultRank(int):
    """The default, which the user did not choose: it may shrink to fit a small matrix."""


DEFAULT_RANK = _DefaultRank(50)


@dataclass(frozen=True)
class SketchOptions:
    """Options beyond rank and method; None leaves the choice to the method."""

    n_iter: int | None = None
    oversampling: int | None = None
    axis: Axis | None = None
    weights: Weights | None = None
    distribution: Distribution | None = None
    response_rank: int | None = None

    def extra_columns(self, default: int) -> int:
        """Return the number of columns beyond the rank."""
        return default if self.oversampling is None else self.oversampling


def checked_options(options: SketchOptions, method: str, accepted: Collection[str]) -> None:
    """Refuse options that the method does not use, and invalid values."""
    for name, value in vars(options).items():
        if value is not None and name not in accepted:
            usable = f"only {_listed(sorted(accepted))}" if accepted else "no option"
            raise InvalidInputError(
                f"{name}={value!r} was given, but method={method!r} accepts {usable}; leave {name} "
                "out."
            )
    check_integer("n_iter", options.n_iter, 1)
    check_integer("oversampling", options.oversampling, 0)
    check_integer("response_rank", options.response_rank, 1)
    _check_name("axis", options.axis, get_args(Axis))
    _check_name("weights", options.weights, get_args(Weights))
    _check_name("distribution", options.distribution, get_args(Distribution))


def checked_rank(rank: object, shape: tuple[int, int], *, full: bool) -> int:
    """Return the rank; the default shrinks to fit, or is the largest possible if `full`."""
    largest = min(shape)
    if isinstance(rank, _DefaultRank):
        return largest if full else min(int(rank), largest)
    if not is_whole(rank) or not 1 <= int(rank) <= largest:
        accepted = f"an integer from 1 to {largest} for X of shape {shape}"
        raise unaccepted("rank", rank, accepted)
    return int(rank)


def checked_tolerance(tol: object, radius: object, method: str) -> float | None:
    """Return the relative tolerance on the radius, or None."""
    if tol is None:
        return None
    if method == "response":
        raise InvalidInputError(
            f"tol={tol!r} cannot be combined with method='response', whose directions are not "
            "ordered by their singular values; choose the rank by number, or another method."
        )
    if not is_number(tol) or not 0 < float(tol) < 1:
        raise unaccepted(
            "tol",
            tol,
            "a number above 0 and below 1, the share of ||X|| that the radius may reach",
        )
    if radius != "spectral":
        raise InvalidInputError(
            f"tol={tol!r} cannot be combined with radius={radius!r}, because a tolerance is kept "
            "on the spectral radius only; pass radius='spectral' or leave tol out."
        )
    return float(tol)


def checked_radius(radius: object) -> float | str:
    """Return the radius as a number or one of the names."""
    if isinstance(radius, str):
        if radius in RADIUS_NAMES:
            return radius
    elif is_number(radius) and 0 <= float(radius) < np.inf:
        return float(radius)
    names = ", ".join(map(repr, RADIUS_NAMES))
    raise unaccepted("radius", radius, f"{names} or a finite number >= 0")


def check_integer(name: str, value: object, smallest: int) -> None:
    """Refuse an option that is neither None nor an integer of at least `smallest`."""
    if value is None or (is_whole(value) and int(value) >= smallest):
        return
    raise unaccepted(name, value, f"an integer >= {smallest}")


def _check_name(name: str, value: object, accepted: tuple[Any, ...]) -> None:
    if value is not None and value not in accepted:
        raise unaccepted(name, value, _listed(accepted))


def _listed(names: Collection[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
