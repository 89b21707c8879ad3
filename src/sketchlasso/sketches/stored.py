"""What a stored sketch must be before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from numpy.typing import NDArray

from sketchlasso.sketches.radius import RadiusKind
from sketchlasso.storage.door import UnfitError, check_facts, check_numbers

__all__ = ["check_stored_sketch"]

FACTS: dict[str, tuple[type, ...]] = {
    "radius": (float, int),
    "radius_kind": (str,),
    "radius_failure_probability": (float, int, type(None)),
    "method": (str,),
    "seed": (int, type(None)),
    "fingerprint": (str, type(None)),
    "response_rank": (int,),
    "cost": (dict,),
}
COST: dict[str, tuple[type, ...]] = {
    "passes": (int,),
    "products": (int,),
    "seconds": (float, int),
}


def check_stored_sketch(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse facts and arrays that do not make a sketch.

    Parameters
    ----------
    header : mapping
        The scalar attributes of a sketch, and its cost.
    arrays : mapping of str to ndarray
        P (n, r), Q (m, r), singular_values (r,) and, where present, column_means (n,) and
        column_scales (n,).

    Raises
    ------
    UnfitError, KeyError
    """
    check_facts(header, FACTS)
    check_facts(header["cost"], COST)
    P, Q = arrays["P"], arrays["Q"]
    if P.ndim != 2 or Q.ndim != 2 or P.shape[1] != Q.shape[1] or 0 in (*P.shape, *Q.shape):
        raise UnfitError(f"P has the shape {P.shape} and Q the shape {Q.shape}")
    n, rank = P.shape
    expected = {"singular_values": (rank,), "column_means": (n,), "column_scales": (n,)}
    for name, array in arrays.items():
        if array.shape != expected.get(name, array.shape):
            raise UnfitError(f"{name} has the shape {array.shape}, not {expected[name]}")
        check_numbers(array, name)
    if header["radius"] < 0 or header["radius_kind"] not in get_args(RadiusKind):
        raise UnfitError(f"the radius is {header['radius']}, {header['radius_kind']!r}")
    if not 0 <= header["response_rank"] <= rank:
        raise UnfitError(f"{header['response_rank']} of {rank} directions are of the response")
    if header["seed"] is not None and header["seed"] < 0:
        raise UnfitError(f"the seed is {header['seed']}")
