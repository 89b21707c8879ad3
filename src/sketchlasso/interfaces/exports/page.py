"""One HTML file with topics, documents, the map and every image; it needs no server."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from sketchlasso.interfaces.exports.pictures import colour_of
from sketchlasso.interfaces.visible import visible

__all__ = ["offline_page"]

SHOWN_WORDS = 24
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2329; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 0; }
section { border-top: 1px solid #d8dde2; padding: 0.9rem 0; }
p { margin: 0.3rem 0; } .quiet { color: #59636c; font-size: 0.9rem; }
.dot { display: inline-block; width: 0.8rem; height: 0.8rem; border-radius: 50%;
  margin-right: 0.5rem; }
table { border-collapse: collapse; font-size: 0.85rem; } td, th { padding: 0.15rem 0.5rem;
  text-align: right; } th:first-child { text-align: left; } .scroll { overflow-x: auto; }
svg { width: 100%; height: auto; } input { font: inherit; padding: 0.4rem 0.6rem; width: 16rem; }
@media (prefers-color-scheme: dark) { body { color: #e6eaee; background: #14181c; }
  .quiet { color: #a2acb5; } }
"""
SCRIPT = """
const words = JSON.parse(document.getElementById("words").textContent);
const field = document.getElementById("word"), out = document.getElementById("image");
field.addEventListener("input", () => {
  const word = field.value.trim().toLowerCase(), found = Object.hasOwn(words, word) && words[word];
  out.textContent = !word ? "" : found
    ? found.image.map(([other, weight]) => (weight < 0 ? "not " : "") + other).join(", ")
    : "This word is not in the vocabulary.";
});
"""


def offline_page(data: dict[str, Any], picture: str) -> str:
    """Return the page.

    Parameters
    ----------
    data : dict
        What `topics_data` gave.
    picture : str
        The map as SVG.
    """
    source = escape(data["source"])
    # "</" would end the element, whatever stands around it.
    words = json.dumps(data["words"], ensure_ascii=False).replace("</", "<\\/")
    topics = "".join(map(_topic, data["topics"]))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Topics of {source}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><style>{STYLE}</style></head><body>
<h1>Topics of {source}</h1>
<p class="quiet">{data["n_documents"]:,} documents, {len(data["words"]):,} words. A topic is a
group of words that explain each other; its first words set it apart from the other topics.</p>
<section><h2>Ask for a word</h2>
<p><input id="word" aria-label="Word" placeholder="a word" autocomplete="off"></p>
<p id="image" role="status"></p></section>
{topics}
{_over(data)}
<section><h2>Map</h2><p class="quiet">Linked words lie near each other, in the colour of their
topic. The words with most links are named.</p>{picture}</section>
<script type="application/json" id="words">{words}</script>
<script>{SCRIPT}</script></body></html>
"""


def _topic(topic: dict[str, Any]) -> str:
    stability = topic["stability"]
    kept = "" if stability is None else f", {100 * stability:.0f} % stable over half-samples"
    examples = "".join(f"<li>{escape(visible(one['title']))}</li>" for one in topic["examples"])
    colour = colour_of(topic["topic"] - 1)
    return (
        f'<section><h2><span class="dot" style="background:{colour}"></span>'
        f"{topic['topic']}. {escape(', '.join(topic['label']))}</h2>"
        f'<p class="quiet">main topic of {topic["n_documents"]:,} documents, '
        f"{len(topic['words']):,} words{kept}</p>"
        f"<p>{escape(', '.join(topic['words'][:SHOWN_WORDS]))}</p><ul>{examples}</ul></section>"
    )


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
