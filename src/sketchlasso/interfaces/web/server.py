"""Explorers of topics and networks, as applications and as servers on this machine."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

import sketchlasso as sl
from sketchlasso.interfaces.web.limits import Limits

if TYPE_CHECKING:
    from fastapi import FastAPI

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HOST_NAME = re.compile(r"\*|[0-9a-zA-Z](?:[-_.0-9a-zA-Z]*[0-9a-zA-Z])?")
# Connections that wait in the system's queue to be accepted.
QUEUE = 2048
# Seconds that a connection stays open after an answer.
IDLE_SECONDS = 5


def create_app(
    shown: Any,
    images: sl.topics.WordImages | None = None,
    *,
    source: str = "a network",
    limits: Limits | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """Make the application that serves an explorer and its API.

    Parameters
    ----------
    shown : TopicImager or networkx.Graph
        A fitted imager, to explore its topics, or a network.
    images : WordImages, optional
        What `image_all` of the imager returned, for the map; not for a network.
    source : str
        What the page of a network says it shows, such as the name of a file.
    limits : Limits, optional
    hosts : sequence of str
        Host names that requests may use, besides the address that a connection came to;
        ``["*"]`` for any.

    Returns
    -------
    FastAPI

    Raises
    ------
    MissingExtraError
        The extra `web` is not installed.
    InvalidInputError
        There is nothing to explore in what is shown, or the images are of another vocabulary.
    """
    with _needing_web():
        import fastapi  # noqa: F401 - modules below may be loaded although it is missing

        from sketchlasso.interfaces.web.network import network_explorer
        from sketchlasso.interfaces.web.routes import topic_explorer
    limits = Limits() if limits is None else limits
    if isinstance(shown, sl.topics.TopicImager):
        return topic_explorer(shown, images, limits, hosts)
    if not hasattr(shown, "edges") or images is not None:
        extra = "" if images is None else " with images"
        raise sl.errors.InvalidInputError(
            f"a {type(shown).__name__} was given{extra}, but a fitted TopicImager, with or without "
            "its images, or a networkx graph alone is accepted; pass one of them."
        )
    return network_explorer(shown, source, limits, hosts)


def serve(
    shown: Any,
    images: sl.topics.WordImages | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    open_browser: bool = False,
    *,
    source: str = "a network",
    allowed_hosts: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Serve an explorer until Ctrl-C.

    Parameters
    ----------
    shown, images, source, limits
        See :func:`create_app`.
    host : str
        Address to listen on. A warning is printed if other machines can reach it.
    port : int
        0 for one that is free.
    open_browser : bool
        Whether to open the page once the server answers.
    allowed_hosts : sequence of str
        Host names that requests may use, besides `host`, localhost and the address that a
        connection came to; ``["*"]`` for any.

    Raises
    ------
    MissingExtraError
        The extra `web` is not installed.
    InvalidInputError
        The port is taken, the address is not one of this machine, or an allowed host is not a name.
    """
    limits = Limits() if limits is None else limits
    hosts = (*LOOPBACK, host, *map(read_host, allowed_hosts))
    application = create_app(shown, images, source=source, limits=limits, hosts=hosts)
    with _needing_web():
        import uvicorn

        from sketchlasso.interfaces.web.connections import ACCEPTED_AT_ONCE, connection_class
    with _listening(host, port) as listener, _ending_quietly(), threadpool_limits(1):
        address = _address(host, listener.getsockname()[1])
        if host not in LOOPBACK:
            network = not isinstance(shown, sl.topics.TopicImager)
            readable = "see the network" if network else "query the model and read its documents"
            print(
                f"warning: the explorer listens on {host}, so everyone who can reach this machine "
                f"can {readable}; leave the host out to keep it here.",
                file=sys.stderr,
            )
        config = uvicorn.Config(
            application,
            # The guard against slow clients needs this implementation and loop.
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


def read_host(host: str) -> str:
    """Return a name or address as Host headers have it, without port and brackets."""
    try:
        return str(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        if HOST_NAME.fullmatch(host):
            return host.lower()
    raise sl.errors.InvalidInputError(
        f"{host!a} was given as an allowed host, but a name or address without scheme and "
        "port is accepted, or * for any; give one such as 'topics.example.org'."
    )


@contextmanager
def _needing_web() -> Iterator[None]:
    """Name the missing extra if an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise sl.errors.MissingExtraError("the explorer", str(missing.name), "web") from missing


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that is bound before the server starts, so that errors are one sentence."""
    if not 0 <= port < 2**16:  # the system would take the remainder
        raise sl.errors.InvalidInputError(f"port must be from 0 to {2**16 - 1}, not {port}.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        # asyncio sends small answers without delay only if the protocol is named.
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise sl.errors.InvalidInputError(
            f"{host} port {port} is not an address of this machine ({error}); give another host."
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
    """Let Ctrl-C end only the server, regardless of the caller's handler."""
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
    """Print the address once the page can be opened. Changes `server`."""
    from sketchlasso.interfaces.web.connections import report_exhaustion_once

    startup = server.startup

    async def announced(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets=sockets)
        # uvicorn has one number for the queue and for how many are accepted at once.
        listener.listen(QUEUE)
        report_exhaustion_once(asyncio.get_running_loop())
        print(f"The explorer is at {address} (Ctrl-C ends it).", flush=True)
        if open_browser:
            # Starting a browser may take long, and some run in the terminal.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server.startup = announced


def _address(host: str, port: int) -> str:
    named = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{named}]' if ':' in named else named}:{port}/"
