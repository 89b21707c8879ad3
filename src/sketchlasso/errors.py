"""Every exception and warning that sketchlasso raises on purpose.

::

    SketchlassoError
    |-- InvalidInputError (also ValueError)   data, options or shapes that cannot be used
    |   |-- UnknownWordError                  a word that is not in the vocabulary
    |   +-- UnusableColumnsError              columns of X that have to be left out
    |-- ClusterLostError (also RuntimeError)  the scheduler or all workers were lost
    |-- StoredFileError (also ValueError)     a file that is truncated, altered or foreign
    +-- MissingExtraError (also ImportError)  an optional dependency is not installed

    SketchlassoWarning (also UserWarning)
    |-- InaccurateWarning                     a result whose duality gap missed the tolerance
    |-- EmptyGridWarning                      a radius so large that w = 0 at every penalty
    |-- EmptyModelWarning                     a radius that keeps every feature out of a fit
    |-- DeviceWarning                         no GPU where one was requested
    |-- DuplicateColumnWarning                two columns that are equal up to sign and scale
    |-- UncertainIntervalWarning              intervals that may not cover as often as they say
    |-- FewTreatedWarning                     a treatment that hardly any row has
    |-- ScaleWarning                          one penalty for columns of very different scales
    +-- GridEdgeWarning                       the best penalty lies at an end of the grid

Non-convergence is a status of the solution, never an exception.

A message consists of parts: text, an :class:`Argument` where it names a parameter and its value,
and a :class:`Name` or a :class:`Value` where it names only one of them. ``str()`` joins them as
Python spells them, and the command line spells the same parts as its own options and commands::

    InvalidInputError(Name("rank"), " must be at least 1, not ", Value(0), ".")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Argument",
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
    "Name",
    "ScaleWarning",
    "SketchlassoError",
    "SketchlassoWarning",
    "StoredFileError",
    "UncertainIntervalWarning",
    "UnknownWordError",
    "UnusableColumnsError",
    "Value",
]


@dataclass(frozen=True)
class Argument:
    """A parameter in a message: ``rank=0`` with a value, ``rank=`` without one.

    Attributes
    ----------
    name : str
    value : object
        What was received, or what to pass; ``...`` for none.
    spec : str
        How the value is formatted, if not by `repr`.
    """

    name: str
    value: Any = ...
    spec: str = ""

    def __str__(self) -> str:
        if self.value is ...:
            return f"{self.name}="
        return f"{self.name}={format(self.value, self.spec) if self.spec else Value(self.value)}"


@dataclass(frozen=True)
class Value:
    """The value of a parameter, without its name, in a message."""

    value: Any

    def __str__(self) -> str:
        return repr(self.plain)

    @property
    def plain(self) -> Any:
        """The value, as a Python number or string where it is a NumPy scalar."""
        return self.value.item() if getattr(self.value, "shape", None) == () else self.value


@dataclass(frozen=True)
class Name:
    """A function, or a parameter without its value, in a message."""

    name: str

    def __str__(self) -> str:
        return self.name


Part = str | Argument | Name | Value


class _Message(Exception):
    """An error or a warning whose message consists of parts, in `args`."""

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    @property
    def parameter(self) -> str | None:
        """The parameter that was refused: the one that the message begins with."""
        first = self.args[0] if self.args else None
        return first.name if isinstance(first, Argument | Name) else None

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception would call the class with `args`, but subclasses take other arguments.
        return _restored, (type(self), self.args), vars(self)


def _restored(kind: type[_Message], parts: tuple[Part, ...]) -> _Message:
    return kind.__new__(kind, *parts)


class SketchlassoError(_Message):
    """Root of the exceptions raised by sketchlasso."""


class InvalidInputError(SketchlassoError, ValueError):
    """The input cannot be used; the message states what is accepted, what came, what to do.

    Attributes
    ----------
    column_names : tuple of str, or None
        All columns of a table of which some cannot be used.
    """

    column_names: tuple[str, ...] | None = None


def unaccepted(name: str, value: object, accepted: str, remedy: str = "") -> InvalidInputError:
    """Return the error for a parameter that must be `accepted`, with a remedy if not obvious."""
    return InvalidInputError(
        Name(name), f" must be {accepted}, not ", Value(value), f"; {remedy}." if remedy else "."
    )


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
        hint = f"did you mean {', '.join(suggestions)}?" if suggestions else ""
        if parameter is not None:
            why = "a stop word, and so not in" if stop_word else "not in"
            hint = hint or "leave it out."
            super().__init__(Argument(parameter, word), f" is {why} the vocabulary; {hint}")
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

    def __init__(self, feature: str | Argument, package: str, extra: str) -> None:
        super().__init__(
            feature,
            f" needs the package '{package}', which is not installed; "
            f"install it with: pip install 'sketchlasso[{extra}]'",
        )


class SketchlassoWarning(_Message, UserWarning):
    """Root of the warnings issued by sketchlasso."""


class InaccurateWarning(SketchlassoWarning):
    """Some instances stopped with a duality gap above the requested tolerance."""


class EmptyGridWarning(SketchlassoWarning):
    """A radius makes w = 0 optimal at every penalty, so its part of the grid is empty."""


class GridEdgeWarning(SketchlassoWarning):
    """The best penalty lies at an end of the grid, so a better one may lie beyond."""


class EmptyModelWarning(SketchlassoWarning):
    """A sketch's radius leaves no feature where the full problem chooses some."""


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
