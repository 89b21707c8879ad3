"""Data of a command: from files to X, y, their names and what y means."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import class_signs
from sketchlasso.interfaces.commands.options import (
    BlockOptions,
    DataOptions,
    number_or_name,
    read_lines,
)
from sketchlasso.interfaces.commands.screen import Facts, Note, Watch, class_words, counted

# A target with more values, most of which occur once, does not mean classes.
MOST_CLASSES = 10
# Names of columns that identify rows.
ROW_NAME = re.compile(r"(^|[^a-z])(id|key|index|nr|no)$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Given:
    """Data of a command."""

    X: Any  # (m, n): ndarray, csr_array or BlockMatrix
    y: Any  # (m,) numbers or text, or None
    names: tuple[str, ...] | None  # of the features
    target_name: str | None
    source: str
    # How columns became features, if some are not plain numbers.
    encoding: sl.io.Encoding | None = None
    rows: Any = None  # (m,) their numbers in the file, from 0
    gaps: Any = None  # (m, c) which cells of the columns of `encoding` have been filled, or None
    impute: str | None = None  # how they were filled

    @property
    def response(self) -> Any:
        """Return the response; refuse data without one."""
        if self.y is None:
            columns = self.names or ()
            if self.encoding is not None:
                columns = tuple(rule.name for rule in self.encoding.columns)
            raise _no_target(self.source, columns)
        return self.y

    def is_classification(self, asked: bool | None) -> bool:
        """Return whether y means classes: as asked, else if it is text or has two values."""
        y = self.response
        is_text = y.dtype.kind == "U"
        if y.ndim > 1:
            if is_text or asked:
                raise self._bad_target("classes are one column; name one with --target")
            return False
        values = np.unique(y)
        many = len(values) > MOST_CLASSES and 2 * len(values) > len(y)
        such = f"of {len(values)} different values such as {values[0]!s}"
        if is_text and (many or asked is False):
            raise self._bad_target(
                f"{such}, but a column of numbers or of a few classes is needed; give another "
                "with --target, or turn it into numbers (dates into days)"
            )
        if asked and not is_text and (many or np.any(y != np.round(y))):
            raise self._bad_target(
                f"{such}, but classes are text or a few whole numbers; leave --classify out"
            )
        return is_text or (len(values) == 2 if asked is None else asked)

    def signs(self, asked: bool | None, *, single: bool = True) -> tuple[Any, Any]:
        """Return y as numbers, and the two classes if it means classes.

        -1 stands for the first of two classes and +1 for the second. Several columns of numbers
        are refused unless `single` is false.
        """
        y = self.response
        if not self.is_classification(asked):
            if single and y.ndim > 1:
                raise self._bad_target("this command takes one column; use fit, cv or path")
            return y, None
        classes = np.unique(y)
        if len(classes) != 2:
            raise self._bad_target("this command takes numbers or two classes; use fit or cv")
        return class_signs(y, classes), classes

    def _bad_target(self, why: str) -> InvalidInputError:
        shape = "" if self.y.ndim == 1 else f" of {self.y.shape[1]} columns"
        return InvalidInputError(f"the target of {self.source}{shape} cannot be used: {why}.")

    @property
    def in_blocks(self) -> bool:
        """Whether X is read in blocks."""
        return isinstance(self.X, sl.io.BlockMatrix)

    def words(self) -> str:
        """Describe the data in a few words."""
        m, n = self.X.shape
        is_sparse = self.X.sparse if self.in_blocks else sparse.issparse(self.X)
        blocks = f", in {self.X.n_blocks} blocks" if self.in_blocks else ""
        samples, features = counted(m, "sample"), counted(n, "feature")
        return f"{samples} x {features}, {'sparse' if is_sparse else 'dense'}{blocks}"

    def facts(self, classes: Any = None) -> Facts:
        """Describe the data and the target, with its classes."""
        target = self.target_name or "(unnamed)"
        if classes is not None:
            target = f"{target}: classes {class_words(classes)}"
        return ("data", self.words()), ("target", target)

    def without_references(self) -> Given:
        """Return the data without one level of each category, with which the others compare.

        All levels together are one constant column.
        """
        rules = () if self.encoding is None else self.encoding.columns
        full = [rule for rule in rules if len(rule.feature_names) > 1]
        if not full or self.names is None:
            return self
        for rule in full:
            words = f"effects of the other levels of {rule.name!r} are relative to"
            warnings.warn(f"{words} {rule.coded[0]!r}", Note, stacklevel=2)
        references = {rule.feature_names[0] for rule in full}
        kept = [j for j, name in enumerate(self.names) if name not in references]
        return replace(self, X=self.X[:, kept], names=tuple(self.names[j] for j in kept))

    def note_on_gaps(self, words: str) -> None:
        """Report from which rows gaps were filled, if there are any."""
        if self.gaps is not None:
            warnings.warn(words, Note, stacklevel=2)


@contextmanager
def at_work(given: Given, options: BlockOptions, watch: Watch | None) -> Iterator[None]:
    """Run what is inside on the cluster that was asked for, if the data are in blocks."""
    if given.in_blocks:
        with options.cluster(None if watch is None else watch.blocks):
            yield
    else:
        yield


def read_given(
    paths: list[Path], options: DataOptions, *, needs_target: bool = False, **roles: Any
) -> Given:
    """Read the data of a command, or only their outline if they are to be read in blocks.

    `roles` are arguments of `read_table` beside those of the options. If the command needs a
    target, none was named and the table cannot be read, the error asks for it.
    """
    table: Any
    if reads_blocks(paths, options):
        memory = options.memory if isinstance(options, BlockOptions) else None
        target = roles.get("target")
        table = (options if target is None else replace(options, target=target)).read_shards(
            paths, memory
        )
    else:
        try:
            table = options.read_table(paths, **roles)
        except InvalidInputError as problem:
            if needs_target and not options.names_target and problem.column_names:
                raise _no_target(paths[0], problem.column_names) from None
            raise
    for note in getattr(table, "notes", ()):
        warnings.warn(note, Note, stacklevel=2)
    title = "standard input" if str(paths[0]) == "-" else str(paths[0])
    title += f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    kept = getattr(table, "rows", None)
    y = table.y
    given = Given(
        X=table.X,
        y=y[:, 0] if y is not None and y.shape[1:] == (1,) else y,
        names=table.feature_names,
        target_name=table.target_name if isinstance(table.target_name, str) else None,
        source=title,
        encoding=getattr(table, "encoding", None),
        rows=np.arange(table.shape[0]) if kept is None else kept,
        gaps=getattr(table, "gaps", None),
        impute=options.impute,
    )
    if options.target_file is not None:
        given = replace(given, y=_read_target(options.target_file, given, kept))
    if needs_target and given.X.shape[0] < 2:
        raise InvalidInputError(f"{title} has 1 row, but a model needs at least 2; give more rows.")
    if needs_target:
        _note_row_numbers(given)
    return given


def reads_blocks(paths: list[Path], options: DataOptions) -> bool:
    """Return whether files are read a block at a time: as asked, or several that hold numbers."""
    found: list[Path] = []
    for path in paths:
        found += path.iterdir() if path.is_dir() else [*map(Path, glob(str(path)))] or [path]
    found = [path for path in found if not path.name.startswith((".", "_"))]
    numbers = all(path.suffix in (".npz", ".npy") for path in found)
    return options.in_blocks or (len(found) > 1 and numbers)


def _note_row_numbers(given: Given) -> None:
    """Remark on columns that number the rows instead of describing them."""
    if not isinstance(given.X, np.ndarray) or given.names is None or len(given.X) < 20:
        return
    m = len(given.X)
    for name, column in zip(given.names, given.X.T, strict=True):
        counts = np.ptp(column) == m - 1 or ROW_NAME.search(name)
        if counts and np.all(column % 1 == 0) and len(np.unique(column)) == m:
            words = f"column {name!r} seems to number the rows; leave it out with --drop {name}"
            warnings.warn(words, Note, stacklevel=2)


def _no_target(source: Path | str, names: Sequence[str]) -> InvalidInputError:
    """Return the error for data without a target, with the columns to choose from."""
    how = f"choose the column of {source} to predict with --target"
    if not names:
        return InvalidInputError(f"{how} (a number from 1), or give --target-file.")
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    return InvalidInputError(f"{how}; its columns are {listed}.")


def _read_target(path: Path, given: Given, kept: Any) -> Any:
    """Read one number or label per line; those of the rows `kept`, if some were left out."""
    values = read_lines(path, "number or label", "--target-file")
    if kept is not None:
        values = [values[row] for row in kept if row < len(values)]
    if len(values) != len(given.rows):
        raise InvalidInputError(
            f"{path} has {len(values)} lines but {given.source} has {len(given.rows)} rows; give "
            "one number or label per row."
        )
    numbers = [number_or_name(value) for value in values]
    if "" in values or any(isinstance(one, float) and not np.isfinite(one) for one in numbers):
        raise InvalidInputError(
            f"{path} has lines without a usable target; fill them in or leave the rows out."
        )
    is_code = any(len(value) > 1 and value.isdecimal() and value[0] == "0" for value in values)
    return np.array(values if is_code or any(isinstance(one, str) for one in numbers) else numbers)
