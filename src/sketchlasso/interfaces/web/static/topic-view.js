// One topic: all its words, and the documents that are mostly about it.

import { Last } from "./api.js";
import { byId, chip, countText, element, fact, percentText } from "./dom.js";

export class TopicView {
  #page;
  #last = new Last();

  constructor(page) {
    this.#page = page;
  }

  leave() {
    this.#last.stop();
  }

  async show(state) {
    byId("panels").replaceChildren();
    const { label, words, n_documents: count, stability, documents } = await this.#last.ask(`topics/${state.topic}`);
    const title = label.slice(0, 3).join(", ");
    byId("title").textContent = title;
    document.title = `${title} \u00b7 Topic explorer`;
    byId("facts").replaceChildren(
      fact(countText(words.length, "word")),
      fact(countText(count, "document"), "Documents that have more of this topic than of any other."),
      ...(stability === null ? [] : [
        fact(`${percentText(stability)} stable`, "How often its leading words stay together when half of the documents are left out."),
      ]),
    );
    const href = (word) => this.#page.href({ view: "image", words: [word], exclude: [] });
    const listed = documents.length < count ? `The ${documents.length} documents with the largest share` : "Its documents";
    byId("panels").replaceChildren(
      element("section", { class: "card", "aria-label": "Words" },
        element("h2", {}, "Its words, the most distinctive first"),
        element("ul", { class: "chips small" }, ...words.map(({ word }) => chip(href(word), word)))),
      element("section", { class: "card", "aria-label": "Documents" },
        element("h2", {}, listed),
        element("ol", { class: "documents plain" }, ...documents.map((one) =>
          element("li", {}, one.title || `Document ${one.number + 1}`, " ", element("small", {}, percentText(one.share)))))),
    );
    this.#page.say(`${title}: ${countText(words.length, "word")}, ${countText(count, "document")}`);
  }
}
