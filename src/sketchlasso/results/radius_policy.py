"""The radius of an instance: a number, or a rule that finds one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.sketches import Sketch

RadiusLike: TypeAlias = "float | str | RadiusPolicy"


@dataclass(frozen=True)
class RadiusPolicy:
    """A rule for the radius.

    ``given``
        The number `factor`; 0 is the non-robust model.
    ``spectral``
        `factor` times a bound on ||X - QP'||_2. With a factor of 1 the objective is never below
        the full one: the paper's guarantee.
    ``realised``
        `factor` times ||(X - QP')w|| / ||w|| at the instance's own solution w, a fixed point.

    Attributes
    ----------
    kind : {"given", "spectral", "realised"}
    factor : float
    """

    kind: Literal["given", "spectral", "realised"]
    factor: float = 1.0

    def __str__(self) -> str:
        if self.kind == "given":
            return f"{self.factor:g}"
        return self.kind if self.factor == 1.0 else f"{self.factor:g}*{self.kind}"

    @classmethod
    def parse(cls, value: RadiusLike) -> RadiusPolicy:
        """Read ``0.5``, ``"spectral"``, ``"realised"``, ``"0.3*spectral"``, ``"2*realised"``."""
        if isinstance(value, RadiusPolicy):
            return value
        try:
            if not isinstance(value, str):
                return cls._checked("given", float(value))
            factor, star, name = value.replace(" ", "").rpartition("*")
            if name == "spectral":
                return cls._checked("spectral", float(factor) if star else 1.0)
            if name == "realised":
                return cls._checked("realised", float(factor) if star else 1.0)
            return cls._checked("given", float(value))
        except (TypeError, ValueError):
            raise unaccepted(
                "radius",
                value,
                "a number >= 0, 'spectral', 'realised' or a multiple such as '0.3*spectral'",
            ) from None

    @classmethod
    def _checked(
        cls, kind: Literal["given", "spectral", "realised"], factor: float
    ) -> RadiusPolicy:
        if not 0 <= factor < np.inf:
            raise ValueError(factor)
        return cls(kind, factor)


# Multiples of the realised radius that cross-validation chooses from: text likes more of the
# ridge that the robust term is, tall data less; docs/accuracy.md has the table.
SEARCHED = (0.1, 0.3, 1.0, 3.0)


def given_radius(radius: RadiusLike | Sequence[RadiusLike] | None) -> float:
    """The radius of a problem without a sketch, one number; 0 by default."""
    if radius is None:
        return 0.0
    policies = radius_policies(radius, None)
    if len(policies) != 1 or policies[0].kind != "given":
        raise unaccepted("radius", radius, "one number >= 0 where sketch=None")
    return policies[0].factor


def radius_policies(
    radii: RadiusLike | Sequence[RadiusLike] | None, sketch: Sketch | None, *, search: bool = False
) -> tuple[RadiusPolicy, ...]:
    """Return the policies asked for.

    By default the number the sketch was given, or realised; multiples of it to `search` from.
    """
    if sketch is not None and not isinstance(sketch, Sketch):
        raise InvalidInputError(
            f"sketch={repr(sketch)[:60]} was given, but a Sketch is needed; make one with "
            "sketch(X, method=...), or pass None where the full problem will do."
        )
    if radii is None:
        if sketch is not None and sketch.radius_kind == "given":
            return (RadiusPolicy("given", sketch.radius),)
        if search and (sketch is None or sketch.radius > 0):
            return tuple(RadiusPolicy("realised", factor) for factor in SEARCHED)
        return (RadiusPolicy("realised"),)
    one = isinstance(radii, str | RadiusPolicy) or not isinstance(radii, Sequence | np.ndarray)
    wanted: list[Any] = [radii] if one else list(cast(Sequence[RadiusLike], radii))
    if not wanted:
        raise InvalidInputError("radii is empty; give at least one radius, or leave it out.")
    return tuple(RadiusPolicy.parse(value) for value in wanted)
