"""Data sets by name: from a folder, from the cache, else from where they are published."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files.catalogue import CATALOGUE, DataSet, Home, plain_name
from sketchlasso.files.columns import nearest
from sketchlasso.files.layout import missing_file, read_layout
from sketchlasso.files.read import read_table
from sketchlasso.files.source import require
from sketchlasso.files.table import Table
from sketchlasso.storage import replacing

__all__ = ["fetch_dataset"]

VARIABLE = "SKETCHLASSO_DATA"
# Seconds without an answer after which a download is given up.
PATIENCE = 30


def fetch_dataset(
    name: str, *, cache: str | os.PathLike[str] | None = None, download: bool = True
) -> Table:
    """Read a data set by its name.

    It is looked for in the folder that the environment variable SKETCHLASSO_DATA names, then in
    the cache, then where it is published; a download is kept in the cache. What was downloaded
    must have the published shape, and its SHA-256 is noted beside it and compared from then on.

    Numbers come as published, cast to floating point: nothing is centred or scaled.

    Parameters
    ----------
    name : str
        Published: gisette, gisette_test, news20, news20_test, rcv1_binary, rcv1_binary_test,
        real_sim, siam2007, siam2007_test (LIBSVM data page), nips, nytimes, kos (UCI). Only in a
        folder: 20news_bydate, 20news_bydate_test, rcv1 (rows with a binary label), rcv1_topics,
        tmc2007_500, bibtex, yahoo_education, yahoo_reference, imdb and imdb_test (y is the
        rating), imdb_all, nips_uci, nips_1987_2003, nytimes_headlines, gisette_sample168,
        gisette_like, gisette_like_valid, mnist, mnist_test, arcene, madelon, riboflavin and the
        other microarray sets, gasoline_nir, blogfeedback, california_housing (complete rows),
        diabetes, prostate, boston.
    cache : path-like, optional
        Folder for downloads; by default the operating system's place for caches.
    download : bool
        Whether the network may be used.

    Returns
    -------
    Table
        X of shape (n_samples, n_features); y of shape (n_samples,), of shape
        (n_samples, n_labels) with one 0/1 column a label, or None.

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
        place = Path(folder)
        if chosen.layout is not None and missing_file(place, chosen.layout.files) is None:
            return read_layout(place, chosen.layout)
        own = place / chosen.folder
        if chosen.home is not None and missing_file(own, chosen.home.files) is None:
            return _read(chosen.home, own)
    if chosen.home is None:
        raise _not_here(name, chosen, folder)
    own = _cache(cache) / chosen.folder
    if download:
        _download(name, chosen.home, own)
    elif (absent := missing_file(own, chosen.home.files)) is not None:
        raise StoredFileError(
            f"the data set {name!r} is not on this machine and download=False was given; put "
            f"{absent} from {chosen.home.url} in the folder {own} or allow the download."
        )
    return _read(chosen.home, own)


def _found(name: str) -> DataSet:
    chosen = CATALOGUE.get(plain_name(name)) if isinstance(name, str) else None
    if chosen is None:
        hint = nearest(plain_name(str(name)), list(CATALOGUE))
        raise InvalidInputError(
            f"no data set is called {name!r}{hint}; give one of {', '.join(CATALOGUE)}."
        )
    return chosen


def _not_here(name: str, chosen: DataSet, folder: str | None) -> StoredFileError:
    assert chosen.layout is not None
    if not folder:
        return StoredFileError(
            f"the data set {name!r} is not published for download; set {VARIABLE} to a folder "
            f"that holds {' and '.join(chosen.layout.files)}."
        )
    absent = missing_file(Path(folder), chosen.layout.files)
    return StoredFileError(
        f"the data set {name!r} is not published for download and {absent} is not in the folder "
        f"{folder} that {VARIABLE} names; put it there or name another folder."
    )


def _cache(cache: str | os.PathLike[str] | None) -> Path:
    if cache is not None:
        return Path(cache)
    return Path(require("pooch", "downloading data sets").os_cache("sketchlasso"))


def _read(home: Home, folder: Path) -> Table:
    path = folder / home.files[0]
    if home.format == "svmlight":
        table = read_table(path, format="svmlight", multilabel=home.multilabel)
    else:
        table = read_table(path, format=home.format)
    held: Any = table.X
    if table.shape[1] < home.shape[1] and home.format == "svmlight":
        held.resize(table.shape[0], home.shape[1])  # svmlight is silent about empty last columns
    nonzeros = held.count_nonzero()
    if table.shape != home.shape or (home.nonzeros not in (None, nonzeros)):
        promised = "" if home.nonzeros is None else f" with {home.nonzeros} non-zeros"
        raise StoredFileError(
            f"{path} holds {table.shape[0]} x {table.shape[1]} numbers with {nonzeros} non-zeros, "
            f"but {home.shape[0]} x {home.shape[1]}{promised} were published; delete it and fetch "
            "it again."
        )
    return table


def _download(name: str, home: Home, folder: Path) -> None:
    """Get every file that is not in the cache as it was when it came."""
    published = home.sha256 or (None,) * len(home.files)
    for file, digest in zip(home.files, published, strict=True):
        noted = folder / f"{file}.sha256"
        known = digest or (noted.read_text().strip() if noted.is_file() else None)
        if (folder / file).is_file() and known in (None, _sha256(folder / file)):
            continue
        _retrieve(name, home.url + file, folder, file, known)
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
