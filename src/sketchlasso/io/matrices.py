"""Matrices: npz and npy (NumPy, SciPy), Matrix Market (SciPy), svmlight (scikit-learn), UCI counts.

Pickles are never read.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.io.columns import counted
from sketchlasso.io.encoding import Encoding
from sketchlasso.io.source import COMPRESSIONS, PathLike, failures, read_lines, title_of
from sketchlasso.io.table import Column, Table, as_csr, matrix_table, nearest, real_type
from sketchlasso.storage import replacing


def read_npz(
    path: PathLike, stream: BinaryIO, *, target: Column | None = None, **options: Any
) -> Table:
    """Read a sparse matrix written by SciPy, or arrays X and y written by NumPy.

    A target that is text names the array that is y. feature_names, target_name and ids come from
    arrays of these names.
    """
    title = title_of(path)
    with failures(path, "npz"):
        archive = np.load(stream, allow_pickle=False)
        arrays = {name: archive[name] for name in archive.files}
        if {"format", "shape", "data"} <= arrays.keys():
            stream.seek(0)
            matrix: Any = sparse.load_npz(stream)
            if matrix.format in ("csr", "csc"):
                matrix.check_format(full_check=True)
            arrays = {name: part for name, part in arrays.items() if name not in X_PARTS}
            arrays["X"] = matrix
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    key = "X" if "X" in arrays else matrices[0] if len(matrices) == 1 else None
    if key is None:
        raise InvalidInputError(
            f"{title} holds the arrays {', '.join(arrays)}, but a matrix called X (or one matrix "
            "alone) is needed; save it with numpy.savez(path, X=X, y=y)."
        )
    X = arrays.pop(key)
    y, name = arrays.get("y"), arrays.get("target_name")
    if isinstance(target, str) and not target.isdecimal():
        if target not in arrays:
            refused = InvalidInputError(
                f"target={target!r} was given, but it is no array of "
                f"{title}{nearest(target, list(arrays))}; give one of "
                f"{', '.join(arrays) or 'none'}, or the number of a column of X."
            )
            refused.parameter = "target"
            raise refused
        y, name, target = arrays[target], name if target == "y" else np.array([target]), None
    labels = None if name is None else tuple(map(str, np.atleast_1d(name)))
    names = arrays.get("feature_names")
    return matrix_table(
        title,
        X,
        y,
        None if names is None else tuple(map(str, np.atleast_1d(names))),
        labels[0] if labels is not None and len(labels) == 1 else labels,
        arrays.get("ids"),
        target=target,
        **options,
    )


# The arrays of a sparse matrix in a file of scipy.sparse.save_npz.
X_PARTS = ("format", "shape", "data", "indices", "indptr", "row", "col", "offsets")


def write_npz(path: Path, table: Table) -> None:
    """Write a table so that read_npz, and of a sparse X scipy.sparse.load_npz, read it back."""
    X: Any = table.X
    arrays: dict[str, Any] = {"X": np.asarray(X)} if isinstance(X, np.ndarray) else {
        "indices": X.indices, "indptr": X.indptr, "data": X.data,
        "format": np.array(b"csr"), "shape": np.array(X.shape),
    }  # fmt: skip
    arrays |= {"y": table.y, "ids": table.ids}
    for name in ("feature_names", "target_name"):
        text = getattr(table, name)
        if text is not None:
            arrays[name] = np.array([text] if isinstance(text, str) else text, dtype=np.str_)
    with replacing(path) as file:
        np.savez_compressed(file, **{name: a for name, a in arrays.items() if a is not None})


def read_npy(path: PathLike, stream: BinaryIO, **options: Any) -> Table:
    """Map an npy file into memory; its numbers are read, and checked, where they are used.

    A target or dropped columns inside the matrix, or another type, cost a copy in memory; those
    at its edges do not.
    """
    with failures(path, "npy"):
        plain = getattr(stream, "name", None) is not None and Path(path).is_file()
        X = np.load(path if plain else stream, mmap_mode="r" if plain else None)
    return matrix_table(title_of(path), X, **options)


def write_npy(path: Path, table: Table) -> None:
    """Write a dense X, to be mapped into memory when it is read."""
    _refuse_target(path, table)
    if not isinstance(table.X, np.ndarray):
        raise InvalidInputError(
            f"{path} cannot be written: an npy file is dense but X is sparse; write an npz or "
            "Matrix Market file."
        )
    with replacing(path) as file:
        np.save(file, np.asarray(table.X), allow_pickle=False)


def read_matrix_market(path: PathLike, stream: BinaryIO, **options: Any) -> Table:
    """Read a matrix: sparse where the file lists coordinates, dense where it lists all numbers."""
    from scipy.io import mmread  # not needed to import the library

    with failures(path, "matrix-market"):
        content = stream.read()
        lines = [line for line in content.splitlines() if line.strip() and line[:1] != b"%"]
        if b" array " in content[:100] and b" general" in content[:100]:
            rows, columns = map(int, lines[0].split()[:2])
            if sum(len(line.split()) for line in lines[1:]) < rows * columns:
                raise EOFError  # SciPy crashes where such a file was cut
        X = mmread(io.BytesIO(content))
    return matrix_table(title_of(path), X, **options)


def write_matrix_market(path: Path, table: Table) -> None:
    """Write X: coordinates where it is sparse, all numbers where it is dense."""
    from scipy.io import mmwrite

    _refuse_target(path, table)
    with replacing(path, compress=True) as file:
        mmwrite(file, table.X, symmetry="general")


def read_svmlight(
    title: str,
    text: bytes,
    *,
    index_base: int | None = None,
    n_features: int | None = None,
    multilabel: bool = False,
    dtype: DTypeLike | None = None,
    encoding: Encoding | None = None,
) -> Table:
    """Read lines ``label index:value index:value ...``, as :func:`read_table` describes."""
    from sklearn.datasets import load_svmlight_file  # slow to import

    if encoding is not None:
        index_base = encoding.index_base if index_base is None else index_base
        n_features = encoding.n_features if n_features is None else n_features
    with failures(title, "svmlight"):
        X, y = load_svmlight_file(
            io.BytesIO(text), dtype=real_type(dtype), multilabel=multilabel, zero_based=True
        )
    first = int(X.indices.min()) if X.nnz else 1
    base = min(first, 1) if index_base is None else index_base
    if base not in (0, 1) or first < base or (X.nnz == 0 and n_features is None):
        raise InvalidInputError(
            f"{title} has indices from {first} on, {X.nnz} in all, which does not fit index_base="
            f"{base}; check that it is svmlight text, or give index_base 0 or 1, and n_features if "
            "there is no entry."
        )
    notes: tuple[str, ...] = ()
    width = max(X.shape[1] - base, 1)
    matrix: Any = as_csr(
        sparse.csr_array((X.data, X.indices - base, X.indptr), shape=(X.shape[0], width))
    )
    if n_features is not None:
        unseen = len(np.unique(matrix.indices[matrix.indices >= n_features]))
        if unseen:
            notes = (f"ignored {counted(unseen, 'feature')} after the last of {n_features}",)
        matrix.resize(X.shape[0], n_features)
    matrix.eliminate_zeros()
    names = None
    if multilabel:
        from sklearn.preprocessing import MultiLabelBinarizer

        labels = MultiLabelBinarizer()
        y = labels.fit_transform(y).astype(np.float64)
        names = tuple(f"{label:g}" for label in labels.classes_)
    used = Encoding(index_base=base, n_features=matrix.shape[1])
    return replace(matrix_table(title, matrix, y, None, names), encoding=used, notes=notes)


def write_svmlight(path: Path, table: Table) -> None:
    """Write a table at full precision, counting from 1.

    If the last column has no entry, an explicit zero in the first line keeps the number of
    features.
    """
    if table.y is None or table.y.ndim != 1 or table.y.dtype.kind != "f":
        held = "no target" if table.y is None else f"a target of {table.y.shape}, {table.y.dtype}"
        raise InvalidInputError(
            f"{path} cannot be written: svmlight lines begin with one number as target but the "
            f"table has {held}; give one number per row or write an npz file."
        )
    rows, columns = table.shape
    with replacing(path, compress=True) as file:
        for start in range(0, rows, 1024):
            part = sparse.csr_array(table.X[start : start + 1024])
            lines = []
            for row, label in enumerate(table.y[start : start + 1024].tolist()):
                chosen = slice(part.indptr[row], part.indptr[row + 1])
                indices = (part.indices[chosen] + 1).tolist()
                pairs = list(map("{}:{!r}".format, indices, part.data[chosen].tolist()))
                if start + row == 0 and (not indices or indices[-1] != columns):
                    pairs.append(f"{columns}:0")
                lines.append(" ".join([repr(label), *pairs]) + "\n")
            file.write("".join(lines).encode("ascii"))


def read_bag_of_words(
    path: PathLike,
    stream: BinaryIO,
    *,
    vocabulary: PathLike | None = None,
    dtype: DTypeLike | None = None,
    **roles: Any,
) -> Table:
    """Read UCI counts: lines of documents D, words W and entries N, then N of document word count.

    Documents and words are numbered from 1. The words themselves are the lines of `vocabulary`, by
    default ``vocab.NAME.txt`` beside ``docword.NAME.txt``.
    """
    title = title_of(path)
    with failures(path, "bag-of-words"):
        documents, words, entries = (int(stream.readline(80)) for _ in range(3))
        triples = np.zeros((0, 3), dtype=np.int64)
        if entries:
            triples = np.loadtxt(stream, dtype=np.int64, ndmin=2).reshape(-1, 3)
        rows, columns, counts = triples.T
        if len(triples) != entries:
            raise ValueError(f"{len(triples)} entries instead of {entries}")
        X = sparse.coo_array(
            (counts.astype(real_type(dtype)), (rows - 1, columns - 1)), shape=(documents, words)
        )
    place = _vocabulary_beside(path) if vocabulary is None else Path(vocabulary)
    names = None
    if place is not None and (vocabulary is not None or place.is_file()):
        names = read_lines(place)
        if len(names) != words:
            raise InvalidInputError(
                f"{place} holds {len(names)} words but {title} has {words} columns; give the "
                "vocabulary that belongs to it."
            )
    return matrix_table(title, as_csr(X), None, names, **roles)


def write_bag_of_words(path: Path, table: Table) -> None:
    """Write word counts, and the words to a vocab file if they are known."""
    _refuse_target(path, table)
    X = sparse.csr_array(table.X, copy=True)  # the caller's own keeps its stored zeros
    X.eliminate_zeros()
    wrong = X.data[(X.data < 1) | (X.data != np.rint(X.data))]
    if len(wrong):
        raise InvalidInputError(
            f"{path} cannot be written: bag-of-words files hold counts but the table holds "
            f"{wrong[0]}; round it or write an npz file."
        )
    if table.feature_names is not None:
        place = _vocabulary_beside(path)
        if place is None or any({"\n", "\r"} & set(name) for name in table.feature_names):
            raise InvalidInputError(
                f"{path} cannot be written: its words belong in a file beside it, one per line, "
                "so it must be called docword.NAME.txt and no word may have a line break; rename "
                "it or leave out the feature names."
            )
        with replacing(place) as file:
            file.write("".join(f"{word}\n" for word in table.feature_names).encode())
    with replacing(path, compress=True) as file:
        file.write("{}\n{}\n{}\n".format(*X.shape, X.nnz).encode())
        for row in range(X.shape[0]):
            chosen = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip((X.indices[chosen] + 1).tolist(), X.data[chosen].tolist(), strict=True)
            file.write("".join(f"{row + 1} {word} {int(n)}\n" for word, n in pairs).encode())


def _vocabulary_beside(path: PathLike) -> Path | None:
    """Return the path of the vocabulary of docword.NAME.txt: vocab.NAME.txt, never compressed."""
    place = Path(path)
    name = place.stem if place.suffix.lower() in COMPRESSIONS else place.name
    if not name.lower().startswith("docword."):
        return None
    return place.with_name("vocab." + name[len("docword.") :])


def _refuse_target(path: Path, table: Table) -> None:
    if table.y is not None:
        raise InvalidInputError(
            f"{path} cannot be written: such a file holds a matrix and no target; write an npz "
            "file, or a Table without y."
        )
