"""The files of the page: a fixed table, read once; no request ever names a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

__all__ = ["Page", "read_pages"]

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Markup that several pages share: under its name in parts.html, and named where it goes.
PART = re.compile(r"<!-- part: (\w+) -->")
# Addresses that are not those of files; all others lie under /static/.
ADDRESSES = {"docs.html": "/docs", "favicon.svg": "/favicon.ico"}
# First pages, of which a server has one.
HOMES = ("index.html", "network.html")


@dataclass(frozen=True)
class Page:
    """A file as it goes out."""

    content: bytes
    kind: str
    tag: str


def read_pages(home: str = "index.html") -> dict[str, Page]:
    """Return what lies at each address; `home` is one of HOMES."""
    addresses = {**ADDRESSES, home: "/"}
    pages = {}
    folder = files("sketchlasso.interfaces.web")
    _, *split = PART.split(folder.joinpath("parts.html").read_text(encoding="utf-8"))
    parts = dict(zip(split[::2], split[1::2], strict=True))
    for file in folder.joinpath("static").iterdir():
        name = file.name
        kind = KINDS.get(name[name.rfind(".") :])
        if kind is not None and (name == home or name not in HOMES):
            text = file.read_text(encoding="utf-8")
            content = PART.sub(lambda found: parts[found[1]].strip(), text).encode()
            tag = f'"{sha256(content).hexdigest()[:16]}"'
            pages[addresses.get(name, f"/static/{name}")] = Page(content, kind, tag)
    return pages
