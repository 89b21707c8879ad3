"""The explorer as an application, and as a server on this machine."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

import sketchlasso as sl
from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.protection import LOOPBACK, Protection, read_host

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI

    from sketchlasso.interfaces.web.gate import Gate

__all__ = ["assembled", "create_app", "missing_web", "run_server", "serve"]

TITLE = "sketchlasso topic explorer"
SUMMARY = (
    "Ask a corpus about a word: the word is regressed on all the others, and the sparse answer is "
    "its image. Everything is read with GET; every refusal is a status and one sentence."
)
READABLE = "query the model and read its documents"
# Connections that wait in the system's queue to be accepted.
QUEUE = 2048
# Seconds that a connection stays open after an answer.
IDLE_SECONDS = 5


def create_app(
    imager: sl.topics.TopicImager,
    images: sl.topics.WordImages | None = None,
    *,
    limits: Limits | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """Make the application that serves the explorer and its API.

    Parameters
    ----------
    imager : TopicImager
        Fitted.
    images : WordImages, optional
        What its `image_all` gave, for the map.
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
    InvalidInputError
        The images are of another vocabulary.
    """
    try:
        import fastapi  # noqa: F401 - its absence has a sentence of its own

        from sketchlasso.interfaces.web.answers import Answers
        from sketchlasso.interfaces.web.gate import Gate
        from sketchlasso.interfaces.web.mapping import MapDesk
        from sketchlasso.interfaces.web.routes import SOLVED, api_routes, page_routes
    except ModuleNotFoundError as missing:
        raise missing_web(missing) from missing
    limits = Limits() if limits is None else limits
    answers = Answers(imager, images, limits)
    # Completions are quick, and must not wait for solves: they have a worker of their own.
    gate, quick = Gate(limits), Gate(replace(limits, workers=1))
    desk = MapDesk(imager, images, answers.frequency, limits)

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        # Not through the gate: compiling may take longer than any query is allowed to.
        await asyncio.to_thread(answers.warm)
        desk.start()
        yield
        for part in (gate, quick, desk):
            part.close()

    routers = (api_routes(answers, desk, gate, quick, limits), page_routes())
    return assembled(TITLE, SUMMARY, routers, lifespan, (gate, SOLVED), hosts)


def assembled(
    title: str,
    summary: str,
    routers: Sequence[APIRouter],
    lifespan: Any,
    door: tuple[Gate, Sequence[str]],
    hosts: Sequence[str],
) -> FastAPI:
    """Make an application of its routes, with refusals and protection around them.

    Parameters
    ----------
    title, summary : str
        For /docs.
    routers : sequence of APIRouter
    lifespan : callable
        What to do before the first request and after the last.
    door : Gate and sequence of str
        The addresses that are refused while the gate is full.
    hosts : sequence of str
        See :func:`create_app`.

    Returns
    -------
    FastAPI
    """
    from fastapi import FastAPI

    from sketchlasso.interfaces.web.door import Door
    from sketchlasso.interfaces.web.problems import add_problems

    application = FastAPI(
        title=title,
        description=summary,
        version=sl.__version__,
        # Their pages come from a CDN; ours is at /docs.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    for router in routers:
        application.include_router(router)
    add_problems(application)
    gate, paths = door
    application.add_middleware(Door, gate=gate, paths=paths)
    application.add_middleware(Protection, hosts=hosts)
    return application


def serve(
    imager: sl.topics.TopicImager,
    images: sl.topics.WordImages | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    open_browser: bool = False,
    *,
    allowed_hosts: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Serve the explorer until Ctrl-C.

    Parameters
    ----------
    imager : TopicImager
        Fitted.
    images : WordImages, optional
        What its `image_all` gave, for the map.
    host : str
        Address to listen on. Any but this machine's own draws a warning.
    port : int
        0 for one that is free.
    open_browser : bool
        Whether to open the page once the server answers.
    allowed_hosts : sequence of str
        Names by which the server may be called in the Host header, beside `host`, localhost and
        the address that a connection came to; ``["*"]`` for any.
    limits : Limits, optional

    Raises
    ------
    MissingExtraError
        The extra `web` is not installed.
    InvalidInputError
        The port is taken, the address is not one of this machine, or an allowed host is no name.
    """
    make = partial(create_app, imager, images)
    run_server(make, host, port, open_browser, allowed_hosts, limits, READABLE)


def run_server(
    make: Callable[..., FastAPI],
    host: str,
    port: int,
    open_browser: bool,
    allowed_hosts: Sequence[str],
    limits: Limits | None,
    readable: str,
) -> None:
    """Serve an application until Ctrl-C.

    Parameters
    ----------
    make : callable
        Makes the application from `limits` and `hosts`.
    host, port, open_browser, allowed_hosts, limits
        See :func:`serve`.
    readable : str
        What everyone can do who reaches the server, for the warning.
    """
    limits = Limits() if limits is None else limits
    application = make(limits=limits, hosts=(*LOOPBACK, host, *map(read_host, allowed_hosts)))
    try:
        import uvicorn

        from sketchlasso.interfaces.web.connections import ACCEPTED_AT_ONCE, connection_class
    except ModuleNotFoundError as missing:
        raise missing_web(missing) from missing
    with _listening(host, port) as listener, _ending_quietly(), threadpool_limits(1):
        address = _address(host, listener.getsockname()[1])
        if host not in LOOPBACK:
            print(
                f"warning: the explorer listens on {host}, so everyone who can reach this machine "
                f"can {readable}; leave the host out to keep it here.",
                file=sys.stderr,
            )
        config = uvicorn.Config(
            application,
            # The guard against slow clients is written for these.
            http=connection_class(limits),
            loop="asyncio",
            ws="none",
            backlog=ACCEPTED_AT_ONCE,
            # Bad requests are answered, and not logged: anyone could fill the log with them.
            log_level="error",
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        _announce_when_started(server, listener, address, open_browser)
        server.run(sockets=[listener])


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket bound before anything starts, so that a taken port is one sentence."""
    if not 0 <= port < 2**16:  # the system would take what is left after division
        raise sl.errors.InvalidInputError(
            f"port={port} was given, but ports go from 0 to {2**16 - 1}; give another one."
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        # Only where the protocol is named does asyncio send small answers without delay.
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise sl.errors.InvalidInputError(
            f"{host} port {port} is no address of this machine ({error}); give another host."
        ) from error
    with listener:
        try:
            if sys.platform != "win32":  # there the option would let two servers share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            raise sl.errors.InvalidInputError(
                f"{host} port {port} cannot be listened on ({error.strerror}); give another "
                "port, or 0 for one that is free."
            ) from error
        yield listener


@contextmanager
def _ending_quietly() -> Iterator[None]:
    """Let Ctrl-C end the server and nothing else, whatever it means to the caller."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


def _announce_when_started(
    server: Any, listener: socket.socket, address: str, open_browser: bool
) -> None:
    """Say where the page is, once it can be opened. Changes `server`."""
    from sketchlasso.interfaces.web.connections import report_exhaustion_once

    startup = server.startup

    async def announced(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets=sockets)
        # uvicorn has one number for the queue and for how many are accepted at once.
        listener.listen(QUEUE)
        report_exhaustion_once(asyncio.get_running_loop())
        print(f"The explorer is at {address} (Ctrl-C ends it).", flush=True)
        if open_browser:
            # A browser may take its time, and some run in the terminal.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server.startup = announced


def _address(host: str, port: int) -> str:
    named = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{named}]' if ':' in named else named}:{port}/"


def missing_web(error: ModuleNotFoundError) -> sl.errors.MissingExtraError:
    """Return the error for a package of the extra `web` that is not installed."""
    return sl.errors.MissingExtraError("the explorer", str(error.name), "web")
