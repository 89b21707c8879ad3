"""`sketchlasso explore` and `topics serve`: a network or a model in the browser."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.cli import Interrupted
from sketchlasso.interfaces.commands.images import TopicModel
from sketchlasso.interfaces.commands.screen import Report, Screen
from sketchlasso.interfaces.web import serve as serve_explorer


@dataclass(frozen=True)
class ViewOptions:
    """Where the explorer is served."""

    host: Annotated[str, "Address to listen on; by default this machine only."] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 for one that is free.", min=0, max=65535)
    ] = 8000
    open: Annotated[bool, "Open the page in the browser."] = False
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A host name that requests may use, besides localhost and the address that the "
            "server listens on; * for any; may be repeated.",
        ),
    ] = None

    def serve(
        self,
        screen: Screen,
        data: dict[str, Any],
        shown: Any,
        images: sl.topics.WordImages | None = None,
        source: str = "a network",
    ) -> Report:
        """Serve an imager or a graph until Ctrl-C, then report `data`.

        The server prints its address to stdout, or to stderr if stdout is for a JSON document.
        """
        where = (self.host, self.port, self.open)
        hosts = self.allowed_host or ()
        # uvicorn ends at Ctrl-C and then sends it again.
        with suppress(Interrupted), redirect_stdout(sys.stderr) if screen.json else nullcontext():
            serve_explorer(shown, images, *where, source=source, allowed_hosts=hosts)
        return Report(data, text="the explorer ended")


def explore(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="A file written by network or topics graph: .graphml, .gexf, .json or .csv.",
        ),
    ],
    view: ViewOptions,
    screen: Screen,
) -> Report:
    """Explore a network in the browser.

    Serves a page and a JSON API, by default to this machine only, until Ctrl-C.
    """
    graph = sl.graphs.read_graph(file)
    data = {"n_nodes": len(graph), "n_links": len(graph.edges)}
    return view.serve(screen, data, graph, source=file.name)


def serve(
    model: TopicModel,
    view: ViewOptions,
    screen: Screen,
    images: Annotated[
        Path | None,
        typer.Option(metavar="IMAGES", help="A file written by topics all, for the map."),
    ] = None,
) -> Report:
    """Explore a model in the browser.

    Serves a page and a JSON API, by default to this machine only, until Ctrl-C.
    """
    imager = sl.topics.load_topics(model)
    stored = None if images is None else sl.topics.load_images(images)
    return view.serve(screen, {"n_words": len(imager.words_)}, imager, stored)
