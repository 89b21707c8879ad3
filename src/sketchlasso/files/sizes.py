"""Amounts of memory as people write them."""

from __future__ import annotations

import re

from sketchlasso.errors import Argument, InvalidInputError

__all__ = ["bytes_of"]

UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
    **{letter: 1000**power for power, letter in enumerate("kmgt", start=1)},
}
WRITTEN = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", re.IGNORECASE)


def bytes_of(memory: int | str) -> int:
    """Return an amount of memory in bytes.

    Parameters
    ----------
    memory : int or str
        Bytes, or a number with a unit such as ``"500MB"`` or ``"2 GiB"``.

    Examples
    --------
    >>> bytes_of("1.5 GB"), bytes_of("2KiB")
    (1500000000, 2048)
    """
    found = WRITTEN.fullmatch(str(memory)) if not isinstance(memory, bool) else None
    unit = None if found is None else UNITS.get(found[2].lower())
    amount = 0 if found is None or unit is None else int(float(found[1]) * unit)
    if amount < 1:
        raise InvalidInputError(
            Argument("memory", memory),
            " was given, but a positive number of bytes is accepted, also with a unit; pass for "
            "example '500MB' or '2GB'.",
        )
    return amount
