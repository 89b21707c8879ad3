"""Every exception and warning that sketchlasso raises on purpose.

::

    SketchlassoError
    |-- InvalidInputError (also ValueError)   data, options or shapes that cannot be used
    |   +-- UnknownWordError                  a word that is not in the vocabulary
    |-- ClusterLostError (also RuntimeError)  the scheduler or all workers were lost
    |-- StoredFileError (also ValueError)     a file that is truncated, altered or foreign
    +-- MissingExtraError (also ImportError)  an optional dependency is not installed

    UserWarning
    |-- InaccurateWarning                     a result whose duality gap missed the tolerance
    |-- EmptyGridWarning                      a radius so large that w = 0 at every penalty
    |-- EmptyModelWarning                     a radius that keeps every feature out of a fit
    |-- DeviceWarning                         no GPU where one was requested
    |-- DuplicateColumnWarning                two columns that are equal up to sign and scale
    |-- FewTreatedWarning                     a treatment that hardly any row has
    |-- ScaleWarning                          one penalty for columns of very different scales
    +-- GridEdgeWarning                       the best penalty lies at an end of the grid

Non-convergence is a status of the solution, never an exception.
"""

from __future__ import annotations

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
    "StoredFileError",
    "UnknownWordError",
]


class SketchlassoError(Exception):
    """Root of the exceptions raised by sketchlasso."""


class InvalidInputError(SketchlassoError, ValueError):
    """The input cannot be used; the message states what was given, what is accepted, what to do."""


class UnknownWordError(InvalidInputError):
    """A word that the vocabulary does not have.

    Attributes
    ----------
    word : str
    suggestions : tuple of str
        Words of the vocabulary that look like it; none for a stop word.
    stop_word : bool
        Whether it was left out as a stop word.
    """

    def __init__(
        self, word: str, suggestions: tuple[str, ...] = (), stop_word: bool = False
    ) -> None:
        self.word, self.suggestions, self.stop_word = word, suggestions, stop_word
        if stop_word:
            super().__init__(
                f"{word!r} is a stop word, and stop words are left out of the vocabulary; ask for "
                "another word, or fit again with other stop words."
            )
            return
        hint = f"did you mean {', '.join(suggestions)}?" if suggestions else "ask for another one."
        super().__init__(f"the word {word!r} is not in the vocabulary; {hint}")

    def __reduce__(self) -> tuple[type[UnknownWordError], tuple[str, tuple[str, ...], bool]]:
        return UnknownWordError, (self.word, self.suggestions, self.stop_word)


class StoredFileError(SketchlassoError, ValueError):
    """A stored file cannot be trusted or understood."""


class ClusterLostError(SketchlassoError, RuntimeError):
    """The scheduler of a cluster or all its workers are gone; what was written is kept."""


class MissingExtraError(SketchlassoError, ImportError):
    """An optional dependency is missing; the message holds the install command."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package '{package}', which is not installed; "
            f"install it with: pip install 'sketchlasso[{extra}]'"
        )


class InaccurateWarning(UserWarning):
    """Some instances stopped with a duality gap above the requested tolerance."""


class EmptyGridWarning(UserWarning):
    """A radius makes w = 0 optimal at every penalty, so its part of the grid is empty."""


class GridEdgeWarning(UserWarning):
    """The best penalty lies at an end of the grid, so a better one may lie beyond."""


class EmptyModelWarning(UserWarning):
    """A sketch's radius leaves no feature where the full problem chooses some."""


class DeviceWarning(UserWarning):
    """A GPU was requested but cannot be used, so the CPU does the work."""


class DuplicateColumnWarning(UserWarning):
    """Two columns are equal up to sign and scale, so that either may replace the other."""


class FewTreatedWarning(UserWarning):
    """A treatment varies in so few rows that the error of its effect cannot be trusted."""


class ScaleWarning(UserWarning):
    """One penalty is used for columns of very different scales, so that small ones are lost."""
