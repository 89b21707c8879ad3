"""The files of the page: a fixed table, read once; no request ever names a file."""

from __future__ import annotations

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
    for file in files("sketchlasso.interfaces.web").joinpath("static").iterdir():
        name = file.name
        kind = KINDS.get(name[name.rfind(".") :])
        if kind is not None and (name == home or name not in HOMES):
            content = file.read_bytes()
            tag = f'"{sha256(content).hexdigest()[:16]}"'
            pages[addresses.get(name, f"/static/{name}")] = Page(content, kind, tag)
    return pages
