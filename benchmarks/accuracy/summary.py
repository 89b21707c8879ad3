"""Cells of several splits brought together: means, spreads and paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.tasks import TASKS

Cell = dict[str, Any]
ALLOWED_LOSS = 0.002
ALLOWED_LOSS_AT_EQUAL_SIZE = 0.005


@dataclass(frozen=True, eq=False)
class Summary:
    """One column on one set, over its splits.

    Attributes
    ----------
    done : list of cells that have a score, in the order of their splits
    failures : list of str
        Why others have none.
    """

    task: str
    column: str
    done: list[Cell]
    failures: list[str]

    def mean(self, field: str) -> float:
        """Mean of a number over the splits."""
        values = [cell[field] for cell in self.done if cell[field] is not None]
        return float(np.mean(values)) if values else np.nan

    @property
    def spread(self) -> float:
        """Standard deviation of the score over the splits; NaN of a single one."""
        scores = [cell["score"] for cell in self.done]
        return float(np.std(scores, ddof=1)) if len(scores) > 1 else np.nan


@dataclass(frozen=True)
class Verdict:
    """A column against the full model on one set, split by split; means over the splits.

    `at_equal_size` is the column's score where its path has as many non-zeros as the full model
    chose, and `clamped` says that its path does not reach that number on some split.
    """

    task: str
    metric: str
    splits: int
    full: float
    ours: float
    difference: float
    spread: float
    full_nonzeros: float
    ours_nonzeros: float
    at_equal_size: float
    clamped: bool

    @property
    def has_path(self) -> bool:
        """Whether there is anything to compare at equal size."""
        return bool(np.isfinite(self.at_equal_size))

    @property
    def difference_at_equal_size(self) -> float:
        return self.at_equal_size - self.full

    @property
    def passes(self) -> bool:
        return self.difference >= -ALLOWED_LOSS

    @property
    def passes_at_equal_size(self) -> bool:
        return self.difference_at_equal_size >= -ALLOWED_LOSS_AT_EQUAL_SIZE


def summaries(cells: list[Cell]) -> dict[tuple[str, str], Summary]:
    """Every (set, column) that has cells, sets in the order of the registry."""
    order = {name: place for place, name in enumerate(TASKS)}
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda c: (order.get(c["task"], len(order)), c["split"])):
        grouped.setdefault((cell["task"], cell["column"]), []).append(cell)
    return {
        key: Summary(
            *key,
            [cell for cell in group if not cell["failure"]],
            list(dict.fromkeys(cell["failure"] for cell in group if cell["failure"])),
        )
        for key, group in grouped.items()
    }


def verdict(full: Summary, ours: Summary) -> Verdict | None:
    """The comparison on the splits that both have, or None without any."""
    theirs = {cell["split"]: cell for cell in full.done}
    pairs = [(theirs[cell["split"]], cell) for cell in ours.done if cell["split"] in theirs]
    if not pairs:
        return None
    differences = [mine["score"] - other["score"] for other, mine in pairs]
    equal = [score_at_size_of(other, mine) for other, mine in pairs]
    return Verdict(
        task=full.task,
        metric=pairs[0][0]["metric"],
        splits=len(pairs),
        full=float(np.mean([other["score"] for other, _ in pairs])),
        ours=float(np.mean([mine["score"] for _, mine in pairs])),
        difference=float(np.mean(differences)),
        spread=float(np.std(differences, ddof=1)) if len(pairs) > 1 else np.nan,
        full_nonzeros=float(np.mean([other["nonzeros"] for other, _ in pairs])),
        ours_nonzeros=float(np.mean([mine["nonzeros"] for _, mine in pairs])),
        at_equal_size=float(np.mean([score for score, _ in equal])),
        clamped=any(clamped for _, clamped in equal),
    )


def score_at_size_of(full: Cell, ours: Cell) -> tuple[float, bool]:
    """Score of ours where it has as many non-zeros as the full model, label by label if apart."""
    if not ours["label_curves"]:
        return score_at(ours["curve"], full["nonzeros"])
    found = [
        score_at(curve, count)
        for curve, count in zip(ours["label_curves"], full["label_nonzeros"], strict=True)
    ]
    return float(np.mean([score for score, _ in found])), any(clamped for _, clamped in found)


def score_at(curve: list[list[float]], nonzeros: float) -> tuple[float, bool]:
    """Score where a path has that many non-zeros, and whether its end had to do.

    Linear in the logarithm of the non-zeros between the two nearest points of the path.
    """
    points = sorted((count, score) for _, count, score in curve if count > 0)
    if not points:
        return np.nan, True
    counts, scores = np.array(points).T
    clamped = not counts[0] <= nonzeros <= counts[-1]
    found = np.interp(np.log(max(nonzeros, 1e-9)), np.log(counts), scores)
    return float(found), bool(clamped)


def label_differences(full: Summary, ours: Summary) -> np.ndarray:
    """Mean over common splits of ours minus full, label by label; empty without any."""
    theirs = {cell["split"]: cell for cell in full.done}
    rows = [
        np.subtract(cell["label_scores"], theirs[cell["split"]]["label_scores"])
        for cell in ours.done
        if cell["split"] in theirs
    ]
    return np.mean(rows, axis=0) if rows else np.empty(0)
