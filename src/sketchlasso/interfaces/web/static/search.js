// A text field that completes words with the browser's own list.

import { Last, isAbort } from "./api.js";
import { byId, countText, element, later } from "./dom.js";

export const OFFERED = 8;

/** Words of the vocabulary that begin with a prefix, each with a note. */
async function findWords(last, prefix) {
  const { words } = await last.ask("words", [["prefix", prefix], ["count", OFFERED]]);
  return words.map(({ word, documents }) => ({ word, note: countText(documents, "document") }));
}

export class Field {
  #input;
  #list;
  #last = new Last();
  #find;
  #single;
  #typed = false;
  phrases = false; // whether words may hold spaces

  /** find(last, prefix): suggestions. single: the whole field is one name, commas included. */
  constructor(input, onChoose, { find = findWords, single = false } = {}) {
    this.#input = input;
    this.#list = byId(input.getAttribute("list"));
    this.#find = find;
    this.#single = single;
    this.offer = later(() => this.#offer(), 60);
    input.addEventListener("input", (event) => {
      this.#typed = true;
      const replaced = !event.inputType || event.inputType === "insertReplacementText";
      if (replaced && [...this.#list.options].some(({ value }) => value === input.value)) onChoose();
      else this.offer();
    });
    input.addEventListener("blur", () => this.close());
  }

  get words() {
    return [...new Set(this.#pieces().map((word) => word.trim()).filter(Boolean))];
  }

  set words(words) {
    // Keep what the user is typing, even if the page loads meanwhile.
    if (!(document.activeElement === this.#input && this.#typed)) this.#input.value = words.join(", ");
  }

  close() {
    this.#typed = false;
    this.offer.cancel();
    this.#last.stop();
    this.#list.replaceChildren();
  }

  #pieces() {
    return this.#single ? [this.#input.value] : this.#input.value.split(this.phrases ? "," : /[,\s]+/);
  }

  async #offer() {
    const pieces = this.#pieces();
    const prefix = pieces.pop().trim();
    if (!prefix || prefix.length > 200) return;
    try {
      const words = await this.#find(this.#last, prefix);
      const before = pieces.map((word) => word.trim()).filter(Boolean);
      this.#list.replaceChildren(
        ...words.map(({ word, note }) => element("option", { value: [...before, word].join(", ") }, note)),
      );
    } catch (error) {
      if (!isAbort(error)) this.close();
    }
  }
}
