"""Faults that must be refused, made on purpose: one list for every kind of file."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.fuzz.containers import (
    DEEP,
    PACKERS,
    Parts,
    framed,
    header_text,
    npy_bytes,
    npy_claiming,
    read_own,
    read_zip,
    write_own,
    write_zip,
)
from benchmarks.fuzz.samples import Sample

__all__ = ["Fault", "faults_of"]

# What was done, the file or what makes it where that takes long, and the exit codes accepted.
Fault = tuple[str, bytes | Callable[[], bytes], tuple[int, ...]]
BAD_FILE = (3,)
UNUSABLE = (2, 3)
HUGE = 1_000_000_000_000
BOMB = 1 << 32
INDICES = {
    "n": lambda n: n,
    "-1": lambda n: -1,
    "n + 1e5": lambda n: n + 100_000,
    "2e9": lambda n: 2_000_000_000,
    "2^63 - 1": lambda n: 2**63 - 1,
}


def faults_of(sample: Sample) -> Iterator[Fault]:
    """Faults of a kind of file that no command may pass over."""
    content = sample.path.read_bytes()
    kind = sample.kind.partition(".")[0] if not sample.own else "own"
    yield from _MAKERS.get(kind, lambda content: ())(content)
    packer = PACKERS.get(sample.path.suffix)
    if packer is not None:
        yield from _bombs(packer[1])
    if kind not in ("txt",):
        yield "empty file", b"", UNUSABLE
    if packer is not None or sample.kind in ("npz", "npy", "parquet", "arrow") or sample.own:
        yield "cut in half", content[: len(content) // 2], BAD_FILE


def _own(content: bytes) -> Iterator[Fault]:
    header, arrays = read_own(content)
    ends = next((array for name, array in arrays.items() if name.endswith("words_ends")), ())
    for what, changed in _array_faults(arrays, header.get("n_features", len(ends))):
        yield what, write_own(header, changed), BAD_FILE
    text = header_text(header, arrays)
    deep = text[:-1] + b', "settings": ' + DEEP + b"}"
    yield "header nested deeply", write_own(header, arrays, text=deep), BAD_FILE
    yield "header of brackets", write_own(header, arrays, text=DEEP), BAD_FILE
    for length in (HUGE, 2**64 - 1, len(text) + 10**9):
        yield f"header of {length} bytes", write_own(header, arrays, length=length), BAD_FILE
    for names in ("x", 3, None, ["P"] * 5, [["P"]], [{}], [*arrays, "more"]):
        changed = json.dumps({**header, "arrays": names}).encode()
        yield f"arrays called {names}", write_own(header, arrays, text=changed), BAD_FILE
    for value in (b"NaN", b"1e999", b"-1", b'"text"', b"null", b"9" * 5000, b'"\\ud800"'):
        for key in ("n_features", "radius", "n_words", "content"):
            if key in header:
                text = header_text({**header, key: "@@"}, arrays).replace(b'"@@"', value)
                what = f"{key} is {value[:9].decode()}"
                yield what, write_own(header, arrays, text=text), BAD_FILE
    for key in [key for key in header if key not in ("target_name", "library")]:
        rest = {name: value for name, value in header.items() if name != key}
        if key in ("settings", "estimator", "radius", "method", "corpus", "sketch", "n_words"):
            yield f"no {key}", write_own(rest, arrays), BAD_FILE
    for name in arrays:
        if name.endswith(("indptr", "indices", "P", "Q", "words_ends")):
            rest = {key: array for key, array in arrays.items() if key != name}
            yield f"no array {name}", write_own(header, rest), BAD_FILE
    yield "empty payload", framed(b""), BAD_FILE


def _array_faults(arrays: Parts, width: int) -> Iterator[tuple[str, Parts]]:
    """Changes to arrays that leave the container sound and its content wrong.

    `width` is the number of columns, or of what else the indices count.
    """
    for name, array in arrays.items():
        end = name.rpartition(".")[2].rpartition("_")[2]
        if end == "indices" and len(array):
            for label, index in INDICES.items():
                changed = array.astype(np.int64)
                changed[len(changed) // 2] = index(width)
                yield f"{name} with {label}", {**arrays, name: changed}
        if end in ("indptr", "ends") and len(array) > 2:
            for label, place, value in (
                ("not monotone", 1, int(array[-1]) + 1),
                ("negative", 1, -5),
                ("beyond the end", len(array) - 1, int(array[-1]) + 100_000),
                ("huge", 1, 2**62),
            ):
                changed = array.astype(np.int64)
                changed[place] = value
                yield f"{name} {label}", {**arrays, name: changed}
            yield f"{name} shorter", {**arrays, name: array[:-1]}
            yield f"{name} longer", {**arrays, name: np.append(array, array[-1])}
        if end in ("indices", "indptr", "ends"):
            yield f"{name} as floats", {**arrays, name: array.astype(np.float64)}
            yield f"{name} as text", {**arrays, name: array.astype(str)}
            yield f"{name} as a matrix", {**arrays, name: array[:, None]}
        if end in ("P", "Q", "data", "intercept", "X"):
            yield f"{name} as objects", {**arrays, name: array.astype(object)}
            yield f"{name} as text", {**arrays, name: array.astype(str)}
            yield f"{name} as complex numbers", {**arrays, name: array + 1j}
            yield from _claims(name, arrays)
        if name in ("P", "Q", "sketch.P", "sketch.Q"):
            yield f"{name} with a row less", {**arrays, name: array[:, :-1]}
        if name in ("P", "Q", "sketch.P", "coef.data", "data") and array.size:
            changed = array.astype(np.float64)
            changed.flat[0] = np.nan
            yield f"{name} with NaN", {**arrays, name: changed}


def _claims(name: str, arrays: Parts) -> Iterator[tuple[str, Parts]]:
    for shape in (f"({HUGE},)", f"({HUGE}, {HUGE})", "(-1, 4)", "(2**70,)", f"({2**62}, 8)"):
        yield f"{name} claims {shape}", {**arrays, name: npy_claiming(shape)}
    for descr in ("|O", "<U1000000000", "|V0", "|S0", "<f16", "nonsense"):
        yield f"{name} claims {descr}", {**arrays, name: npy_claiming("(3,)", descr)}
    yield f"{name} claims text of no size", {**arrays, name: npy_claiming(f"({HUGE},)", "<U0")}
    nested = "(" * 3000 + ")" * 3000
    yield f"{name} with a nested header", {**arrays, name: npy_claiming(nested)}
    yield f"{name} with a signed header", {**arrays, name: npy_claiming("-" * 5000 + "1")}


def _npz(content: bytes) -> Iterator[Fault]:
    arrays = read_zip(content)
    form = arrays["format"].item() if "shape" in arrays else b""
    width = int(arrays["shape"][0 if form == b"csc" else 1]) if form else 0
    if form == b"bsr":
        width //= arrays["data"].shape[2]
    for what, changed in _array_faults(arrays, width):
        values = what.endswith(("NaN", "text", "numbers")) or "claims |" in what or "<" in what
        yield what, write_zip(changed), UNUSABLE if values else BAD_FILE
    if "shape" in arrays:
        for shape in ([HUGE, HUGE], [-3, 4], [2**62, 4], [12], [3, 4], [12, HUGE], [12, 4, 2]):
            yield f"shape {shape}", write_zip({**arrays, "shape": np.array(shape)}), BAD_FILE
        for other in (b"xyz", b"csr" * 9, b""):
            yield f"format {other!r}", write_zip({**arrays, "format": np.array(other)}), BAD_FILE
        for what in ("row", "col"):
            if what in arrays:
                for label, index in INDICES.items():
                    changed = arrays[what].astype(np.int64)
                    changed[0] = index(int(arrays["shape"][0 if what == "row" else 1]))
                    file = write_zip({**arrays, what: changed})
                    yield f"{what} with {label}", file, BAD_FILE
    if form in (b"", b"csr"):
        name = "data" if form else "X"
        yield f"{name} inflates to 4 GB", lambda: _zip_bomb(arrays, name), UNUSABLE


def _zip_bomb(arrays: Parts, name: str) -> bytes:
    """An npz file of some MB with a member of 4 GB, as its header says."""
    rows = BOMB // 32
    head = npy_claiming(f"({rows}, 4)" if name == "X" else f"({4 * rows},)", content=b"")
    others = {key: array for key, array in arrays.items() if key != name}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for key, array in others.items():
            archive.writestr(f"{key}.npy", npy_bytes(array))
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            member.write(head)
            for _ in range(BOMB >> 24):
                member.write(bytes(1 << 24))
    return file.getvalue()


def _npy(content: bytes) -> Iterator[Fault]:
    for what, changed in _claims("X", {"X": np.zeros(1)}):
        yield what, changed["X"], UNUSABLE if "claims |" in what or "<" in what else BAD_FILE
    yield "objects", npy_bytes(np.array([[None, {}]], dtype=object)), BAD_FILE
    yield "version 9", content[:6] + b"\x09\x00" + content[8:], BAD_FILE
    yield "header of 65535 bytes", content[:8] + b"\xff\xff" + content[10:], BAD_FILE
    large = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + content[10:]
    yield "header of 4 GB", large, BAD_FILE


def _svm(content: bytes) -> Iterator[Fault]:
    for index in (2**31, 2**63, 2**64 + 1, -1, 10**30):
        yield f"index {index}", b"1.0 1:2.0\n" + f"2.0 {index}:1.0\n".encode(), UNUSABLE
    yield "index 2^31 - 1", b"1.0 1:2.0\n2.0 2147483647:1.0\n", UNUSABLE
    yield "index text", b"1.0 1:2.0\n2.0 one:1.0\n", UNUSABLE
    yield "a line of 64 MB", b"1.0 1:2.0\n" + b"7" * (1 << 26), UNUSABLE


def _mtx(content: bytes) -> Iterator[Fault]:
    for form, sizes in (
        ("coordinate real general", f"{HUGE} 4 3"),
        ("coordinate real general", f"4 {HUGE} 3"),
        ("coordinate real general", f"4 4 {HUGE}"),
        ("coordinate real general", f"{2**70} 4 3"),
        ("coordinate pattern symmetric", f"{HUGE} {HUGE} {HUGE}"),
        ("array real general", f"{HUGE} 4"),
        ("array real general", f"{2**33} {2**33}"),
        ("coordinate real general", "-4 4 3"),
        ("coordinate real general", "4 4 -3"),
        ("coordinate real general", "4 4"),
        ("coordinate real general", "4.5 4 3"),
    ):
        body = "1 1 1.0\n2 2 1.0\n3 3 1.0\n"
        yield (
            f"{form}: {sizes}",
            f"%%MatrixMarket matrix {form}\n{sizes}\n{body}".encode(),
            UNUSABLE,
        )
    for entry in ("5 1 1.0", "0 1 1.0", "-1 1 1.0", f"{2**63} 1 1.0", "1 1 x"):
        text = f"%%MatrixMarket matrix coordinate real general\n4 4 1\n{entry}\n"
        yield f"entry {entry}", text.encode(), BAD_FILE


def _docword(content: bytes) -> Iterator[Fault]:
    for sizes in (
        (HUGE, 8, 3), (3, HUGE, 3), (3, 8, HUGE), (10**70, 8, 3), (3, 10**70, 3), (3, 8, 10**70),
    ):  # fmt: skip
        head = "{}\n{}\n{}\n".format(*sizes)
        yield f"header {head!r}", f"{head}1 1 1\n2 2 1\n3 3 1\n".encode(), UNUSABLE
    for triple in (
        "4 1 1",
        "1 9 1",
        "0 1 1",
        "1 0 1",
        f"{2**64} 1 1",
        f"1 1 {2**64}",
        "1 1",
        "x y z",
    ):
        yield f"triple {triple}", f"3\n8\n1\n{triple}\n".encode(), UNUSABLE


def _jsonl(content: bytes) -> Iterator[Fault]:
    yield "nested deeply", content + DEEP + b"\n", UNUSABLE
    yield "nested in a record", content + b'{"text": ' + DEEP + b"}\n", UNUSABLE
    yield "a number of 5000 digits", content + b'{"text": ' + b"9" * 5000 + b"}\n", UNUSABLE
    yield "not UTF-8", content + b'{"text": "\xff"}\n', BAD_FILE
    yield "a list", content + b"[1, 2]\n", UNUSABLE


def _table(content: bytes) -> Iterator[Fault]:
    yield "text in a column of numbers", content + b"1,2,x,4,5\n", UNUSABLE
    yield "NUL bytes", content + b"1,2,\0,4,5\n", UNUSABLE
    yield "a quotation mark without end", content + b'1,2,"' + b"3" * 300_000, UNUSABLE
    yield "a number of 1e6 digits", content + b"9" * 10**6 + b",1,2,3,4\n", UNUSABLE
    yield "one cell more", content + b"1,2,3,4,5,6\n", UNUSABLE


def _bombs(pack: Callable[[bytes], bytes]) -> Iterator[Fault]:
    """Compressed text that expands to gigabytes, in one line and in short ones."""
    for what, text in (("one line", b"0" * 4096), ("empty lines", b"\n" * 4096)):
        yield f"4 GB in {what}", partial(_repeated, pack, text), UNUSABLE
    yield "not compressed", b"1,2,3\n", BAD_FILE


def _repeated(pack: Callable[[bytes], bytes], text: bytes) -> bytes:
    """Streams one after another, which a reader takes for one stream."""
    return pack(text * (1 << 14)) * (BOMB >> 26)


_MAKERS: dict[str, Callable[[bytes], Any]] = {
    "own": _own,
    "npz": _npz,
    "npy": _npy,
    "jsonl": _jsonl,
    "csv": lambda content: () if content[:1] in b"\x1fB\xfd" else _table(content),
    "svm": lambda content: () if content[:1] == b"\x1f" else _svm(content),
    "mtx": lambda content: map(_zipped, _mtx(content)) if content[:1] == b"\x1f" else _mtx(content),
    "docword": lambda content: (
        map(_zipped, _docword(content)) if content[:1] == b"\x1f" else _docword(content)
    ),
}


def _zipped(fault: Fault) -> Fault:
    content = fault[1]
    assert isinstance(content, bytes)
    return f"{fault[0]}, compressed", gzip.compress(content), fault[2]
