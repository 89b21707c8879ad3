"""Names of the columns, and the contender behind each.

full, lassocv, celer, ceiling (ridge or svm), and sketches:
paper-K is the paper's sketch of rank K with the spectral radius; ours-K the response-aware one
with the best of four multiples of the realised radius, by the same cross-validation;
svd-K-POLICY and ours-K-POLICY have another radius, where POLICY is spectral, realised, a
multiple such as 0.3*spectral, or grid, those four multiples.
"""

from __future__ import annotations

import re
from functools import partial

from benchmarks.accuracy.check import check_full
from benchmarks.accuracy.fitted import Contender
from benchmarks.accuracy.peers import ceiling, celer_lasso, lasso_cv, ridge, svm
from benchmarks.accuracy.sketched import Recipe, full, sketched

PLAIN: dict[str, Contender] = {
    "full": full,
    "lassocv": lasso_cv,
    "celer": celer_lasso,
    "ceiling": ceiling,
    "ridge": ridge,
    "svm": svm,
    "full-check": check_full,
}
MAIN = (
    "full",
    "ours-50",
    "paper-50",
    "ours-10",
    "paper-10",
    "ours-200",
    "paper-200",
    "ceiling",
    "celer",
    "lassocv",
)
POLICIES = (
    "ours-50-spectral",
    "ours-50-0.3*spectral",
    "ours-50-0.1*spectral",
    "ours-50-realised",
    "svd-50-realised",
)
# Several columns under one name, for --columns.
GROUPS = {"main": MAIN, "policies": POLICIES, "checks": ("full-check",)}
GRID = ("0.1*realised", "0.3*realised", "realised", "3*realised")

_SKETCHED = re.compile(r"(paper|svd|ours)-([1-9]\d*)(?:-(.+))?")
_POLICY = re.compile(r"(?:\d*\.?\d+\*)?(?:spectral|realised)|grid")


class UnknownColumnError(Exception):
    """An unknown column; the message is one sentence for the user."""


def expand(names: list[str]) -> list[str]:
    """Columns of the named groups and columns, each once, in the order given."""
    columns = [column for name in names for column in GROUPS.get(name, (name,))]
    for column in columns:
        contender_of(column)
    return list(dict.fromkeys(columns))


def contender_of(column: str) -> Contender:
    """The function behind a column."""
    return PLAIN[column] if column in PLAIN else partial(sketched, recipe_of(column))


def recipe_of(column: str) -> Recipe:
    """Rank, kind of sketch and radii from a name such as ours-50-0.3*spectral."""
    found = _SKETCHED.fullmatch(column)
    kind, rank, policy = found.groups() if found else ("", "0", None)
    policy = policy or {"paper": "spectral", "ours": "grid"}.get(kind, "")
    if not _POLICY.fullmatch(policy) or (kind == "paper" and column.count("-") > 1):
        raise UnknownColumnError(
            f"{column} is not a column; choose {', '.join(PLAIN)}, paper-K, ours-K, "
            "ours-K-POLICY, svd-K-POLICY, or main, policies, checks."
        )
    return Recipe(int(rank), kind == "ours", GRID if policy == "grid" else (policy,))
