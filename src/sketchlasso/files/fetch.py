"""Data sets by name: from a folder, from the cache, or downloaded from their publishers.

The two sites publish no checksums. A download is compared with the published numbers of rows,
columns and, where known, non-zeros; its SHA-256 is stored beside it to detect later damage.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sketchlasso.errors import Argument, InvalidInputError, StoredFileError
from sketchlasso.files.formats import Format, read_table
from sketchlasso.files.options import nearest
from sketchlasso.files.source import require
from sketchlasso.files.table import Table
from sketchlasso.storage import cache_folder, replacing

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"


@dataclass(frozen=True)
class DataSet:
    """A published data set.

    The address of a file is `url` followed by its name; the first of `files` holds the data.
    Files are in `folder` below the data folder or the cache. `shape` and `nonzeros`, if known,
    are the published ones.
    """

    folder: str
    url: str
    files: tuple[str, ...]
    format: Format
    shape: tuple[int, int]
    nonzeros: int | None = None
    multilabel: bool = False


def _libsvm(
    folder: str, task: str, file: str, shape: tuple[int, int], nonzeros: int | None = None
) -> DataSet:
    several = task == "multilabel"
    return DataSet(folder, f"{LIBSVM}{task}/", (file,), "svmlight", shape, nonzeros, several)


def _uci(name: str, shape: tuple[int, int], nonzeros: int | None = None) -> DataSet:
    files = (f"docword.{name}.txt.gz", f"vocab.{name}.txt")
    return DataSet(name, UCI, files, "bag-of-words", shape, nonzeros)


CATALOGUE = {
    "gisette": _libsvm("gisette", "binary", "gisette_scale.bz2", (6000, 5000)),
    "gisette_test": _libsvm("gisette", "binary", "gisette_scale.t.bz2", (1000, 5000)),
    "news20": _libsvm("news20", "multiclass", "news20.bz2", (15935, 62061), 1272569),
    "news20_test": _libsvm("news20", "multiclass", "news20.t.bz2", (3993, 62061)),
    "rcv1_binary": _libsvm("rcv1", "binary", "rcv1_train.binary.bz2", (20242, 47236)),
    "rcv1_binary_test": _libsvm("rcv1", "binary", "rcv1_test.binary.bz2", (677399, 47236)),
    "real_sim": _libsvm("real_sim", "binary", "real-sim.bz2", (72309, 20958)),
    "siam2007": _libsvm("siam2007", "multilabel", "tmc2007_train.svm.bz2", (21519, 30438)),
    "siam2007_test": _libsvm("siam2007", "multilabel", "tmc2007_test.svm.bz2", (7077, 30438)),
    "nips": _uci("nips", (1500, 12419), 746316),
    "nytimes": _uci("nytimes", (300000, 102660)),
    "kos": _uci("kos", (3430, 6906), 353160),
}


def fetch_dataset(
    name: str, *, cache: str | os.PathLike[str] | None = None, download: bool = True
) -> Table:
    """Read a data set by its name.

    The published files are read from the folder in the environment variable SKETCHLASSO_DATA (in
    a subfolder per set, such as ``gisette/``) or from the cache, or downloaded into the cache.
    The table must have the published shape. The SHA-256 of a download is stored with it and
    checked from then on.

    Numbers are as published, cast to floating point, not centred or scaled.

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
        folder to put it in), or it differs from what was published.
    MissingExtraError
        A download is needed and pooch is not installed.
    """
    chosen = _found(name)
    folder = os.environ.get("SKETCHLASSO_DATA")
    if folder:
        own = Path(folder) / chosen.folder
        if _missing_file(chosen, own) is None:
            return _read(chosen, own)
    kept = cache_folder() if cache is None else Path(cache)
    if kept is None:
        raise StoredFileError(
            "this user has no home folder to keep downloads in; give ",
            Argument("cache"),
            ", a folder.",
        )
    own = kept / chosen.folder
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
    # Accept Real-sim, rcv1.binary and SIAM 2007 too.
    words = str(name).strip().lower().replace("-", " ").replace(".", " ").split()
    plain = "_".join(words).replace("siam_2007", "siam2007")
    chosen = CATALOGUE.get(plain)
    if chosen is None:
        hint = nearest(plain, list(CATALOGUE))
        raise InvalidInputError(
            f"no data set is called {name!r}{hint}; give one of {', '.join(CATALOGUE)}."
        )
    return chosen


def _missing_file(chosen: DataSet, folder: Path) -> str | None:
    """Return the first of the set's files that is not in the folder, or None."""
    return next((file for file in chosen.files if not (folder / file).is_file()), None)


def _read(chosen: DataSet, folder: Path) -> Table:
    path = folder / chosen.files[0]
    table = read_table(path, format=chosen.format, multilabel=chosen.multilabel)
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
        pooch = require("pooch", "downloading data sets")
        pooch.get_logger().setLevel("WARNING")
        url = chosen.url + file
        try:
            pooch.retrieve(
                url,
                None if known is None else f"sha256:{known}",
                fname=file,
                path=folder,
                downloader=pooch.HTTPDownloader(timeout=30),
            )
        except (OSError, ValueError) as problem:  # requests' exceptions are OSErrors
            changed = isinstance(problem, ValueError) and "hash" in str(problem)
            reason = "its checksum is not the expected one" if changed else type(problem).__name__
            raise StoredFileError(
                f"the data set {name!r} could not be downloaded from {url} ({reason}); connect "
                f"and try again, or put {file} in the folder {folder}."
            ) from problem
        if known is None:
            with replacing(noted) as note:
                note.write(f"{_sha256(folder / file)}\n".encode())


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
