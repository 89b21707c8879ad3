// One image: bars, graph, documents.

import { Last, Refusal, isAbort } from "./api.js";
import { barList, largestWeights, waitingBars } from "./bars.js";
import { documentList, documentsTitle } from "./documents.js";
import { byId, element, joined, later, pageLink, redraw, sentence } from "./dom.js";
import { factLine, saidOf, trustLine } from "./facts.js";
import { CROWD, drawGraph, shownNeighbours } from "./graph.js";
import { imageOptions, named } from "./state.js";

const FIRST_DOCUMENTS = 6;
const OUTER_IMAGES = 8;
const OUTER_WORDS = 3;
const SETTLED = 140;
const GRAPH_TITLE = "Its neighbours, and theirs";

export class ImageView {
  #page;
  #image = new Last();
  #outer = new Last();
  #papers = new Last();
  #shown = null;
  #outerImages = [];
  #parts = null;
  #count = FIRST_DOCUMENTS;

  constructor(page) {
    this.#page = page;
    // Slower parts than the bars wait until the sliders rest.
    this.follow = later((state) => this.#follow(state), SETTLED);
    new ResizeObserver(later(() => this.#draw(), 100)).observe(byId("panels"));
  }

  leave() {
    for (const last of [this.#image, this.#outer, this.#papers]) last.stop();
    this.follow.cancel();
    this.#parts = null;
    this.#shown = null;
  }

  async show(state) {
    this.#frame(state);
    const asked = [...named("word", state.words), ...imageOptions(state)];
    const image = await this.#image.ask("image", asked);
    const moved = joined(image.query) !== (this.#shown && joined(this.#shown.query));
    if (moved) {
      this.#outerImages = [];
      this.#count = FIRST_DOCUMENTS;
      this.#showPapers("Behind it", element("p", { class: "quiet" }, "\u00a0"));
    }
    this.#shown = image;
    this.#fill(state, image);
    this.follow(state);
  }

  /** The empty panels; they stay while only the numbers change. */
  #frame(state) {
    if (this.#parts) {
      // The heading changes together with the bars.
      this.#parts.bars.parentElement.classList.add("stale");
      return;
    }
    byId("title").textContent = joined(state.words);
    byId("facts").replaceChildren("\u00a0");
    const bars = element("div", {}, waitingBars(Math.min(10, state.n)));
    const graph = element("div", { class: "picture" });
    const graphTitle = element("h2", {}, GRAPH_TITLE);
    const papers = element("div", { class: "papers" }, element("p", { class: "quiet" }, "\u00a0"));
    const papersTitle = element("h2", {}, "Behind it");
    byId("panels").replaceChildren(
      element(
        "div",
        { class: "two" },
        element("section", { class: "card", "aria-label": "Words" }, element("h2", {}, "Its words"), bars),
        element("section", { class: "card", "aria-label": "Graph" }, graphTitle, graph),
      ),
      element("section", { class: "card", "aria-label": "Documents" }, papersTitle, papers),
    );
    this.#parts = { bars, graph, graphTitle, papers, papersTitle };
  }

  #hrefTo = (word) => this.#page.href({ view: "image", words: [word], exclude: [] });

  #fill(state, image) {
    const { bars } = this.#parts;
    bars.parentElement.classList.remove("stale");
    byId("title").textContent = joined(image.query);
    document.title = `${joined(image.query)} \u00b7 Topic explorer`;
    byId("facts").replaceChildren(...trustLine(image));
    byId("solved").replaceChildren(...factLine(image));
    const list = image.words.length
      ? barList(image, {
          scale: largestWeights([image]),
          hrefTo: this.#hrefTo,
          onExclude: (word) => this.#page.go({ exclude: [...state.exclude, word] }),
        })
      : this.#nothing(state);
    redraw(bars, () => bars.replaceChildren(list));
    this.#draw();
    this.#page.say(saidOf(image));
  }

  #nothing(state) {
    const reset = this.#page.href({ penalty: 1, radius: 1, positive: false, exclude: [] });
    return element(
      "p",
      { class: "empty" },
      "No word is left at this penalty and radius. ",
      state.penalty !== 1 || state.radius !== 1 || state.positive || state.exclude.length
        ? pageLink(reset, {}, "Back to the automatic choice")
        : "Ask about another word.",
    );
  }

  #draw() {
    if (this.#parts && this.#shown) {
      const { graph, bars } = this.#parts;
      const beside = bars.offsetHeight;
      redraw(graph, () => drawGraph(graph, this.#shown, this.#outerImages, this.#hrefTo, beside));
    }
  }

  /** Graph and documents; if one fails, the other is still shown. */
  #follow(state) {
    const image = this.#shown;
    this.#askOuter(image).catch((error) => {
      if (this.#lacks(error, image)) this.#parts.graphTitle.textContent = "Its neighbours (the server did not send theirs)";
    });
    this.#askPapers(state, image).catch((error) => {
      if (this.#lacks(error, image)) {
        this.#showPapers("Behind it: no answer", element("p", { class: "empty" }, sentence(error.message)));
      }
    });
  }

  /** Whether an error means that a part of what is shown is missing. */
  #lacks(error, image) {
    if (isAbort(error)) return false;
    if (!(error instanceof Refusal)) console.error(error);
    return image === this.#shown && this.#parts !== null;
  }

  #showPapers(title, ...content) {
    if (!this.#parts) return;
    this.#parts.papersTitle.textContent = title;
    this.#parts.papers.replaceChildren(...content);
  }

  async #askOuter(image) {
    const width = this.#parts?.graph.clientWidth ?? 0;
    const around = shownNeighbours(image, width).slice(0, OUTER_IMAGES).map(({ word }) => word);
    if (!around.length) return;
    const { images } = await this.#outer.ask("images", [
      ...named("word", around),
      ...named("exclude", image.excluded),
      ["n_words", OUTER_WORDS],
    ]);
    if (image !== this.#shown) return;
    this.#outerImages = images;
    this.#parts.graphTitle.textContent = image.words.length > CROWD ? "Its neighbours" : GRAPH_TITLE;
    this.#draw();
  }

  async #askPapers(state, image) {
    if (!image.words.length) {
      this.#showPapers(documentsTitle(0));
      return;
    }
    const asked = [...named("word", state.words), ...imageOptions(state), ["count", this.#count]];
    const found = await this.#papers.ask("documents", asked);
    if (image !== this.#shown) return;
    const most = this.#page.about.limits.documents;
    const more = found.documents.length === this.#count && this.#count < most
      ? element("button", {
          type: "button",
          on: {
            click: () => {
              this.#count = Math.min(most, this.#count + FIRST_DOCUMENTS);
              this.follow(state);
            },
          },
        }, "More documents")
      : null;
    this.#showPapers(documentsTitle(found.documents.length), ...[documentList(found), more].filter(Boolean));
  }
}
