"""Documents that are encoded once: the files of the page, and maps; needs the extra `web`."""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from fastapi import APIRouter, Request, Response

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Markup that several pages share: under its name in parts.html, and named where it goes.
PART = re.compile(r"<!-- part: (\w+) -->")
# Addresses that differ from the names of files; all others lie under /static/.
ADDRESSES = {"docs.html": "/docs", "favicon.svg": "/favicon.ico"}
# First pages, of which a server has one.
HOMES = ("index.html", "network.html")


@dataclass(frozen=True)
class Page:
    """A document, encoded once for all requests; `zipped` is empty where it is not compressed."""

    content: bytes
    kind: str
    tag: str
    zipped: bytes = b""

    @classmethod
    def of(cls, text: str, kind: str, *, zipped: bool = False) -> Page:
        """Encode a document."""
        content = text.encode()
        tag = f'"{sha256(content).hexdigest()[:16]}"'
        return cls(content, kind, tag, gzip.compress(content, 6, mtime=0) if zipped else b"")

    def response(self, request: Request) -> Response:
        """Return the document in an encoding that the request accepts, or 304 if it is cached."""
        # Clients cache it but ask each time, so that a new version shows at once.
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        content = self.content
        if self.zipped:
            headers["vary"] = "accept-encoding"
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if self.zipped and "gzip" in request.headers.get("accept-encoding", ""):
            content = self.zipped
            headers["content-encoding"] = "gzip"
        return Response(content, media_type=self.kind, headers=headers)


def page_routes(home: str) -> APIRouter:
    """Return the routes of the page and its files; `home` is one of HOMES."""
    router = APIRouter(include_in_schema=False)
    for address, page in read_pages(home).items():
        router.add_api_route(address, _sender(page), methods=["GET"])
    return router


def _sender(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return page.response(request)

    return send


def read_pages(home: str = "index.html") -> dict[str, Page]:
    """Return the page at each address; requests look up this table and never name a file."""
    addresses = {**ADDRESSES, home: "/"}
    pages = {}
    folder = files("sketchlasso.interfaces.web")
    _, *split = PART.split(folder.joinpath("parts.html").read_text(encoding="utf-8"))
    parts = dict(zip(split[::2], split[1::2], strict=True))
    for file in folder.joinpath("static").iterdir():
        name = file.name
        kind = KINDS.get(name[name.rfind(".") :])
        if kind is not None and (name == home or name not in HOMES):
            text = PART.sub(lambda found: parts[found[1]].strip(), file.read_text(encoding="utf-8"))
            pages[addresses.get(name, f"/static/{name}")] = Page.of(text, kind)
    return pages
