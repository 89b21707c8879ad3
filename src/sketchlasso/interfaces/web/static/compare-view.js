// Two images side by side, on one scale; what they share is highlighted.

import { Last } from "./api.js";
import { barList, largestWeights, waitingBars } from "./bars.js";
import { byId, chip, countText, element, joined, pageLink, percentText } from "./dom.js";
import { factLine, trustLine } from "./facts.js";
import { imageOptions, named } from "./state.js";

export class CompareView {
  #page;
  #last = new Last();
  #filled = false;

  constructor(page) {
    this.#page = page;
  }

  leave() {
    this.#last.stop();
    this.#filled = false;
  }

  async show(state) {
    if (!state.others.length) return this.#invite(state);
    const title = `${joined(state.words)} and ${joined(state.others)}`;
    if (this.#filled) {
      byId("panels").firstElementChild.classList.add("stale");
    } else {
      byId("title").textContent = title;
      byId("facts").replaceChildren("\u00a0");
      const waiting = () => element("section", { class: "card" }, waitingBars(state.n));
      byId("panels").replaceChildren(element("div", { class: "two" }, waiting(), waiting()));
    }
    const asked = [...named("first", state.words), ...named("second", state.others), ...imageOptions(state)];
    this.#fill(title, await this.#last.ask("compare", asked));
  }

  #fill(title, { first, second, shared, overlap }) {
    this.#filled = true;
    byId("title").textContent = title;
    document.title = `${title} \u00b7 Topic explorer`;
    const both = new Set(shared);
    byId("facts").replaceChildren(
      shared.length
        ? `${countText(shared.length, "word")} in common (${percentText(overlap)}): ${shared.join(", ")}`
        : "No word in common.",
    );
    byId("solved").replaceChildren();
    const scale = largestWeights([first, second]);
    const hrefTo = (word) => this.#page.href({ view: "image", words: [word], others: [], exclude: [] });
    const column = (image) =>
      element(
        "section",
        { class: "card", "aria-label": joined(image.query) },
        element("h2", {}, pageLink(this.#page.href({ view: "image", words: image.query, others: [] }), {}, joined(image.query))),
        element("p", { class: "facts small" }, ...trustLine(image)),
        element("details", { class: "details" }, element("summary", {}, "Details"), element("p", { class: "facts small" }, ...factLine(image))),
        image.words.length
          ? barList(image, { scale, hrefTo, shared: both })
          : element("p", { class: "empty" }, "No word is left at this penalty and radius."),
      );
    byId("panels").replaceChildren(element("div", { class: "two" }, column(first), column(second)));
    this.#page.say(`${title}: ${countText(shared.length, "word")} in common`);
  }

  /** Only one word so far: offer its neighbours. */
  async #invite(state) {
    this.#filled = false;
    byId("controls").hidden = true;
    byId("title").textContent = joined(state.words);
    byId("facts").replaceChildren("Which word should it be compared with? Type it above, or choose a neighbour.");
    byId("panels").replaceChildren();
    const image = await this.#last.ask("image", [...named("word", state.words), ["n_words", 12]]);
    const chips = image.words.map(({ word }) => chip(this.#page.href({ others: [word] }), word));
    byId("panels").replaceChildren(element("ul", { class: "chips" }, ...chips));
  }
}
