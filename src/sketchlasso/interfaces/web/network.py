"""The explorer of a network: a page and a JSON API over a graph."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import sketchlasso as sl
from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.protection import LOOPBACK
from sketchlasso.interfaces.web.server import assembled, missing_web, run_server

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["create_network_app", "serve_network"]

TITLE = "sketchlasso network explorer"
SUMMARY = (
    "Ask a network about a node: what it is linked to, how strongly and how surely. Everything is "
    "read with GET; every refusal is a status and one sentence."
)
READABLE = "see the network"


def create_network_app(
    graph: sl.graphs.Graph,
    source: str = "a network",
    *,
    limits: Limits | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """Make the application that serves a network and its API.

    Parameters
    ----------
    graph : Graph
        From :func:`neighbourhoods`, :class:`SparsePrecision` or :func:`read_graph`, say.
    source : str
        What the page says it shows, such as the name of a file.
    limits : Limits, optional
    hosts : sequence of str
        Names by which the server may be called, beside the address that a connection came to;
        ``["*"]`` for any.

    Returns
    -------
    FastAPI

    Raises
    ------
    MissingExtraError
        The extra `web` is not installed.
    """
    try:
        from sketchlasso.interfaces.web.gate import Gate
        from sketchlasso.interfaces.web.network_answers import (
            ASKED,
            NetworkAnswers,
            network_routes,
        )
        from sketchlasso.interfaces.web.routes import page_routes
    except ModuleNotFoundError as missing:
        raise missing_web(missing) from missing
    limits = Limits() if limits is None else limits
    answers, gate = NetworkAnswers(graph, source, limits), Gate(limits)

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(answers.draw)
        yield
        gate.close()

    routers = (network_routes(answers, gate, limits), page_routes("network.html"))
    return assembled(TITLE, SUMMARY, routers, lifespan, (gate, ASKED), hosts)


def serve_network(
    graph: sl.graphs.Graph,
    source: str = "a network",
    host: str = "127.0.0.1",
    port: int = 8000,
    open_browser: bool = False,
    *,
    allowed_hosts: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Serve a network until Ctrl-C.

    Parameters
    ----------
    graph : Graph
    source : str
        What the page says it shows, such as the name of a file.
    host, port, open_browser, allowed_hosts, limits
        See :func:`serve`, which also says what is raised.
    """
    make = partial(create_network_app, graph, source)
    run_server(make, host, port, open_browser, allowed_hosts, limits, READABLE)
