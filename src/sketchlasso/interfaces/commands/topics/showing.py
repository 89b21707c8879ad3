"""Explorers (`sketchlasso explore`, `topics serve`), and `topics demo` on docstrings."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.command import program
from sketchlasso.interfaces.commands.options import Seed
from sketchlasso.interfaces.commands.report import Report
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.imaging import COMPILING, ask
from sketchlasso.interfaces.commands.topics.options import ImageOptions, TopicModel
from sketchlasso.interfaces.commands.topics.sheets import corpus_facts, image_data, image_sheet
from sketchlasso.interfaces.web import serve as serve_explorer

# Rank for the docstrings; larger than the default, because they cover many subjects.
DEMO_RANK = 200
DEMO_WORDS = ("fourier", "matrix", "random", "cluster", "file")


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
            help="A name by which the server may be called, beside localhost and the address it "
            "listens on; * for any; may be repeated.",
        ),
    ] = None

    def serve(
        self,
        screen: Screen,
        data: dict[str, Any],
        shown: Any,
        images: Any = None,
        source: str = "a network",
    ) -> Report:
        """Serve an imager or a graph until Ctrl-C, then report `data`.

        The server prints its address to stdout, or to stderr where stdout is for one document.
        """
        where = (self.host, self.port, self.open)
        hosts = self.allowed_host or ()
        with redirect_stdout(sys.stderr) if screen.json else nullcontext():
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
    data = {"n_nodes": len(graph.names), "n_links": len(graph.edges)}
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


def demo(
    view: ViewOptions,
    screen: Screen,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words to ask for.")
    ] = None,
    serve: Annotated[bool, "Open the explorer instead, with a map."] = False,
    output: Annotated[Path | None, "Keep the model in a file."] = None,
    rank: Annotated[int, typer.Option(help="Rank of the sketch.", min=1)] = DEMO_RANK,
    seed: Seed = 0,
) -> Report:
    """Image words of the docstrings of installed packages.

    NumPy, SciPy, scikit-learn, Python itself: a real corpus that this machine has already.
    """
    start = perf_counter()
    imager = fit_docstrings(screen, rank, seed)
    fitting = perf_counter() - start
    if output is not None:
        imager.save(output)
    if serve:
        with screen.counting("imaging every word for the map", "words") as count:
            images = imager.image_all(progress=count)
        return view.serve(screen, {"n_words": len(imager.words_)}, imager, images)
    with screen.waiting(COMPILING):
        found, unknown = ask(imager, list(words or DEMO_WORDS), ImageOptions())
    for missing in unknown:
        warnings.warn(str(missing), stacklevel=1)
    return Report(
        {
            "n_documents": imager.corpus_.shape[0],
            "n_words": imager.corpus_.shape[1],
            "fit_seconds": fitting,
            "images": list(map(image_data, found)),
        },
        facts=(
            *corpus_facts(imager),
            ("seconds", f"{fitting:.2f} to read and sketch"),
        ),
        sheets=tuple(map(image_sheet, found)),
        closing=f"walk on in the browser: {program()} topics demo --serve",
    )


def fit_docstrings(screen: Screen, rank: int, seed: int) -> sl.topics.TopicImager:
    """Return an imager of the embedded corpus."""
    with screen.waiting("reading the docstrings of installed packages (kept for the next time)"):
        corpus = sl.topics.embedded_corpus()
        # Its words were chosen when it was made.
        least = corpus.settings["min_documents"]
        return sl.topics.TopicImager(
            rank=rank, min_documents=least, stop_words=None, random_state=seed
        ).fit(corpus)
