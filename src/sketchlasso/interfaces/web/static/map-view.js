// The map of the whole vocabulary, with a list of its groups for readers who cannot see it.

import { Last } from "./api.js";
import { byId, chip, countText, element, fact, pageLink, percentText } from "./dom.js";
import { groupList, mapBox } from "./map-box.js";
import { MapCanvas, dark } from "./map-canvas.js";

const LINKS_MEAN =
  "A line joins two words if one of them helps to predict in which documents the other is. Linked words are near each other; colour and shape show the topic.";
const NEIGHBOURS = 12;

export class MapView {
  #page;
  #canvas = null;
  #data = null;
  #last = new Last();
  #info = element("div", { class: "map-info", role: "status" });

  constructor(page) {
    this.#page = page;
    dark.addEventListener("change", () => {
      if (this.#canvas) this.#groups();
      this.#canvas?.draw();
    });
  }

  leave() {
    this.#last.stop();
    this.#canvas?.close();
    this.#canvas = null;
  }

  async show(state) {
    document.title = "Map \u00b7 Topic explorer";
    byId("title").textContent = "Map of the vocabulary";
    if (!this.#canvas) {
      byId("facts").replaceChildren("Laying out the map\u2026");
      byId("panels").replaceChildren();
      this.#data ??= await this.#last.ask("map");
      this.#frame();
    }
    this.#select(state);
  }

  #frame() {
    const { nodes, edges, n_words: words, n_edges: links } = this.#data;
    byId("facts").replaceChildren(
      fact(countText(nodes.length, "word")),
      fact(countText(edges.length, "link")),
      ...(edges.length < links ? [fact(`the strongest ${percentText(edges.length / links)}`)] : []),
      ...(nodes.length < words ? [fact(`of ${countText(words, "word")}`)] : []),
    );
    const canvas = element("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": "Map of the words. Arrow keys move it, plus and minus zoom, Enter selects the word in the middle.",
    });
    const box = mapBox(canvas, () => this.#canvas);
    const groups = element("section", { class: "card", id: "groups", "aria-label": "Groups" });
    byId("panels").replaceChildren(element("section", { class: "card flush", "aria-label": "Map" }, box, this.#info), groups);
    const names = this.#data.labels.map((label, number) => [number, label.slice(0, 2).join(", ")]);
    this.#canvas = new MapCanvas(canvas, this.#data, names, {
      onSelect: (word) => this.#page.go({ words: word ? [word] : [], at: this.#canvas.place }),
      onMove: (place) => this.#page.keep({ at: place }),
    });
    this.#groups();
  }

  #select(state) {
    const word = state.words[0] ?? null;
    const node = this.#canvas.select(word, state.at);
    if (!word) {
      this.#info.replaceChildren(
        element("p", {}, LINKS_MEAN),
        element("p", {}, "Drag to move, scroll or pinch to zoom, click a word to see its links."),
      );
    } else if (!node) {
      this.#info.replaceChildren(element("p", {}, `\u201c${word}\u201d is not on the map.`));
    } else {
      const near = this.#canvas.neighbours(node).slice(0, NEIGHBOURS);
      this.#info.replaceChildren(
        element(
          "p",
          {},
          element("strong", {}, node.word),
          ` \u00b7 ${countText(node.size, "document")} \u00b7 `,
          pageLink(this.#page.href({ view: "image", words: [node.word], at: null }), { class: "open" }, "see its image"),
        ),
        element("ul", { class: "chips small" }, ...this.#chips(near)),
      );
    }
  }

  #chips(nodes) {
    return nodes.map(({ word }) => chip(this.#page.href({ view: "map", words: [word], at: null }), word));
  }

  #groups() {
    const { nodes, labels } = this.#data;
    const members = Map.groupBy(nodes, ({ community }) => community);
    const found = [...members].filter(([community]) => community >= 0).sort((a, b) => a[0] - b[0]);
    const groups = found.map(([community, own]) => {
      const shown = labels[community].map((word) => own.find((node) => node.word === word)).filter(Boolean);
      const link = pageLink(this.#page.href({ view: "topic", topic: community, at: null }), { class: "open" }, "open");
      return { community, size: countText(own.length, "word"), chips: this.#chips(shown), link };
    });
    const mark = (community) => this.#canvas.highlight(community);
    byId("groups").replaceChildren(...groupList(countText(found.length, "topic"), groups, mark));
  }
}
