"""Explorers of topics and networks, as applications and as servers on this machine."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

import sketchlasso as sl

if TYPE_CHECKING:
    from fastapi import FastAPI

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def create_app(
    shown: Any,
    images: sl.topics.WordImages | None = None,
    *,
    source: str = "a network",
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
        from sketchlasso.interfaces.web.network import network_explorer
        from sketchlasso.interfaces.web.topics import topic_explorer
    if isinstance(shown, sl.topics.TopicImager):
        return topic_explorer(shown, images, hosts)
    if not hasattr(shown, "edges") or images is not None:
        extra = "" if images is None else " with images"
        raise sl.errors.InvalidInputError(
            f"a {type(shown).__name__} was given{extra}; pass a fitted TopicImager, with or "
            "without its images, or a networkx graph alone."
        )
    return network_explorer(shown, source, hosts)


def serve(
    shown: Any,
    images: sl.topics.WordImages | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    open_browser: bool = False,
    *,
    source: str = "a network",
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve an explorer until Ctrl-C.

    Parameters
    ----------
    shown, images, source
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
        The port is taken, or the address is not one of this machine.
    """
    application = create_app(shown, images, source=source, hosts=(*LOOPBACK, host, *allowed_hosts))
    with _needing_web():
        import uvicorn
    config = uvicorn.Config(
        application,
        log_level="error",
        server_header=False,
        limit_concurrency=100,
        timeout_graceful_shutdown=2,
    )
    # uvicorn ends on Ctrl-C and then raises it again.
    with _listening(host, port) as listener, threadpool_limits(1), suppress(KeyboardInterrupt):
        if host not in LOOPBACK:
            network = not isinstance(shown, sl.topics.TopicImager)
            readable = "see the network" if network else "query the model and read its documents"
            print(
                f"warning: the explorer listens on {host}, so everyone who can reach this machine "
                f"can {readable}; leave the host out to keep it here.",
                file=sys.stderr,
            )
        address = _address(host, listener.getsockname()[1])
        # Connections wait in the queue of the socket until the server answers.
        print(f"The explorer is at {address} (Ctrl-C ends it).", flush=True)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _needing_web() -> Iterator[None]:
    """Name the missing extra if an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise sl.errors.MissingExtraError("the explorer", str(missing.name), "web") from missing


def _listening(host: str, port: int) -> socket.socket:
    """Listen before the server starts, so that a taken port is one sentence."""
    if not 0 <= port < 2**16:
        raise sl.errors.InvalidInputError(f"port must be from 0 to {2**16 - 1}, not {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise sl.errors.InvalidInputError(
            f"{host} port {port} cannot be listened on ({error.strerror}); give an address of this "
            "machine and another port, or port 0 for one that is free."
        ) from error


def _address(host: str, port: int) -> str:
    named = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{named}]' if ':' in named else named}:{port}/"
