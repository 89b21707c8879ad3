"""Data of a command: from files to X, y, their names and what y means."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import glob, has_magic
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
from sketchlasso.interfaces.commands.report import Facts, class_words, counted
from sketchlasso.interfaces.commands.screen import Note, Watch

# A target with more values, most of which occur once, does not mean classes.
MOST_CLASSES = 10
# Names of columns that identify rows, and the fewest rows of which this is said.
ROW_NAME = re.compile(r"(^|[^a-z])(id|key|index|nr|no)$", re.IGNORECASE)
FEWEST_NUMBERED = 20
# Formats of files with named columns, and how their names end.
TABLES = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".feather", ".arrow", ".ipc"),
}


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
        text, count = y.dtype.kind == "U", len(np.unique(y))
        if y.ndim > 1:
            if text or asked:
                raise InvalidInputError(
                    f"the target of {self.source} has {y.shape[1]} columns, but classes are one "
                    "column; name one of them with --target, or give --regress for numbers."
                )
            return False
        if text and asked is False:
            raise InvalidInputError(
                f"--regress was given, but the target of {self.source} is text such as "
                f"{str(y[0])!r}; give a column of numbers, or leave --regress out."
            )
        many = count > MOST_CLASSES and 2 * count > len(y)
        if text and many:
            raise InvalidInputError(
                f"the target of {self.source} has {count} different texts in {len(y)} rows, "
                f"such as {str(y[0])!r}, but a column of numbers or of a few classes is "
                "needed; give another with --target, or turn it into numbers (dates into days)."
            )
        if asked and not text and (many or np.any(y != np.round(y))):
            raise InvalidInputError(
                f"--classify was given, but the target of {self.source} has {count} different "
                f"numbers in {len(y)} rows, such as {y[0]:g}, and classes are text or a few whole "
                "numbers; leave --classify out, or name another column with --target."
            )
        return text or (count == 2 if asked is None else asked)

    def one_response(self) -> Any:
        """Return y (m,); refuse several columns."""
        y = self.response
        if y.ndim > 1:
            raise InvalidInputError(
                f"the target of {self.source} has {y.shape[1]} columns, but this command takes "
                "one; write each to a file of its own, or use fit, cv or path."
            )
        return y

    def signs(self, asked: bool | None, *, single: bool = True) -> tuple[Any, Any]:
        """Return y as numbers, and the two classes if it means classes.

        -1 stands for the first of two classes and +1 for the second. Several columns of numbers
        are refused unless `single` is false.
        """
        y = self.response
        if not self.is_classification(asked):
            return self.one_response() if single else y, None
        classes = np.unique(y)
        if len(classes) != 2:
            raise InvalidInputError(
                f"the target of {self.source} has {len(classes)} classes, but this command takes "
                "numbers or two classes; use fit or cv, which handle several."
            )
        return class_signs(y, classes), classes

    @property
    def in_blocks(self) -> bool:
        """Return whether X is read in blocks."""
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

    def without(self, feature: str) -> Given:
        """Return the data with one feature as the response of the others."""
        if self.names is None:
            raise InvalidInputError(
                f"--target-word {feature} was given, but the features of {self.source} have no "
                "names; give --vocabulary, or --target with a position."
            )
        if feature not in self.names:
            close = get_close_matches(feature, self.names, n=3, cutoff=0.7)
            hint = f" (nearest: {', '.join(map(repr, close))})" if close else ""
            raise InvalidInputError(
                f"--target-word {feature} is not a feature of {self.source}{hint}; give one of "
                f"its {len(self.names)} names."
            )
        self._refuse_blocks(f"--target-word {feature} was given")
        if self.encoding is not None and "=" in feature:
            raise InvalidInputError(
                f"--target-word {feature} is one level of a category of {self.source}; give the "
                "column itself with --target."
            )
        place = self.names.index(feature)
        column: Any = self.X[:, [place]]
        column = np.asarray(column if isinstance(column, np.ndarray) else column.toarray())
        others = np.delete(np.arange(len(self.names)), place)
        rest = replace(
            self,
            X=self.X[:, others],
            y=column.ravel().astype(np.float64),
            names=tuple(self.names[j] for j in others),
            target_name=feature,
        )
        if self.encoding is None:
            return rest
        rules = self.encoding.columns
        kept = [j for j, rule in enumerate(rules) if rule.name != feature]
        return replace(
            rest,
            encoding=sl.io.Encoding(tuple(rules[j] for j in kept)),
            gaps=None if self.gaps is None else self.gaps[:, kept],
        )

    def with_columns(self, wanted: Sequence[str]) -> Given:
        """Return the data with the columns of a model, by name."""
        if self.names is None or tuple(wanted) == self.names:
            return self
        place = {name: j for j, name in enumerate(self.names)}
        absent = [name for name in wanted if name not in place]
        if absent:
            raise InvalidInputError(
                f"{self.source} lacks {len(absent)} of the {len(wanted)} features of the model, "
                f"such as {absent[0]!r}; give data with the columns of the fit."
            )
        self._refuse_blocks("the model has the columns in another order")
        return replace(self, X=self.X[:, [place[name] for name in wanted]], names=tuple(wanted))

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

    def filled_from(self, rows: Any) -> Any:
        """Return X (m, n) with its gaps filled from `rows` alone."""
        if self.gaps is None or self.encoding is None or self.impute is None:
            return self.X
        return self.encoding.refilled(self.X, self.gaps, rows, self.impute)

    def note_on_gaps(self, words: str) -> None:
        """Report from which rows gaps were filled, if there are any."""
        if self.gaps is not None:
            warnings.warn(words, Note, stacklevel=2)

    def _refuse_blocks(self, reason: str) -> None:
        if self.in_blocks:
            raise InvalidInputError(
                f"{reason}, but the columns of data in blocks stay as they are stored; write the "
                "files with the columns wanted, and the target as one of its own."
            )


@contextmanager
def at_work(given: Given, options: BlockOptions, watch: Watch | None) -> Iterator[None]:
    """Run what is inside on the cluster that was asked for, if the data are in blocks."""
    if given.in_blocks:
        with options.cluster(None if watch is None else watch.blocks):
            yield
    else:
        yield


def read_given(
    files: Path | Sequence[Path],
    options: DataOptions,
    *,
    encoding: sl.io.Encoding | None = None,
    needs_target: bool = False,
) -> Given:
    """Read the data of a command, or only their outline if they are to be read in blocks.

    Several files are the rows of one matrix. The `encoding` of a model says how columns become
    features; other columns are ignored then. If the command needs a target, none was named and the
    table cannot be read, the error asks for it.
    """
    paths = [files] if isinstance(files, Path) else list(files)
    names_target = options.names_target()
    try:
        table = _read(paths, options, encoding)
    except InvalidInputError as problem:
        if needs_target and not names_target and problem.column_names:
            raise _no_target(paths[0], problem.column_names) from None
        raise
    for note in getattr(table, "notes", ()):
        warnings.warn(note, Note, stacklevel=2)
    y: Any = table.y
    if y is not None and y.shape[1:] == (1,):
        y = y[:, 0]
    title = "standard input" if str(paths[0]) == "-" else str(paths[0])
    title += f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    kept = getattr(table, "rows", None)
    given = Given(
        X=table.X,
        y=y,
        names=table.feature_names,
        target_name=table.target_name if isinstance(table.target_name, str) else None,
        source=title,
        encoding=getattr(table, "encoding", None),
        rows=np.arange(table.shape[0]) if kept is None else kept,
        gaps=getattr(table, "gaps", None),
        impute=options.impute,
    )
    if options.target_word is not None:
        given = given.without(options.target_word)
    elif options.target_file is not None:
        given = replace(given, y=_read_target(options.target_file, title, given.rows, kept))
    if needs_target and given.X.shape[0] < 2:
        raise InvalidInputError(
            f"{title} has {given.X.shape[0]} row, but a model needs at least 2; give more rows."
        )
    if needs_target:
        _note_row_numbers(given)
    return given


def _read(
    paths: list[Path], options: DataOptions, encoding: sl.io.Encoding | None
) -> sl.io.Table | sl.io.Shards:
    cells = options.cells_read()
    if not reads_blocks(paths, options):
        return sl.io.read_table(paths, encoding=encoding, **options.columns_read(), **cells)
    usual = DataOptions().cells_read()
    for name in cells:
        if cells[name] != usual[name]:
            option = {"text_encoding": "encoding", "header": "names"}.get(name, name)
            raise InvalidInputError(
                f"--{option.replace('_', '-')} does not apply to data in blocks; leave it out, or "
                "read the files whole."
            )
    memory = options.memory if isinstance(options, BlockOptions) else None
    return sl.io.read_shards(paths, memory=memory, **options.columns_read())


def _note_row_numbers(given: Given) -> None:
    """Remark on columns that number the rows instead of describing them."""
    if not isinstance(given.X, np.ndarray) or given.names is None:
        return
    m = len(given.X)
    for name, column in zip(given.names, given.X.T, strict=True):
        whole = m >= FEWEST_NUMBERED and np.ptp(column) >= m - 1 and np.all(column % 1 == 0)
        is_counted = whole and (np.ptp(column) == m - 1 or ROW_NAME.search(name))
        if is_counted and len(np.unique(column)) == m:
            words = f"column {name!r} seems to number the rows; leave it out with --drop {name}"
            warnings.warn(words, Note, stacklevel=2)


def _no_target(source: Path | str, names: Sequence[str]) -> InvalidInputError:
    """Return the error for data without a target, with the columns to choose from."""
    how = f"choose the column of {source} to predict with --target"
    if not names:
        return InvalidInputError(f"{how} (a number from 1), or give --target-file.")
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    return InvalidInputError(f"{how}; its columns are {listed}.")


def reads_blocks(paths: Sequence[Path], options: DataOptions) -> bool:
    """Return whether files are read a block at a time: as asked, or several that hold numbers."""
    if options.in_blocks:
        return True
    found: list[Path] = []
    for path in paths:
        is_pattern = has_magic(str(path)) and not path.exists()
        found += map(Path, glob(str(path), recursive=True)) if is_pattern else [path]
    if len(found) == 1 and found[0].is_dir():
        found = [file for file in found[0].iterdir() if not file.name.startswith((".", "_"))]
    return len(found) > 1 and all(file.suffix in (".npz", ".npy") for file in found)


def is_table(path: Path, format: str | None) -> bool:
    """Return whether a file has named columns, by its format or its name."""
    if format is not None:
        return format in TABLES
    known = {ending for endings in TABLES.values() for ending in endings}
    return str(path) == "-" or any(ending.lower() in known for ending in path.suffixes[-2:])


def _read_target(path: Path, data: str, rows: Any, kept: Any) -> Any:
    """Read one number or label per line; those of the rows `kept`, if some were left out."""
    values = read_lines(path, "number or label")
    if kept is not None:
        values = [values[row] for row in kept if row < len(values)]
    if len(values) != len(rows):
        raise InvalidInputError(
            f"{path} has {len(values)} lines but {data} has {len(rows)} rows; give one number or "
            "label per row."
        )
    read = [number_or_name(value) for value in values]
    for line, value in enumerate(read, start=1):
        if value == "" or (isinstance(value, float) and not np.isfinite(value)):
            raise InvalidInputError(
                f"{path} has no usable target in line {line}; fill it in or leave the row out."
            )
    is_code = any(len(value) > 1 and value.isdecimal() and value[0] == "0" for value in values)
    return np.array(values if is_code or any(isinstance(value, str) for value in read) else read)
