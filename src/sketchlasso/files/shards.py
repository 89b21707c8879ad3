"""A data matrix that stays in its files: many shards, read one at a time on use."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sketchlasso.data import BlockMatrix
from sketchlasso.errors import Argument, InvalidInputError, StoredFileError, unaccepted
from sketchlasso.files.formats import Format
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.shard import SHARD_FORMATS, Scan, cut_into_blocks, scan
from sketchlasso.files.source import Source, format_of

Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

WRITTEN = re.compile(r"\s*(\d+(?:\.\d*)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False, repr=False)
class Shards:
    """A data matrix in many files, and its responses.

    Attributes
    ----------
    X : BlockMatrix of shape (n_samples, n_features)
        Stays in the files; blocks are read one at a time where they are used.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        Read when the files were scanned: one number or label per row.
    feature_names : tuple of str, or None
    target_name : str or None
    paths : tuple of str
        The files in the order of their rows.
    rows_per_shard : tuple of int
    """

    X: BlockMatrix
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    target_name: str | None
    paths: tuple[str, ...]
    rows_per_shard: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.X.shape

    def __repr__(self) -> str:
        target = "no target" if self.y is None else f"target of shape {self.y.shape}"
        rows, columns = self.shape
        return f"<Shards of {rows} x {columns} in {len(self.paths)} files, {target}>"


def read_shards(
    paths: Paths,
    *,
    target: str | int | None = None,
    drop: str | int | Sequence[str | int] = (),
    format: Format | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    dtype: DTypeLike | None = None,
    memory: int | str | None = None,
) -> Shards:
    """Scan a data matrix in many files; its rows are read later, one block at a time.

    Of npz, npy and Parquet files only headers are read now; files of other formats are read
    once, one at a time. Responses are read now. Files without rows are skipped. No file may
    change while X is in use.

    Parameters
    ----------
    paths : path-like, or sequence of them
        Files, folders, or patterns such as ``"part-*.npz"``. Files of a folder or pattern are
        in natural order (part-2 before part-10); a list keeps its own.
    target, drop, format, n_features, zero_based, dtype
        See :func:`read_table`; the same for every file. Without `n_features` the largest index
        in any svmlight file counts, without `zero_based` whether the index 0 is in any.
    memory : int or str, optional
        Bytes (also ``"500MB"``, ``"2GB"``) that reading a block and multiplying it may take at
        a time: four times a block, and 1.5 kB per row for products at any rank. npy files
        are cut at any row and Parquet files between row groups to stay within it; a larger file
        of another format is refused. By default 512 MB, and no file is refused.

    Returns
    -------
    Shards
        X and y, for :func:`sketch`, :func:`cross_validate` and the estimators.

    Raises
    ------
    StoredFileError
        No file is there, or one is truncated or damaged: its name is in the message.
    InvalidInputError
        Files that do not belong together (other columns, types or formats), or too large.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> shards = sl.io.read_shards("clicks/part-*.npz", memory="1GB")  # doctest: +SKIP
    >>> model = sl.SqrtLassoCV().fit(shards.X, shards.y)  # doctest: +SKIP
    """
    options = ReadOptions(
        target=target,
        drop=(drop,) if isinstance(drop, str | int) else tuple(drop),
        n_features=n_features,
        zero_based=zero_based,
        dtype=dtype,
    )
    limit = None if memory is None else bytes_of(memory)
    sources = _sources(paths, format)
    for source in sources:
        options.check(source)
    scans = [scan(source, options) for source in sources]
    kept = [found for found in scans if found.rows]
    if not kept:
        raise InvalidInputError(
            f"{sources[0]} and the other files hold no rows; give files with data."
        )
    if kept[0].source.format == "svmlight":
        options, kept = _same_indices(options, kept)
    _check_alike(kept, sources)
    strict = None if limit is None else str(memory)
    blocks = [
        block
        for found in kept
        for block in cut_into_blocks(found, options, limit or 512_000_000, strict)
    ]
    return Shards(
        BlockMatrix(blocks),
        _responses(kept),
        kept[0].names,
        kept[0].target_name,
        tuple(str(found.source) for found in kept),
        tuple(found.rows for found in kept),
    )


def bytes_of(memory: int | str) -> int:
    """Return an amount of memory in bytes; ``"1.5 GB"`` is 1500000000 and ``"2KiB"`` is 2048."""
    found = WRITTEN.fullmatch(str(memory)) if not isinstance(memory, bool) else None
    amount = 0
    if found is not None:
        thousands = 0 if found[2] is None else "kmgt".index(found[2].lower()) + 1
        amount = int(float(found[1]) * (1024 if found[3] else 1000) ** thousands)
    if amount < 1:
        remedy = "pass for example '500MB' or '2GB'"
        raise unaccepted("memory", memory, "a positive number of bytes", remedy)
    return amount


def natural_order(path: str | os.PathLike[str]) -> list[Any]:
    """A key for sorting: numbers inside a name count as numbers."""
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _sources(paths: Paths, format: str | None) -> list[Source]:
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise InvalidInputError(
            "no file was given, but shards need at least one; give files, a folder or a pattern."
        )
    found = [place for path in given for place in _files_of(path, format)]
    twice = next((place for i, place in enumerate(found) if place in found[:i]), None)
    if twice is not None:
        raise InvalidInputError(
            f"{twice} was given twice, but every row counts once; name each file once."
        )
    sources = [Source.of(place, format, shard=True) for place in found]
    first = sources[0]
    for source in sources:
        if source.format not in SHARD_FORMATS:
            raise InvalidInputError(
                f"{source} is a {source.format} file, but shards are of the formats "
                f"{', '.join(SHARD_FORMATS)}; convert it with read_table and write_table."
            )
        if source.format != first.format:
            raise InvalidInputError(
                f"{first} is {first.format} and {source} is {source.format}, but shards are all "
                "of one format; convert some of them, or name those of one format."
            )
    return sources


def _files_of(path: str | os.PathLike[str], format: str | None) -> Iterator[Path]:
    """Yield the file of a path, those in a folder, or those that match a pattern."""
    place = Path(path)
    if place.is_dir():
        held = [item for item in place.iterdir() if item.is_file() and _is_data(item, format)]
        where = f"the folder {place} holds no file of a known format"
    elif not place.exists() and glob.has_magic(str(path)):
        held = [Path(item) for item in glob.glob(str(path), recursive=True)]
        held = [item for item in held if item.is_file()]
        where = f"no file matches {place}"
    else:
        yield place
        return
    if not held:
        raise StoredFileError(
            f"{where} (looked in {Path.cwd()}); give files, a folder with data files or a pattern "
            "such as 'part-*.npz'."
        )
    yield from sorted(held, key=natural_order)


def _is_data(place: Path, format: str | None) -> bool:
    """Whether a file in a folder is data: hidden files and markers such as _SUCCESS are not."""
    if place.name.startswith((".", "_")):
        return False
    if format is not None:
        return True
    try:
        return format_of(place) in SHARD_FORMATS
    except InvalidInputError:
        return False


def _same_indices(options: ReadOptions, scans: list[Scan]) -> tuple[ReadOptions, list[Scan]]:
    """Count columns of svmlight shards from the same index, and find how many there are."""
    zero_based = options.zero_based
    if zero_based is None:
        zero_based = any(found.lowest == 0 for found in scans)
    widest = max(scans, key=lambda found: found.highest)
    needed = widest.highest + int(zero_based)
    if needed < 1 and options.n_features is None:
        raise InvalidInputError(
            f"{scans[0].source} and the other files hold labels but no index:value pair; "
            "check that they are svmlight text or pass ",
            Argument("n_features"),
            ".",
        )
    count = needed if options.n_features is None else int(options.n_features)
    if needed > count:
        raise InvalidInputError(
            f"{widest.source} uses {needed} features but ",
            Argument("n_features", count),
            f" was given; give at least {needed} or leave it out.",
        )
    options = replace(options, n_features=count, zero_based=zero_based)
    return options, [replace(found, columns=count) for found in scans]


def _check_alike(scans: list[Scan], everyone: list[Source]) -> None:
    """Refuse shards that do not make one matrix, naming the two that differ."""
    first = scans[0]
    for found in scans[1:]:
        number = everyone.index(found.source) + 1
        which = f"shard {number}, {found.source},"
        if found.columns != first.columns:
            raise InvalidInputError(
                f"{which} has {found.columns} columns but {first.source} has {first.columns}; "
                "give shards with the same columns."
            )
        if found.names != first.names:
            raise InvalidInputError(
                f"{which} has other names of columns than {first.source} "
                f"({_difference(found.names, first.names)}); give shards with the same columns in "
                "the same order."
            )
        if found.sparse != first.sparse:
            kinds = ("sparse", "dense") if found.sparse else ("dense", "sparse")
            raise InvalidInputError(
                f"{which} is {kinds[0]} but {first.source} is {kinds[1]}; store all shards alike."
            )
        if found.dtype != first.dtype:
            raise InvalidInputError(
                f"{which} holds {found.dtype} but {first.source} holds {first.dtype}; pass ",
                Argument("dtype", "float32"),
                " or ",
                Argument("dtype", "float64"),
                " to read all alike.",
            )
        if (found.y is None) != (first.y is None):
            without, having = (found, first) if found.y is None else (first, found)
            raise InvalidInputError(
                f"{without.source} holds no target but {having.source} does; give every shard its "
                "target, or none."
            )


def _difference(names: tuple[str, ...] | None, others: tuple[str, ...] | None) -> str:
    if names is None or others is None:
        return "one has no names"
    place = next(i for i, pair in enumerate(zip(names, others, strict=True)) if pair[0] != pair[1])
    return f"column {place + 1} is {names[place]!r} and {others[place]!r}"


def _responses(scans: list[Scan]) -> NDArray[Any] | None:
    parts = [found.y for found in scans if found.y is not None]
    if not parts:
        return None
    kinds = [(part.dtype.kind, part.shape[1:]) for part in parts]
    odd = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if odd is not None:
        raise InvalidInputError(
            f"the target of {scans[odd].source} is of another kind than that of "
            f"{scans[0].source}, but y is numbers or text throughout; convert one of them."
        )
    return np.concatenate(parts)
