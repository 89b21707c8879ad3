"""What an experiment is: how it is computed, and how its results are written up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, TypeAlias

from benchmarks.report import format_cell

from reproduction.paper_figures import PAPER

# What a results file holds, as JSON has it.
Results: TypeAlias = dict[str, Any]
Report: TypeAlias = Callable[[str], None]
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
class Picture:
    """A figure that is not drawn yet: `draw` takes a Matplotlib figure of `size` in inches."""

    draw: Callable[[Any], None]
    size: tuple[float, float]
    caption: str


@dataclass(frozen=True)
class Sheet:
    """A table."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def cells(self) -> list[list[str]]:
        """Return the entries as text."""
        return [
            ["-" if value is None else format_cell("", value) for value in row] for row in self.rows
        ]


@dataclass(frozen=True)
class Experiment:
    """One table, figure or claim of the paper: a module with a TITLE and these functions.

    `compute` goes from settings to results. The functions that write take what is in the results
    file (``settings``, ``paper``, ``results``) and calculate nothing, so that every number they
    print stands in the file.
    """

    name: str  # also of the results file
    title: str
    paper: Results  # quoted: the claim, where it stands, and figures
    settings: Callable[[Plan], Results]
    compute: Callable[[Results, Report], Results]
    protocol: Callable[[Results], str]  # what was done
    differs: Callable[[Results], str]  # what is not as in the paper, and why
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
            getattr(module, "pictures", lambda stored: []),
            module.findings,
        )
