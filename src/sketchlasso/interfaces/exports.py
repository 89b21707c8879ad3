"""Topics as files: a folder of tables, JSON, a map and a page, and pictures of images."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import GREY, colour_of, marker_of, visible
from sketchlasso.interfaces.commands.outputs import as_csv
from sketchlasso.storage import replacing

# Corners of the shapes in SVG, for a dot of radius one; those that are missing are circles.
CORNERS = {
    "s": "-.9,-.9 .9,-.9 .9,.9 -.9,.9",
    "^": "0,-1.25 1.15,.85 -1.15,.85",
    "D": "0,-1.35 1.1,0 0,1.35 -1.1,0",
    "P": "-.4,-1.2 .4,-1.2 .4,-.4 1.2,-.4 1.2,.4 .4,.4 .4,1.2 -.4,1.2 -.4,.4 -1.2,.4 -1.2,-.4 "
    "-.4,-.4",
}
WIDTH, HEIGHT, MARGIN = 960, 720, 30  # of the map
LINKS, LABELS = 1000, 120  # drawn on it, of the strongest and of the most linked words


def export_topics(
    folder: Path,
    imager: sl.topics.TopicImager,
    images: sl.topics.WordImages,
    topics: sl.topics.Topics,
) -> list[str]:
    """Write the topics found in the images of all words to a folder; return the names of the files.

    The folder is created if it does not exist, and files of the same names are replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file, but a folder is needed; give another name.")
    folder.mkdir(parents=True, exist_ok=True)
    data, picture = _topics_data(imager, images, topics), _map(images, topics)
    listed, words = data["topics"], data["words"]
    tables: dict[str, dict[str, Any]] = {
        "topics.csv": {
            "topic": [one["topic"] for one in listed],
            "label": [", ".join(one["label"]) for one in listed],
            "n_words": [len(one["words"]) for one in listed],
            "n_documents": [one["n_documents"] for one in listed],
            "stability": [one["stability"] for one in listed],
            "words": [" ".join(one["words"]) for one in listed],
            "examples": [" | ".join(part["title"] for part in one["examples"]) for one in listed],
        },
        "words.csv": {
            "word": list(words),
            "topic": [one["topic"] for one in words.values()],
            "documents": [one["documents"] for one in words.values()],
            "image": [
                " ".join(f"{'' if weight > 0 else '-'}{other}" for other, weight in one["image"])
                for one in words.values()
            ],
        },
        "documents.csv": {
            "number": range(1, len(topics.titles) + 1),
            "title": topics.titles,
            **({} if topics.groups is None else {"group": topics.groups}),
            "main topic": [number + 1 if number >= 0 else None for number in topics.main],
            **{f"topic {j}": [*map(_rounded, p)] for j, p in enumerate(topics.shares.T, 1)},
        },
    }
    if data["over"] is not None:
        shares = zip(*data["over"]["shares"], strict=True)
        by_topic = dict(zip(map(str, topics.topics), shares, strict=True))
        tables["over.csv"] = {"group": data["over"]["groups"], **by_topic}
    written = {
        **{name: as_csv(columns) for name, columns in tables.items()},
        "topics.json": json.dumps(data, ensure_ascii=False),
        "topics.html": _offline_page(data, picture),
        "map.svg": picture,
    }
    for name, text in written.items():
        with replacing(folder / name) as file:
            file.write(text.encode("utf-8", "replace"))
    return list(written)


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
        words[word] = {
            "topic": None if of_word[row] < 0 else int(of_word[row]) + 1,
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
        over="" if data["over"] is None else _over(data),
        picture=picture,
        # "</" would end the element, even inside a string.
        words=json.dumps(data["words"], ensure_ascii=False).replace("</", "<\\/"),
    )


def _topic(topic: dict[str, Any]) -> str:
    stability = topic["stability"]
    stable = "" if stability is None else f", {100 * stability:.0f} % stable over half-samples"
    examples = "".join(f"<li>{escape(visible(one['title']))}</li>" for one in topic["examples"])
    words = ", ".join(
        f'<a href="#{quote(word)}">{escape(visible(word))}</a>' for word in topic["words"][:24]
    )
    return (
        '<section><h2><svg class="mark" viewBox="-1.4 -1.4 2.8 2.8" aria-hidden="true">'
        f"{_mark(topic['topic'] - 1)}</svg>{topic['topic']}. "
        f"{escape(visible(', '.join(topic['label'])))}</h2>"
        f'<p class="quiet">main topic of {topic["n_documents"]:,} documents, '
        f"{len(topic['words']):,} words{stable}</p>"
        f"<p>{words}</p><ul>{examples}</ul></section>"
    )


def _over(data: dict[str, Any]) -> str:
    head = "".join(f"<th>{topic['topic']}</th>" for topic in data["topics"])
    rows = ""
    for name, shares in zip(data["over"]["groups"], data["over"]["shares"], strict=True):
        cells = "".join(f"<td>{100 * share:.0f}</td>" for share in shares)
        rows += f"<tr><th>{escape(name)}</th>{cells}</tr>"
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


def _map(images: sl.topics.WordImages, topics: sl.topics.Topics) -> str:
    """Return the map of all linked words as SVG; words with most links are named first."""
    graph = images.graph()
    places = np.array(list(sl.graphs.force_layout(graph).values()))
    links, of_word = sl.graphs.links_of(graph), topics.of_word(images.words)
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    at = MARGIN + (places - low) / np.maximum(high - low, 1e-12) * room
    lines, dots, texts = [], [], []
    for number in np.argsort(-np.abs(links.weights), kind="stable")[:LINKS]:
        (x1, y1), (x2, y2) = at[links.edges[number]]
        # Links of words that avoid each other are dashed.
        dashes = ' stroke-dasharray="4 3"' if links.weights[number] < 0 else ""
        lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{dashes}/>')
    named: list[tuple[float, float, float]] = []
    for j in np.argsort(-links.degrees, kind="stable"):
        if links.degrees[j] == 0:
            break
        (x, y), name = at[j], escape(visible(links.names[j]))
        size = 1.5 + min(4.0, 0.4 * links.degrees[j] ** 0.5)
        dots.append(
            f'<g class="dot" transform="translate({x:.1f} {y:.1f}) scale({size:.1f})">'
            f"<title>{name}</title>{_mark(int(of_word[j]))}</g>"
        )
        half = 3.4 * len(links.names[j]) + 3
        free = all(abs(y - b) > 13 or abs(x - a) > half + other for a, b, other in named)
        if free and len(named) < LABELS:
            named.append((x, y, half))
            texts.append(f'<text x="{x:.1f}" y="{y - 6:.1f}">{name}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Map of the words">'
        f'<g stroke="{GREY}" stroke-width="0.6" opacity="0.5">{"".join(lines)}</g>'
        f'<g fill-opacity="0.75">{"".join(dots)}</g>'
        '<g font-family="sans-serif" font-size="12" text-anchor="middle" fill="currentColor">'
        f"{''.join(texts)}</g></svg>"
    )


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
