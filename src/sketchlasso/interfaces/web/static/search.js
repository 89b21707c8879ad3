// A text field that completes words: the ARIA combobox with a list.

import { Last, isAbort } from "./api.js";
import { countText, element, later } from "./dom.js";

export const OFFERED = 8;
const PATIENCE = 60;

/** Words of the vocabulary that begin with a prefix, each with a note. */
async function findWords(last, prefix) {
  const { words } = await last.ask("words", [["prefix", prefix], ["count", OFFERED]]);
  return words.map(({ word, documents }) => ({ word, note: countText(documents, "document") }));
}

export class Combobox {
  #input;
  #list;
  #last = new Last();
  #options = [];
  #active = -1;
  #phrases = false;
  #typed = false;
  #find;
  #single;

  /** find(last, prefix): suggestions. single: the whole field is one name, commas included. */
  constructor(input, list, onChoose, { find = findWords, single = false } = {}) {
    this.#input = input;
    this.#list = list;
    this.#find = find;
    this.#single = single;
    this.onChoose = onChoose;
    this.offer = later(() => this.#offer(), PATIENCE);
    input.addEventListener("input", () => {
      this.#typed = true;
      this.offer();
    });
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.close());
    // The field must not lose the focus before the click arrives.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(Number(option.dataset.number));
    });
  }

  set phrases(value) {
    this.#phrases = value;
  }

  get words() {
    return [...new Set(this.#pieces().map((word) => word.trim()).filter(Boolean))];
  }

  set words(words) {
    // Keep what the user is typing, even if the page loads meanwhile.
    const busy = document.activeElement === this.#input && (this.isOpen || this.#typed);
    if (!busy) this.#input.value = words.join(", ");
  }

  get isOpen() {
    return !this.#list.hidden;
  }

  close() {
    this.#typed = false;
    this.offer.cancel();
    this.#last.stop();
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#mark(-1);
  }

  #pieces() {
    return this.#single ? [this.#input.value] : this.#input.value.split(this.#phrases ? "," : /[,\s]+/);
  }

  async #offer() {
    const prefix = this.#pieces().at(-1).trim();
    if (!prefix || prefix.length > 200) {
      this.close();
      return;
    }
    try {
      const words = await this.#find(this.#last, prefix);
      if (document.activeElement === this.#input) this.#show(words, prefix);
    } catch (error) {
      if (!isAbort(error)) this.close();
    }
  }

  #show(words, prefix) {
    this.#options = words.map(({ word }) => word);
    this.#list.replaceChildren(
      ...words.map(({ word, note }, number) => {
        const same = word.toLowerCase().startsWith(prefix.toLowerCase()) ? prefix.length : 0;
        return element(
          "li",
          { role: "option", id: `${this.#list.id}-${number}`, "data-number": number, "aria-selected": "false" },
          element("span", {}, element("b", {}, word.slice(0, same)), word.slice(same)),
          element("small", {}, note),
        );
      }),
    );
    this.#list.hidden = !words.length;
    this.#input.setAttribute("aria-expanded", String(words.length > 0));
    this.#mark(-1);
  }

  #key(event) {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (!this.isOpen) {
        this.#offer();
        return;
      }
      const places = this.#options.length + 1; // the field itself is a place, too
      this.#mark(((this.#active + 1 + step + places) % places) - 1);
    } else if (event.key === "Enter" && this.isOpen && this.#active >= 0) {
      event.preventDefault();
      this.#choose(this.#active);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (this.isOpen) this.close();
      else this.#input.value = "";
    }
  }

  #mark(place) {
    this.#active = place;
    for (const [number, option] of [...this.#list.children].entries()) {
      option.setAttribute("aria-selected", String(number === place));
      if (number === place) option.scrollIntoView({ block: "nearest" });
    }
    if (place < 0) this.#input.removeAttribute("aria-activedescendant");
    else this.#input.setAttribute("aria-activedescendant", `${this.#list.id}-${place}`);
  }

  #choose(number) {
    const before = this.#pieces().slice(0, -1).map((word) => word.trim()).filter(Boolean);
    const words = [...new Set([...before, this.#options[number]])];
    this.close();
    this.#input.value = words.join(", ");
    this.onChoose(words);
  }
}
