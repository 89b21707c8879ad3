"""Pictures of topics: the map of all words, topics over groups of documents, images of words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.visible import visible

# After Okabe and Ito: colours that colour-blind readers can distinguish.
COLOURS = ("#0072b2", "#d55e00", "#007f5c", "#b0568a", "#9a6a00", "#2f8fc4", "#5b5bb0", "#7c7c34")
GREY = "#8a9299"
WIDTH, HEIGHT, MARGIN = 960, 720, 30
LABELS = 120


def colour_of(topic: int) -> str:
    """Return the colour of a topic, from 0; -1 is none."""
    return GREY if topic < 0 else COLOURS[topic % len(COLOURS)]


def map_svg(graph: sl.topics.WordGraph, places: Any, of_word: Any) -> str:
    """Return the map of all linked words as SVG; words with most links are labelled first.

    The `places` (n_words, 2) come from the layout; `of_word` (n_words,) is the topic, -1 for none.
    """
    degrees = graph.degrees
    at = _on_paper(places)
    dots = "".join(
        f'<circle cx="{at[j, 0]:.1f}" cy="{at[j, 1]:.1f}" '
        f'r="{1.5 + min(4.0, 0.4 * degrees[j] ** 0.5):.1f}" fill="{colour_of(int(of_word[j]))}">'
        f"<title>{escape(visible(graph.words[j]))}</title></circle>"
        for j in np.flatnonzero(degrees)
    )
    texts = "".join(
        f'<text x="{at[j, 0]:.1f}" y="{at[j, 1] - 6:.1f}">{escape(visible(graph.words[j]))}</text>'
        for j in _labelled(graph, at)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Map of the words">'
        f'<g fill-opacity="0.75">{dots}</g>'
        '<g font-family="sans-serif" font-size="12" text-anchor="middle" fill="currentColor">'
        f"{texts}</g></svg>"
    )


def save_map(path: Path, graph: sl.topics.WordGraph, places: Any, of_word: Any) -> None:
    """Draw the map with matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), layout="constrained")
    axes = figure.add_subplot()
    linked = np.flatnonzero(graph.degrees)
    at = _on_paper(places)
    colours = [colour_of(int(of_word[j])) for j in linked]
    x, y = at[linked].T
    axes.scatter(x, y, s=4 + 2 * graph.degrees[linked] ** 0.5, c=colours, alpha=0.75)
    for j in _labelled(graph, at):
        word = visible(graph.words[j])
        axes.text(at[j, 0], at[j, 1] - 6, word, fontsize=7, ha="center", parse_math=False)
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    figure.savefig(path, dpi=150)


def save_over(path: Path, names: Any, shares: Any, topics: sl.topics.Topics) -> None:
    """Draw the shares (n_groups, n_topics) of topics as stacked bars, with matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.add_subplot()
    below = np.zeros(len(names))
    for number, topic in enumerate(topics.topics):
        shading = ("", "//", "..", "xx")[number // len(COLOURS) % 4]
        axes.bar(names, shares[:, number], bottom=below, color=colour_of(number), hatch=shading,
                 edgecolor="white", linewidth=0.4, label=str(topic))  # fmt: skip
        below += shares[:, number]
    axes.set_ylabel("share of the documents' words")
    axes.tick_params(axis="x", rotation=90 if len(names) > 12 else 0)
    figure.legend(loc="outside right upper", fontsize=7)
    figure.savefig(path, dpi=150)


def image_figure(rows: Sequence[Sequence[tuple[str, sl.topics.TopicImage]]]) -> Any:
    """Draw images with their titles as bars; words that occur with the query point right.

    Images of one row are drawn side by side, on one scale. Returns the figure.
    """
    from matplotlib.figure import Figure

    most = max((len(image.words) for row in rows for _, image in row), default=1)
    size = (4.8 * max(map(len, rows)), (0.9 + 0.24 * max(most, 1)) * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    for row, across in zip(rows, panels, strict=True):
        reach = max(float(np.max(np.abs(image.weights), initial=0.0)) for _, image in row) or 1.0
        for (title, image), axes in zip(row, across, strict=True):
            places = np.arange(len(image.words))
            axes.barh(places, image.weights, color=[colour_of(int(s < 0)) for s in image.signs])
            axes.set_yticks(places, list(map(visible, image.words)), parse_math=False)
            axes.set_title(visible(title), parse_math=False)
            axes.set(xlim=(-1.05 * reach if (image.signs < 0).any() else 0, 1.05 * reach))
            axes.invert_yaxis()
    return figure


def _on_paper(places: Any) -> Any:
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.maximum(high - low, 1e-12)
    return MARGIN + (places - low) / spread * (np.array([WIDTH, HEIGHT]) - 2 * MARGIN)


def _labelled(graph: sl.topics.WordGraph, at: Any) -> list[int]:
    """Return the words to label: those with most links first, none on top of another."""
    taken: list[tuple[float, float, float]] = []
    chosen: list[int] = []
    for j in np.argsort(-graph.degrees, kind="stable"):
        if graph.degrees[j] == 0 or len(taken) >= LABELS:
            break
        half = 3.4 * len(graph.words[j]) + 3
        x, y = at[j]
        if all(abs(y - b) > 13 or abs(x - a) > half + other for a, b, other in taken):
            taken.append((x, y, half))
            chosen.append(int(j))
    return chosen
