"""Regressions in parts of the targets, each on disk before the next where a path is given."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Name
from sketchlasso.inference.column_problems import ColumnProblems, ColumnSolutions, slices
from sketchlasso.inference.nodewise import Nodewise, as_nodewise
from sketchlasso.solvers import Settings
from sketchlasso.storage.container import Content
from sketchlasso.storage.door import MISFITS, UnfitError, check_numbers
from sketchlasso.storage.parts import Parts
from sketchlasso.storage.sparse import checked_csr

__all__ = ["PartSolver", "part_solver"]

CONTENT = Content("network", Name("neighbourhoods"), Name("neighbourhoods"))
VECTORS = ("intercept", "residual_norm", "relative_gap", "status")


class PartSolver:
    """Solves one set of regressions after another, and finds finished parts again.

    Parameters
    ----------
    parts : Parts or None
    total : int
        Targets to come, over all sets.
    progress : callable or None
    """

    def __init__(
        self, parts: Parts | None, total: int, progress: Callable[[int, int], None] | None
    ) -> None:
        self._parts, self._total, self._progress = parts, total, progress
        self._done, self._number = 0, 0

    def solve(self, problems: ColumnProblems, settings: Settings) -> Nodewise:
        """Solve all regressions of a set that no finished part holds."""
        found = []
        for part in slices(len(problems.targets), problems.targets_per_part):
            rows = (part.stop - part.start) * problems.grid.shape[1]
            shape = (rows, problems.columns.n_features)
            solved = None if self._parts is None else _read(self._parts, self._number, shape)
            if solved is None:
                solved = problems.solve(part, settings)
                if self._parts is not None:
                    _write(self._parts, self._number, solved)
            found.append(solved)
            self._number += 1
            self._done += part.stop - part.start
            if self._progress is not None:
                self._progress(self._done, self._total)
        return as_nodewise(problems, found)


@contextmanager
def part_solver(
    path: str | os.PathLike[str] | None,
    decisive: tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]],
    total: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[PartSolver]:
    """Yield a solver whose finished parts lie beside a path until the block has ended.

    Parameters
    ----------
    path : path-like or None
    decisive : (mapping, mapping of str to ndarray)
        What decides the answer: settings that JSON can hold, and arrays.
    total : int
    progress : callable or None
    """
    if path is None:
        yield PartSolver(None, total, progress)
        return
    plain, arrays = decisive
    digests = {name: _digest(values) for name, values in arrays.items()}
    with Parts.beside(Path(path), {**plain, **digests}, CONTENT, "data set") as parts:
        yield PartSolver(parts, total, progress)


def _digest(values: NDArray[Any]) -> str:
    stored = np.ascontiguousarray(values)
    digest = hashlib.sha256(f"{stored.dtype} {stored.shape}".encode())
    digest.update(stored.tobytes())
    return digest.hexdigest()


def _write(parts: Parts, number: int, solved: ColumnSolutions) -> None:
    coef = solved.coef
    arrays: dict[str, NDArray[Any]] = {name: getattr(solved, name) for name in VECTORS}
    arrays |= {
        "data": coef.data,
        "indices": coef.indices.astype(np.int64),
        "indptr": coef.indptr.astype(np.int64),
    }
    parts.write(number, {"shape": list(coef.shape)}, arrays)


def _read(parts: Parts, number: int, shape: tuple[int, int]) -> ColumnSolutions | None:
    """A finished part; None where it is missing, damaged or of another shape."""
    stored = parts.read(number)
    if stored is None:
        return None
    header, arrays = stored
    try:
        if tuple(header["shape"]) != shape:
            return None
        check_numbers(arrays["data"], "data")
        coef = checked_csr(arrays["data"], arrays["indices"], arrays["indptr"], shape)
        vectors = [arrays[name] for name in VECTORS]
        for name, vector in zip(VECTORS, vectors, strict=True):
            check_numbers(vector, name, "i" if name == "status" else "f")
            if vector.shape != shape[:1]:
                raise UnfitError(f"{name} has the shape {vector.shape}, not ({shape[0]},)")
    except MISFITS:
        return None
    intercept, length, gap, status = vectors
    return ColumnSolutions(coef, intercept, length, gap, status)
