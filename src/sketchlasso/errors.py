"""Every exception and warning that sketchlasso raises on purpose.

::

    SketchlassoError
    |-- InvalidInputError (also ValueError)   data, options or shapes that cannot be used
    |   |-- UnknownWordError                  a word that is not in the vocabulary
    |   +-- UnusableColumnsError              columns of X that have to be left out
    |-- ClusterLostError (also RuntimeError)  the scheduler or all workers were lost
    |-- StoredFileError (also ValueError)     a file that is damaged, foreign or cannot be written
    +-- MissingExtraError (also ImportError)  an optional dependency is not installed

    SketchlassoWarning (also UserWarning)
    |-- InaccurateWarning                     a result whose duality gap missed the tolerance
    |-- EmptyGridWarning                      a radius so large that w = 0 at every penalty
    |-- EmptyModelWarning                     a fit without a feature
    |-- DeviceWarning                         no GPU where one was requested
    |-- DuplicateColumnWarning                two columns that are equal up to sign and scale
    |-- UncertainIntervalWarning              intervals that may not cover as often as they say
    |-- FewTreatedWarning                     a treatment that hardly any row has
    |-- ScaleWarning                          one penalty for columns of very different scales
    +-- GridEdgeWarning                       the best penalty lies at an end of the grid

Non-convergence is a status of the solution, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = [
    "ClusterLostError",
    "DeviceWarning",
    "DuplicateColumnWarning",
    "EmptyGridWarning",
    "EmptyModelWarning",
    "FewTreatedWarning",
    "GridEdgeWarning",
    "InaccurateWarning",
    "InvalidInputError",
    "MissingExtraError",
    "ScaleWarning",
    "SketchlassoError",
    "SketchlassoWarning",
    "StoredFileError",
    "UncertainIntervalWarning",
    "UnknownWordError",
    "UnusableColumnsError",
]


class SketchlassoError(Exception):
    """Root of the exceptions raised by sketchlasso."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception would call the class with `args`, but subclasses take other arguments.
        return _restored, (type(self), self.args), vars(self)


def _restored(kind: type[SketchlassoError], arguments: tuple[str, ...]) -> SketchlassoError:
    return kind.__new__(kind, *arguments)


class InvalidInputError(SketchlassoError, ValueError):
    """The input cannot be used; the message states what is accepted, what came, what to do.

    Attributes
    ----------
    column_names : tuple of str, or None
        All columns of a table of which some cannot be used.
    parameter : str or None
        The parameter that was refused, where it is one that names something.
    """

    column_names: tuple[str, ...] | None = None
    parameter: str | None = None


def unaccepted(name: str, value: object, accepted: str, remedy: str = "") -> InvalidInputError:
    """Return the error for a parameter that must be `accepted`, with a remedy if not obvious."""
    plain = value.item() if getattr(value, "shape", None) == () else value  # type: ignore[attr-defined]
    end = f"; {remedy}." if remedy else "."
    refused = InvalidInputError(f"{name} must be {accepted}, not {plain!r}{end}")
    refused.parameter = name
    return refused


class UnknownWordError(InvalidInputError):
    """A word that the vocabulary does not have.

    Attributes
    ----------
    word : str
    suggestions : tuple of str
        Words of the vocabulary that look like it; none for a stop word.
    stop_word : bool
        Whether it was left out as a stop word.
    parameter : str or None
        The parameter that names it, if it is not a word asked for.
    """

    def __init__(
        self,
        word: str,
        suggestions: tuple[str, ...] = (),
        stop_word: bool = False,
        parameter: str | None = None,
    ) -> None:
        word = str(word)  # not NumPy's kind of string, whose repr shows its type
        self.word, self.suggestions, self.stop_word = word, suggestions, stop_word
        self.parameter = parameter
        hint = f"did you mean {', '.join(suggestions)}?" if suggestions else ""
        if parameter is not None:
            why = "a stop word, and so not in" if stop_word else "not in"
            hint = hint or "leave it out."
            super().__init__(f"{parameter}={word!r} is {why} the vocabulary; {hint}")
        elif stop_word:
            super().__init__(
                f"{word!r} is a stop word, and stop words are left out of the vocabulary; ask for "
                "another word, or fit again with other stop words."
            )
        else:
            hint = hint or "ask for another one."
            super().__init__(f"the word {word!r} is not in the vocabulary; {hint}")


class UnusableColumnsError(InvalidInputError):
    """Columns of X that have to be left out.

    Attributes
    ----------
    columns : tuple of int
        Their positions.
    """

    def __init__(self, message: str, columns: Iterable[int]) -> None:
        super().__init__(message)
        self.columns = tuple(map(int, columns))


class StoredFileError(SketchlassoError, ValueError):
    """A stored file cannot be trusted or understood."""


class ClusterLostError(SketchlassoError, RuntimeError):
    """The scheduler of a cluster or all its workers are gone; what was written is kept."""


class MissingExtraError(SketchlassoError, ImportError):
    """An optional dependency is missing; the message holds the install command."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package '{package}', which is not installed; "
            f"install it with: pip install 'sketchlasso[{extra}]'",
        )


class SketchlassoWarning(UserWarning):
    """Root of the warnings issued by sketchlasso."""


class InaccurateWarning(SketchlassoWarning):
    """Some instances stopped with a duality gap above the requested tolerance."""


class EmptyGridWarning(SketchlassoWarning):
    """A radius makes w = 0 optimal at every penalty, so its part of the grid is empty."""


class GridEdgeWarning(SketchlassoWarning):
    """The best penalty lies at an end of the grid, so a better one may lie beyond."""


class EmptyModelWarning(SketchlassoWarning):
    """A model has no feature: because of its penalty, a sketch's radius or a constant response."""


class DeviceWarning(SketchlassoWarning):
    """A GPU was requested but cannot be used, so the CPU does the work."""


class DuplicateColumnWarning(SketchlassoWarning):
    """Two columns are equal up to sign and scale, so that either may replace the other."""


class UncertainIntervalWarning(SketchlassoWarning):
    """Confidence intervals may miss the true coefficients more often than their level says."""


class FewTreatedWarning(SketchlassoWarning):
    """A treatment varies in so few rows that the error of its effect cannot be trusted."""


class ScaleWarning(SketchlassoWarning):
    """One penalty is used for columns of very different scales, so that small ones are lost."""
