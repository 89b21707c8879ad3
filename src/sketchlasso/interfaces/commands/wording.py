"""The library's sentences in the words of the command line: rank=0 is --rank 0 here."""

from __future__ import annotations

import re

__all__ = ["spoken"]

# Arguments of Python and the options that stand for them.
OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "alpha",
        "alpha_min_ratio",
        "alphas",
        "drop",
        "format",
        "method",
        "n_features",
        "positive",
        "radius",
        "rank",
        "scoring",
        "selection",
        "separator",
        "sketch",
        "solver",
        "standardize",
        "target",
        "tol",
        "vocabulary",
    )
} | {"metric": "--scoring", "radii": "--radius", "n_splits": "--folds"}
NAMED = re.compile(
    rf"\b({'|'.join(OPTIONS)})="
    r"(?:\['([^']*)'\]|\[([^\]']*)\]|'([^']*)'|(-?\w+(?:\.\w+)*(?:[+-]\d+)?))?(?:\.\.\.)?"
)


def spoken(message: str) -> str:
    """Return a message with options as they are typed.

    Parameters
    ----------
    message : str

    Examples
    --------
    >>> spoken("rank=0 was given; leave it out with drop=['garden'] or pass format=.")
    '--rank 0 was given; leave it out with --drop garden or pass --format.'
    """
    return NAMED.sub(_option, " ".join(message.split()))


def _option(found: re.Match[str]) -> str:
    name, *values = found.groups()
    value = next((one for one in values if one is not None), "")
    if value in ("", "True"):
        return OPTIONS[name]
    if value == "False":
        return f"--no-{OPTIONS[name].removeprefix('--')}"
    return f"{OPTIONS[name]} {value}"
