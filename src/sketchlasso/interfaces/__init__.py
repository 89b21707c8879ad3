"""Interfaces for people: command line, plots, pages. They use public names only."""

import re
from typing import Any, TypeAlias

import sketchlasso as sl

__all__ = [
    "COLOURS",
    "GREY",
    "Model",
    "Search",
    "as_drawn",
    "class_signs",
    "colour_of",
    "marker_of",
    "visible",
]

# The estimators that commands and plots take.
Model: TypeAlias = (
    "sl.SqrtLasso | sl.SqrtLassoCV | sl.SqrtLassoClassifier | sl.SqrtLassoClassifierCV"
)
# With a penalty chosen by cross-validation.
Search: TypeAlias = "sl.SqrtLassoCV | sl.SqrtLassoClassifierCV"
# One key for groups in the explorer, in exports and in plots: eight colours that colour-blind
# readers can distinguish, after Okabe and Ito, each in five shapes; grey for words of no group.
COLOURS = ("#0072b2", "#d55e00", "#007f5c", "#b0568a", "#9a6a00", "#2f8fc4", "#5b5bb0", "#7c7c34")
MARKERS = ("o", "s", "^", "D", "P")
GREY = "#8a9299"
# Controls of terminals, separators of lines, changes of direction, and halves of characters.
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def colour_of(group: int) -> str:
    """Return the colour of a group, counted from 0; -1 is none."""
    return GREY if group < 0 else COLOURS[group % len(COLOURS)]


def marker_of(group: int) -> str:
    """Return the shape of a group, as Matplotlib names it."""
    return MARKERS[max(group, 0) // len(COLOURS) % len(MARKERS)]


def class_signs(y: Any, classes: Any) -> Any:
    """Return the responses of a classifier: +1 for its class and -1 for the others.

    Shape (m,) for the second of two classes, and (m, t) for t classes, one column each.
    """
    import numpy as np  # help pages of the command line do not need it

    return np.where(y == classes[1] if len(classes) == 2 else y[:, None] == classes, 1.0, -1.0)


def visible(text: str, keep: str = "") -> str:
    r"""Return text with control characters as escapes, except those in `keep`.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return HIDDEN.sub(
        lambda hit: hit[0] if hit[0] in keep else hit[0].encode("unicode_escape").decode(), text
    )


def as_drawn(text: str) -> str:
    r"""Return text for Matplotlib, which takes what is between two dollars for a formula.

    >>> as_drawn("cost in $ per $")
    'cost in \\$ per \\$'
    """
    return visible(text).replace("$", r"\$")
