"""Data sets by name: from a folder, from the cache, else from where they are published."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from sketchlasso.errors import Argument, InvalidInputError, StoredFileError
from sketchlasso.files.catalogue import CATALOGUE, DataSet, plain_name
from sketchlasso.files.columns import nearest
from sketchlasso.files.read import read_table
from sketchlasso.files.source import require
from sketchlasso.files.table import Table
from sketchlasso.storage import cache_folder, replacing

__all__ = ["fetch_dataset"]

VARIABLE = "SKETCHLASSO_DATA"
# Seconds without a response after which a download fails.
PATIENCE = 30


def fetch_dataset(
    name: str, *, cache: str | os.PathLike[str] | None = None, download: bool = True
) -> Table:
    """Read a data set by its name.

    The published files are looked for in the folder that the environment variable
    SKETCHLASSO_DATA names (in a subfolder per set, such as ``gisette/``) and in the cache; else
    they are downloaded into the cache. The table must have the published shape. The SHA-256 of a
    download is noted beside it and compared from then on.

    Numbers come as published, cast to floating point: nothing is centred or scaled.

    Parameters
    ----------
    name : str
        gisette, gisette_test, news20, news20_test, rcv1_binary, rcv1_binary_test, real_sim,
        siam2007, siam2007_test (LIBSVM data page), nips, nytimes, kos (UCI).
    cache : path-like, optional
        Folder for downloads; by default the operating system's place for caches.
    download : bool
        Whether the network may be used.

    Returns
    -------
    Table
        X of shape (n_samples, n_features); y of shape (n_samples,), of shape
        (n_samples, n_labels) with one 0/1 column per label, or None.

    Raises
    ------
    InvalidInputError
        No data set has that name.
    StoredFileError
        It is not on this machine and could not be downloaded (the message names the file and the
        folder to put it in), or it is not what was published.
    MissingExtraError
        A download is needed and pooch is not installed.
    """
    chosen = _found(name)
    folder = os.environ.get(VARIABLE)
    if folder:
        own = Path(folder) / chosen.folder
        if _missing_file(chosen, own) is None:
            return _read(chosen, own)
    own = _cache(cache) / chosen.folder
    if download:
        _download(name, chosen, own)
    elif (absent := _missing_file(chosen, own)) is not None:
        raise StoredFileError(
            f"the data set {name!r} is not on this machine and ",
            Argument("download", False),
            f" was given; put {absent} from {chosen.url} in the folder {own} or allow the "
            "download.",
        )
    return _read(chosen, own)


def _found(name: str) -> DataSet:
    chosen = CATALOGUE.get(plain_name(name)) if isinstance(name, str) else None
    if chosen is None:
        hint = nearest(plain_name(str(name)), list(CATALOGUE))
        raise InvalidInputError(
            f"no data set is called {name!r}{hint}; give one of {', '.join(CATALOGUE)}."
        )
    return chosen


def _missing_file(chosen: DataSet, folder: Path) -> str | None:
    """Return the first of the set's files that is not in the folder, or None."""
    return next((file for file in chosen.files if not (folder / file).is_file()), None)


def _cache(cache: str | os.PathLike[str] | None) -> Path:
    if cache is not None:
        return Path(cache)
    folder = cache_folder()
    if folder is None:
        raise StoredFileError(
            "this user has no home folder to keep downloads in; give ",
            Argument("cache"),
            ", a folder.",
        )
    return folder


def _read(chosen: DataSet, folder: Path) -> Table:
    path = folder / chosen.files[0]
    if chosen.format == "svmlight":
        table = read_table(path, format="svmlight", multilabel=chosen.multilabel)
    else:
        table = read_table(path, format=chosen.format)
    held: Any = table.X
    if table.shape[1] < chosen.shape[1] and chosen.format == "svmlight":
        held.resize(table.shape[0], chosen.shape[1])  # svmlight does not count empty last columns
    nonzeros = held.count_nonzero()
    if table.shape != chosen.shape or (chosen.nonzeros not in (None, nonzeros)):
        promised = "" if chosen.nonzeros is None else f" with {chosen.nonzeros} non-zeros"
        raise StoredFileError(
            f"{path} holds {table.shape[0]} x {table.shape[1]} numbers with {nonzeros} non-zeros, "
            f"but {chosen.shape[0]} x {chosen.shape[1]}{promised} were published; delete it and "
            "fetch it again."
        )
    return table


def _download(name: str, chosen: DataSet, folder: Path) -> None:
    """Download every file that is missing from the cache or was changed in it."""
    for file in chosen.files:
        noted = folder / f"{file}.sha256"
        known = noted.read_text().strip() if noted.is_file() else None
        if (folder / file).is_file() and known in (None, _sha256(folder / file)):
            continue
        _retrieve(name, chosen.url + file, folder, file, known)
        if known is None:
            with replacing(noted) as note:
                note.write(f"{_sha256(folder / file)}\n".encode())


def _retrieve(name: str, url: str, folder: Path, file: str, known: str | None) -> None:
    pooch = require("pooch", "downloading data sets")
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            url,
            None if known is None else f"sha256:{known}",
            fname=file,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=PATIENCE),
        )
    except (OSError, ValueError) as problem:  # requests' exceptions are OSErrors
        changed = isinstance(problem, ValueError) and "hash" in str(problem)
        reason = "its checksum is not the expected one" if changed else type(problem).__name__
        raise StoredFileError(
            f"the data set {name!r} could not be downloaded from {url} ({reason}); connect and "
            f"try again, or put {file} in the folder {folder}."
        ) from problem


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
