"""Random changes: to bytes, to text, and to the parts of containers with their checksum mended."""

from __future__ import annotations

import json
import re
import struct
from random import Random
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
from sketchlasso.storage.container import PREFIX

__all__ = ["mutated"]

NUMBERS = (
    0, 1, -1, 2, 127, 128, 255, 256, 2**15, 2**16 - 1, 100_000, 2**24, 2_000_000_000, 2**31 - 1,
    2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
WORDS = (
    "", "nan", "inf", "-inf", "1e100", "1e308", "-1e308", "1e400", "1e-320", "NA", "x", "0x10",
    "1_0", "1.5", "-0", "+1", "\u0661", "\ufeff", "\0", '"', "'", ",", ";", "\t", ":", "#", "%",
    "{", "[", "]", "}", "\\", "\\ud800", "null", "true", " ", "\r", "\u2028", "9" * 400, "9" * 5000,
    "🙂",
)  # fmt: skip
TOKEN = re.compile(rb"[^\s,;:{}\[\]\"]+")
TEXT = ("csv", "tsv", "svm", "mtx", "docword", "jsonl", "txt")


def mutated(sample: Sample, others: list[bytes], random: Random) -> tuple[str, bytes]:
    """One to four random changes to a sample: what was done, and the file."""
    content = sample.path.read_bytes()
    kind = sample.kind.partition(".")[0]
    packer = PACKERS.get(sample.path.suffix)
    if packer is not None and random.random() < 0.7:
        what, changed = _changed(kind, packer[0](content), others, random)
        return f"{what}, compressed again", packer[1](changed)
    if sample.own:
        return _own(content, random)
    if kind == "npz" and random.random() < 0.7:
        return _npz(content, random)
    return _changed("" if packer else kind, content, others, random)


def _changed(kind: str, content: bytes, others: list[bytes], random: Random) -> tuple[str, bytes]:
    done = []
    for _ in range(random.choice((1, 1, 2, 4))):
        textual = kind in TEXT and random.random() < 0.75
        change = random.choice(TEXT_CHANGES if textual else BYTE_CHANGES)
        content = change(content, random)
        done.append(change.__name__.lstrip("_"))
    if random.random() < 0.05:
        other = random.choice(others)
        content = (
            content[: random.randint(0, len(content))] + other[random.randint(0, len(other)) :]
        )
        done.append("splice")
    return " and ".join(done), content


def _flip(content: bytes, random: Random) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 3, 10))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + random.randbytes(random.choice((1, 2, 4, 16))) + content[place + 4 :]


def _integer(content: bytes, random: Random) -> bytes:
    """Put a revealing number where a length, an offset or a count may be."""
    form = random.choice(("<I", ">I", "<Q", ">Q", "<H", "<B"))
    size = struct.calcsize(form)
    value = struct.pack(form, random.choice(NUMBERS) % (1 << 8 * size))
    place = random.randint(0, max(0, len(content) - size))
    return content[:place] + value + content[place + size :]


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randint(0, len(content))]


def _remove(content: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + content[place + random.choice((1, 4, 8, 64, 400)) :]


def _insert(content: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + random.randbytes(random.choice((1, 4, 8, 64))) + content[place:]


def _repeat(content: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    part = content[place : place + random.choice((1, 8, 64, 400))]
    return content[:place] + part * random.choice((2, 10, 1000)) + content[place:]


def _word(content: bytes, random: Random) -> bytes:
    """Replace a word by one that often reveals faults."""
    found = list(TOKEN.finditer(content))
    if not found:
        return content
    chosen = random.choice(found[:6] if random.random() < 0.3 else found)
    value = random.choice(WORDS) if random.random() < 0.6 else str(random.choice(NUMBERS))
    return content[: chosen.start()] + value.encode() + content[chosen.end() :]


def _lines(content: bytes, random: Random) -> bytes:
    """Repeat, drop, swap or join lines."""
    lines = content.split(b"\n")
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(4)
    if action == 0:
        lines.insert(first, lines[second])
    elif action == 1:
        del lines[first]
    elif action == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[first] += b" " + lines[second]
    return b"\n".join(lines)


def _characters(content: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + random.choice(WORDS).encode() + content[place:]


BYTE_CHANGES = (_flip, _overwrite, _integer, _integer, _cut, _remove, _insert, _repeat)
TEXT_CHANGES = (_word, _word, _word, _lines, _characters)


def _own(content: bytes, random: Random) -> tuple[str, bytes]:
    """Change one of our containers; its checksum is usually made valid again."""
    if random.random() < 0.1:
        return _changed("", content, [content], random)
    if random.random() < 0.3:
        what, payload = _changed("", content[PREFIX.size :], [content], random)
        return f"{what}, checksum mended", framed(payload)
    header, arrays = read_own(content)
    if random.random() < 0.5:
        what, arrays = _with_array(arrays, random)
        return what, write_own(header, arrays)
    what, header, marks = _with_fact(header, random)
    text = header_text(header, arrays)
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return what, write_own(header, arrays, text=text)


def _npz(content: bytes, random: Random) -> tuple[str, bytes]:
    what, arrays = _with_array(read_zip(content), random)
    return what, write_zip(arrays)


def _with_array(arrays: Parts, random: Random) -> tuple[str, Parts]:
    name = random.choice(list(arrays))
    changes = (_entry, _entry, _entry, _type, _shape, _header, _absent)
    change = random.choice(changes)
    changed = change(np.array(arrays[name]), random)
    what = f"{change.__name__.lstrip('_')} of {name}"
    if changed is None:
        return what, {key: array for key, array in arrays.items() if key != name}
    return what, {**arrays, name: changed}


def _entry(array: Any, random: Random) -> Any:
    if not array.size or array.dtype.kind not in "iuf":
        return array
    values: tuple[Any, ...] = (*NUMBERS, array.size, array.size + 100_000, float(array.max()) + 1)
    if array.dtype.kind == "f":
        values = (*values, np.nan, np.inf, -np.inf, 1e100, 1e300, 1e-320)
    elif random.random() < 0.7:
        array = array.astype(np.int64)
    for _ in range(random.choice((1, 1, 3))):
        value = random.choice(values)
        with np.errstate(all="ignore"):
            kept = int(value) % 2**63 if array.dtype.kind in "iu" else value
            changed = np.array([kept]).astype(array.dtype)
        array.flat[random.randrange(array.size)] = -changed[0] if value == -1 else changed[0]
    return array


def _type(array: Any, random: Random) -> Any:
    kind = random.choice(("f4", "f8", "i1", "i8", "u8", "c16", "U3", "S3", "?", "M8[s]", "O", "f2"))
    with np.errstate(all="ignore"):
        try:
            return array.astype(kind)
        except (ValueError, TypeError):
            return np.zeros(array.shape, dtype=kind)


def _shape(array: Any, random: Random) -> Any:
    choices = (
        lambda: array[..., None],
        lambda: array.ravel(),
        lambda: array[:0] if array.ndim else array,
        lambda: array[:-1] if array.ndim else array,
        lambda: array.T[:-1].T if array.ndim else array,
        lambda: np.concatenate([np.atleast_1d(array)] * 2),
        lambda: array.sum(),
        lambda: np.asfortranarray(array),
    )
    try:
        return random.choice(choices)()
    except TypeError:
        return array.ravel()


def _header(array: Any, random: Random) -> bytes:
    shape = tuple(random.choice((*array.shape, *NUMBERS)) for _ in range(random.randint(0, 3)))
    descr = random.choice((array.dtype.str, array.dtype.str, "|O", "<U9999999", "<f8", "|b1"))
    content = npy_bytes(array)
    return npy_claiming(shape, descr, content[len(content) // 2 :])


def _absent(array: Any, random: Random) -> None:
    return None


def _with_fact(header: Any, random: Random) -> tuple[str, Any, dict[bytes, bytes]]:
    """Change one value somewhere in a header, at any depth."""
    copy = json.loads(json.dumps(header))
    place, key = copy, random.choice(list(copy))
    while isinstance(place[key], dict) and place[key] and random.random() < 0.8:
        place, key = place[key], random.choice(list(place[key]))
    if random.random() < 0.2:
        del place[key]
        return f"no {key}", copy, {}
    raw: tuple[bytes, ...] = (
        b"NaN", b"Infinity", b"1e999", b"9" * 5000, b'"\\ud800"', DEEP, b"-1", b"0", b"1e18",
        b"null", b"true", b'""', b'"text"', b"[]", b"{}", b"[[1]]", b"18446744073709551616",
        b"-0.5", b'"realised"', b"[null]", b'{"a": {"b": 1}}', b'{"array": 1}',
        b'{"radius": [1, 2]}',
    )  # fmt: skip
    value = random.choice(raw)
    place[key] = "@@"
    return f"{key} is {value[:20].decode()}", copy, {b'"@@"': value}
