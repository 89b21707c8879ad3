"""Topics as files: a folder of tables, JSON and a page, and pictures of maps, groups and images."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from io import StringIO
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import COLOURS, GREY, as_drawn, colour_of, marker_of, visible
from sketchlasso.storage import replacing

SHOWN_WORDS = 24  # of a topic, on the page
IN_KEY = 24
# Links drawn in the picture of the map; all of them would hide the words.
LINKS = 1000
# Corners of the shapes in SVG, for a dot of radius one; those that are missing are circles.
CORNERS = {
    "s": "-.9,-.9 .9,-.9 .9,.9 -.9,.9",
    "^": "0,-1.25 1.15,.85 -1.15,.85",
    "D": "0,-1.35 1.1,0 0,1.35 -1.1,0",
    "P": "-.4,-1.2 .4,-1.2 .4,-.4 1.2,-.4 1.2,.4 .4,.4 .4,1.2 -.4,1.2 -.4,.4 -1.2,.4 -1.2,-.4 "
    "-.4,-.4",
}
WIDTH, HEIGHT, MARGIN = 960, 720, 30
LABELS = 120  # words named on the map, at most


def export_topics(
    folder: Path,
    imager: sl.topics.TopicImager,
    images: sl.topics.WordImages,
    topics: sl.topics.Topics,
) -> list[str]:
    """Write the topics found in the images of all words to a folder; return the names of the files.

    The folder is created if it does not exist, and files of the same names are replaced. Files of
    groups are written if the corpus has groups, and pictures other than map.svg if matplotlib is
    installed.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file, but a folder is needed; give another name.")
    folder.mkdir(parents=True, exist_ok=True)
    graph = images.graph()
    places = np.array(list(sl.graphs.force_layout(graph).values()))
    links, of_word = sl.graphs.links_of(graph), topics.of_word(images.words)
    data = _topics_data(imager, images, topics)
    _write_csv(folder / "topics.csv", _topic_rows(data["topics"]))
    _write_csv(folder / "words.csv", _word_rows(data["words"]))
    _write_csv(folder / "documents.csv", _document_rows(topics))
    _write(folder / "topics.json", json.dumps(data, ensure_ascii=False))
    picture = map_svg(links, places, of_word)
    _write(folder / "map.svg", picture)
    _write(folder / "topics.html", _offline_page(data, picture))
    written = ["topics.csv", "words.csv", "documents.csv", "topics.json", "topics.html", "map.svg"]
    drawn = importlib.util.find_spec("matplotlib") is not None
    if drawn:
        save_map(folder / "map.png", links, places, of_word, topics)
        written.append("map.png")
    if topics.groups is not None:
        names, shares = topics.over()
        rows = ((name, *map(_rounded, row)) for name, row in zip(names, shares, strict=True))
        _write_csv(folder / "over.csv", [("group", *map(str, topics.topics)), *rows])
        written.append("over.csv")
        if drawn:
            save_over(folder / "over.png", names, shares, topics)
            save_over(folder / "over.svg", names, shares, topics)
            written += ["over.png", "over.svg"]
    return written


def _topics_data(
    imager: sl.topics.TopicImager, images: sl.topics.WordImages, topics: sl.topics.Topics
) -> dict[str, Any]:
    """Return topics, words and documents for JSON."""
    frequency, of_word = imager.document_frequency_, topics.of_word(images.words)
    weights, words = images.weights, {}
    for row, word in enumerate(images.words):
        part = slice(weights.indptr[row], weights.indptr[row + 1])
        others, values = weights.indices[part], weights.data[part]
        order = np.argsort(-np.abs(values), kind="stable")
        topic = int(of_word[row])
        words[word] = {
            "topic": None if topic < 0 else topic + 1,
            "documents": int(frequency[row]),
            "image": [[images.words[others[k]], _rounded(values[k])] for k in order],
        }
    over = None
    if topics.groups is not None:
        names, shares = topics.over()
        over = {"groups": names, "shares": [list(map(_rounded, row)) for row in shares]}
    return {
        "source": imager.corpus_.name,
        "n_documents": len(topics.titles),
        "topics": [
            {"topic": number, **topic_data(topic)}
            for number, topic in enumerate(topics.topics, start=1)
        ],
        "over": over,
        "words": words,
    }


def topic_data(topic: sl.topics.Topic) -> dict[str, Any]:
    """Return one topic for JSON."""
    return {
        "label": list(topic.label),
        "words": list(topic.words),
        "n_documents": topic.n_documents,
        "stability": None if math.isnan(topic.stability) else _rounded(topic.stability),
        "examples": [{"number": one.number, "title": one.title} for one in topic.examples],
    }


def _topic_rows(topics: list[dict[str, Any]]) -> Iterator[Sequence[Any]]:
    yield "topic", "label", "n_words", "n_documents", "stability", "words", "examples"
    for one in topics:
        label, words = ", ".join(one["label"]), " ".join(one["words"])
        examples = " | ".join(example["title"] for example in one["examples"])
        sizes = (len(one["words"]), one["n_documents"])
        yield one["topic"], label, *sizes, one["stability"], words, examples


def _word_rows(words: dict[str, dict[str, Any]]) -> Iterator[Sequence[Any]]:
    yield "word", "topic", "documents", "image"
    for word, facts in words.items():
        image = " ".join(f"{'' if weight > 0 else '-'}{other}" for other, weight in facts["image"])
        yield word, facts["topic"], facts["documents"], image


def _document_rows(topics: sl.topics.Topics) -> Iterator[Sequence[Any]]:
    grouped = topics.groups is not None
    numbers = (f"topic {number}" for number in range(1, len(topics) + 1))
    yield "number", "title", *(["group"] if grouped else []), "main topic", *numbers
    groups = topics.groups or [None] * len(topics.titles)
    documents = zip(topics.titles, groups, topics.main, topics.shares, strict=True)
    for number, (title, group, main, shares) in enumerate(documents, start=1):
        own = [group] if grouped else []
        yield number, title, *own, main + 1 if main >= 0 else None, *map(_rounded, shares)


def _write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    text = StringIO(newline="")
    csv.writer(text).writerows(rows)
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _save_figure(path: Path, figure: Any) -> None:
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150)


def _rounded(value: Any) -> float:
    return float(f"{float(value):.4g}")


def _offline_page(data: dict[str, Any], picture: str) -> str:
    """Return one HTML file that needs no server, from `_topics_data` and the map as SVG."""
    page = files("sketchlasso.interfaces").joinpath("offline.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        source=escape(data["source"]),
        n_documents=f"{data['n_documents']:,}",
        n_words=f"{len(data['words']):,}",
        topics="".join(map(_topic, data["topics"])),
        over=_over(data),
        picture=picture,
        # "</" would end the element, even inside a string.
        words=json.dumps(data["words"], ensure_ascii=False).replace("</", "<\\/"),
    )


def _topic(topic: dict[str, Any]) -> str:
    stability = topic["stability"]
    kept = "" if stability is None else f", {100 * stability:.0f} % stable over half-samples"
    examples = "".join(f"<li>{escape(visible(one['title']))}</li>" for one in topic["examples"])
    words = ", ".join(map(_link, topic["words"][:SHOWN_WORDS]))
    return (
        f'<section><h2><svg class="mark" viewBox="-1.4 -1.4 2.8 2.8" aria-hidden="true">'
        f"{_mark(topic['topic'] - 1)}</svg>{topic['topic']}. "
        f"{escape(visible(', '.join(topic['label'])))}</h2>"
        f'<p class="quiet">main topic of {topic["n_documents"]:,} documents, '
        f"{len(topic['words']):,} words{kept}</p>"
        f"<p>{words}</p><ul>{examples}</ul></section>"
    )


def _link(word: str) -> str:
    """Return a link that asks the page for a word."""
    return f'<a href="#{quote(word)}">{escape(visible(word))}</a>'


def _over(data: dict[str, Any]) -> str:
    if data["over"] is None:
        return ""
    head = "".join(f"<th>{topic['topic']}</th>" for topic in data["topics"])
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f"<td>{100 * share:.0f}</td>" for share in shares)
        + "</tr>"
        for name, shares in zip(data["over"]["groups"], data["over"]["shares"], strict=True)
    )
    return (
        '<section><h2>Topics over groups</h2><p class="quiet">Percent of the words of the '
        'documents in a group, by number of the topic.</p><div class="scroll"><table>'
        f"<tr><th>group</th>{head}</tr>{rows}</table></div></section>"
    )


def _mark(topic: int) -> str:
    """Return the mark of a topic as SVG, around the origin and of radius one."""
    corners, fill = CORNERS.get(marker_of(topic)), colour_of(topic)
    if corners is None:
        return f'<circle r="1" fill="{fill}"/>'
    return f'<polygon points="{corners}" fill="{fill}"/>'


def map_svg(links: sl.graphs.Links, places: Any, of_word: Any) -> str:
    """Return the map of all linked words as SVG; words with most links are labelled first.

    The `places` (n_words, 2) come from the layout; `of_word` (n_words,) is the topic, -1 for none.
    """
    degrees = links.degrees
    at = _on_paper(places)
    dots = "".join(
        f'<g class="dot" transform="translate({at[j, 0]:.1f} {at[j, 1]:.1f}) '
        f'scale({1.5 + min(4.0, 0.4 * degrees[j] ** 0.5):.1f})">'
        f"<title>{escape(visible(links.names[j]))}</title>{_mark(int(of_word[j]))}</g>"
        for j in np.flatnonzero(degrees)
    )
    texts = "".join(
        f'<text x="{at[j, 0]:.1f}" y="{at[j, 1] - 6:.1f}">{escape(visible(links.names[j]))}</text>'
        for j in _labelled(links, at)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Map of the words">'
        f'<g stroke="{GREY}" stroke-width="0.6" opacity="0.5">{_lines(links, at)}</g>'
        f'<g fill-opacity="0.75">{dots}</g>'
        '<g font-family="sans-serif" font-size="12" text-anchor="middle" fill="currentColor">'
        f"{texts}</g></svg>"
    )


def _lines(links: sl.graphs.Links, at: Any) -> str:
    """Return the strongest links as SVG; those of words that avoid each other are dashed."""
    lines = []
    for number in np.argsort(-np.abs(links.weights), kind="stable")[:LINKS]:
        (x1, y1), (x2, y2) = at[links.edges[number]]
        dashes = ' stroke-dasharray="4 3"' if links.weights[number] < 0 else ""
        lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{dashes}/>')
    return "".join(lines)


def save_map(
    path: Path, links: sl.graphs.Links, places: Any, of_word: Any, topics: sl.topics.Topics
) -> None:
    """Draw the map with matplotlib, with its strongest links and a key to the largest topics."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), layout="constrained")
    axes = figure.add_subplot()
    at = _on_paper(places)
    # Links of words that avoid each other would join topics.
    strongest = np.argsort(-links.weights, kind="stable")[
        : min(LINKS, int((links.weights > 0).sum()))
    ]
    ends = at[links.edges[strongest]]
    axes.add_collection(LineCollection(ends, colors=GREY, linewidths=0.4, alpha=0.4, zorder=0))
    for topic in range(-1, len(topics)):
        own = np.flatnonzero((of_word == topic) & (links.degrees > 0))
        axes.scatter(
            at[own, 0],
            at[own, 1],
            s=4 + 2 * links.degrees[own] ** 0.5,
            c=colour_of(topic),
            marker=marker_of(topic),
            alpha=0.75,
            label=visible(str(topics.topics[topic])) if 0 <= topic < IN_KEY else None,
        )
    for j in _labelled(links, at):
        word = visible(links.names[j])
        axes.text(at[j, 0], at[j, 1] - 6, word, fontsize=7, ha="center", parse_math=False)
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    if len(topics):
        key = figure.legend(loc="outside lower center", ncols=3, fontsize=7, frameon=False)
        for text in key.get_texts():
            text.set_parse_math(False)
    _save_figure(path, figure)


def save_over(path: Path, names: Any, shares: Any, topics: sl.topics.Topics) -> None:
    """Draw the shares (n_groups, n_topics) of topics as stacked bars, with matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.add_subplot()
    places, below = np.arange(len(names)), np.zeros(len(names))
    for number, topic in enumerate(topics.topics):
        shading = ("", "//", "..", "xx")[number // len(COLOURS) % 4]
        axes.bar(places, shares[:, number], bottom=below, color=colour_of(number), hatch=shading,
                 edgecolor="white", linewidth=0.4, label=as_drawn(str(topic)))  # fmt: skip
        below += shares[:, number]
    axes.set_xticks(places, [as_drawn(str(name)) for name in names])
    axes.set_ylabel("share of the documents' words")
    axes.tick_params(axis="x", rotation=90 if len(names) > 12 else 0)
    figure.legend(loc="outside right upper", fontsize=7)
    _save_figure(path, figure)


def image_figure(rows: Sequence[Sequence[tuple[str, sl.topics.TopicImage]]]) -> Any:
    """Draw images with their titles as bars; words that occur with the query point right.

    Images of one row are drawn side by side, on one scale. Returns the figure.
    """
    from matplotlib.figure import Figure

    most = max((len(image.words) for row in rows for _, image in row), default=1)
    size = (4.8 * max(map(len, rows)), (1.2 + 0.24 * max(most, 1)) * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    for row, across in zip(rows, panels, strict=True):
        reach = max(float(np.max(np.abs(image.weights), initial=0.0)) for _, image in row) or 1.0
        for (title, image), axes in zip(row, across, strict=True):
            places = np.arange(len(image.words))
            axes.barh(places, image.weights, color=[colour_of(int(s < 0)) for s in image.signs])
            axes.set_yticks(places, list(map(visible, image.words)), parse_math=False)
            axes.set_title(f"{visible(title)} ({image.quality})", parse_math=False)
            axes.set_xlabel("weight")
            axes.set(xlim=(-1.05 * reach if (image.signs < 0).any() else 0, 1.05 * reach))
            axes.invert_yaxis()
    return figure


def _on_paper(places: Any) -> Any:
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.maximum(high - low, 1e-12)
    return MARGIN + (places - low) / spread * (np.array([WIDTH, HEIGHT]) - 2 * MARGIN)


def _labelled(links: sl.graphs.Links, at: Any) -> list[int]:
    """Return the words to label: those with most links first, none on top of another."""
    taken: list[tuple[float, float, float]] = []
    chosen: list[int] = []
    for j in np.argsort(-links.degrees, kind="stable"):
        if links.degrees[j] == 0 or len(taken) >= LABELS:
            break
        half = 3.4 * len(links.names[j]) + 3
        x, y = at[j]
        if all(abs(y - b) > 13 or abs(x - a) > half + other for a, b, other in taken):
            taken.append((x, y, half))
            chosen.append(int(j))
    return chosen
