"""Interfaces for people: command line, plots, pages. They use public names only."""

import re
from typing import Any, TypeAlias

import sketchlasso as sl

__all__ = [
    "Model",
    "Regressor",
    "Search",
    "as_drawn",
    "class_signs",
    "visible",
    "visible_in_json",
]

# The estimators that commands and plots take.
Regressor: TypeAlias = "sl.SqrtLasso | sl.SqrtLassoCV"
Model: TypeAlias = "Regressor | sl.SqrtLassoClassifier | sl.SqrtLassoClassifierCV"
# With a penalty chosen by cross-validation.
Search: TypeAlias = "sl.SqrtLassoCV | sl.SqrtLassoClassifierCV"
# Controls of terminals, separators of lines, changes of direction, and halves of characters.
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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

    def escaped(found: re.Match[str]) -> str:
        character = found[0]
        return character if character in keep else character.encode("unicode_escape").decode()

    return HIDDEN.sub(escaped, text)


def as_drawn(text: str) -> str:
    r"""Return text for Matplotlib, which takes what is between two dollars for a formula.

    >>> as_drawn("cost in $ per $")
    'cost in \\$ per \\$'
    """
    return visible(text).replace("$", r"\$")


def visible_in_json(document: str) -> str:
    r"""Return a JSON document with the control characters of its strings as ``\u`` escapes."""

    def escaped(found: re.Match[str]) -> str:
        # json.dumps has escaped all below a space; line breaks here separate entries.
        return found[0] if found[0] < " " else f"\\u{ord(found[0]):04x}"

    return HIDDEN.sub(escaped, document)
