"""What an experiment is: how it is computed, and how its results are written up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, TypeAlias

from reproduction.paper_figures import PAPER
from sketchlasso.interfaces.commands.report import Sheet

__all__ = ["Experiment", "Finding", "Picture", "Plan", "Report", "Results", "Verdict"]

# What a results file holds, as JSON has it.
Results: TypeAlias = dict[str, Any]
Report: TypeAlias = Callable[[str], None]
Verdict: TypeAlias = Literal["reproduced", "better", "not reproduced", "beyond the paper"]


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
    """One line of the summary.

    Attributes
    ----------
    claim : str
        What the paper says, or what it leaves open.
    paper, ours : str
        Its figure and ours.
    verdict : {"reproduced", "better", "not reproduced", "beyond the paper"}
    why : str
        What we found, as a sentence.
    """

    claim: str
    paper: str
    ours: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Picture:
    """A figure that is not drawn yet.

    Attributes
    ----------
    draw : callable
        Draws on a Matplotlib figure.
    size : tuple of float
        Inches.
    caption : str
    """

    draw: Callable[[Any], None]
    size: tuple[float, float]
    caption: str


@dataclass(frozen=True)
class Experiment:
    """One table, figure or claim of the paper.

    The functions that write take what is in the results file: ``settings``, ``paper`` (what is
    quoted from the paper) and ``results``. They calculate nothing, so that every number they
    print stands in the file.
    A module is one: it has a ``TITLE`` and these functions, of which `pictures` may be missing.

    Attributes
    ----------
    name : str
        Also the name of the results file.
    title : str
    paper : dict
        Quoted: the ``claim``, ``where`` it stands, and figures.
    settings : callable
        From a plan to all that decides the results, as JSON.
    compute : callable
        From settings to results, as JSON.
    protocol, differs : callable
        What was done, and what is not as in the paper and why.
    tables : callable
    pictures : callable
    findings : callable
    """

    name: str
    title: str
    paper: Results
    settings: Callable[[Plan], Results]
    compute: Callable[[Results, Report], Results]
    protocol: Callable[[Results], str]
    differs: Callable[[Results], str]
    tables: Callable[[Results], list[Sheet]]
    pictures: Callable[[Results], list[Picture]]
    findings: Callable[[Results], list[Finding]]

    @classmethod
    def of(cls, module: ModuleType) -> Experiment:
        """Return the experiment that a module is, under the module's name."""
        name = module.__name__.rpartition(".")[2]
        return cls(
            name,
            module.TITLE,
            PAPER[name],
            module.settings,
            module.compute,
            module.protocol,
            module.differs,
            module.tables,
            getattr(module, "pictures", _nothing),
            module.findings,
        )


def _nothing(stored: Results) -> list[Picture]:
    """What an experiment without pictures shows."""
    return []
