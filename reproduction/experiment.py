"""An experiment, written up: findings, tables and pictures.

An experiment is a module with a ``TITLE`` and a function ``run(plan, say)`` that returns a
:class:`Section`. What the paper says is in ``paper_figures.py`` under the module's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Results: TypeAlias = dict[str, Any]
Say: TypeAlias = Callable[[str], None]
Verdict: TypeAlias = Literal[
    "reproduced", "better", "not reproduced", "beyond the paper", "not judged"
]


@dataclass(frozen=True)
class Plan:
    """How much to do.

    Attributes
    ----------
    quick : bool
        Generated and bundled data only.
    budget : float
        Seconds that one contender may take on one data set.
    rows : int or None
        At most so many rows of every real data set: a look at what the full run will do.
    """

    quick: bool = False
    budget: float = 45.0
    rows: int | None = None


@dataclass(frozen=True)
class Finding:
    """One line of the summary: a claim, the paper's figure and ours, and what we found.

    A claim about `timing` is not judged in the quick form, where data are too small for it.
    """

    claim: str
    paper: str
    ours: str
    verdict: Verdict
    why: str
    timing: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Picture:
    """A drawn figure: SVG for light pages and for dark ones."""

    light: str
    dark: str
    caption: str


@dataclass(frozen=True)
class Section:
    """All that the report says about an experiment.

    Attributes
    ----------
    protocol, differs : str
        What was done, and what is not as in the paper and why.
    findings : list of Finding
    tables : list of Sheet
    pictures : list of Picture
    results : list of dict
        The measurements behind the text, with all their digits.
    """

    protocol: str
    differs: str
    findings: list[Finding]
    tables: list[Sheet]
    pictures: list[Picture] = field(default_factory=list)
    results: list[Results] = field(default_factory=list)


def judged(better: bool, reproduced: bool = False) -> Verdict:
    """Return the verdict on a claim that can be surpassed."""
    return "better" if better else "reproduced" if reproduced else "not reproduced"
