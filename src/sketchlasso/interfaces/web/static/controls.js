// The sliders: how many words, and how far from the automatic penalty and radius.

import { byId, element } from "./dom.js";

// Sliders of factors move in powers of two; the middle is the automatic choice.
const toSlider = (factor) => Math.log2(factor);
const toFactor = (value) => 2 ** Number(value);

const factorText = (factor) =>
  factor === 1 ? "automatic" : `\u00d7\u202f${factor >= 10 ? factor.toFixed(0) : Number(factor.toPrecision(2))}`;

export class Controls {
  #form = byId("controls");
  #excluded = byId("excluded");

  constructor(onChange) {
    this.onChange = onChange;
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    byId("n").addEventListener("input", () => this.onChange({ n: Number(byId("n").value) }));
    for (const name of ["penalty", "radius"]) {
      byId(name).addEventListener("input", () => this.onChange({ [name]: toFactor(byId(name).value) }));
    }
    byId("positive").addEventListener("change", () => this.onChange({ positive: byId("positive").checked }));
    for (const button of this.#form.querySelectorAll("[data-reset]")) {
      button.addEventListener("click", () => {
        this.onChange({ [button.dataset.reset]: 1 });
        byId(button.dataset.reset).focus();
      });
    }
  }

  show(state) {
    // Show the details if one of them was changed.
    if (state.penalty !== 1 || state.radius !== 1) byId("details").open = true;
    byId("n").value = state.n;
    byId("n-said").value = String(state.n);
    for (const name of ["penalty", "radius"]) {
      byId(name).value = toSlider(state[name]);
      byId(name).setAttribute("aria-valuetext", factorText(state[name]));
      byId(`${name}-said`).value = factorText(state[name]);
      this.#form.querySelector(`[data-reset=${name}]`).hidden = state[name] === 1;
    }
    byId("positive").checked = state.positive;
    this.#excluded.hidden = !state.exclude.length;
    this.#excluded.replaceChildren(
      element("span", {}, "Left out:"),
      ...state.exclude.map((word) =>
        element("button", {
          type: "button",
          class: "chip",
          "aria-label": `Take ${word} back in`,
          on: { click: () => this.onChange({ exclude: state.exclude.filter((one) => one !== word) }) },
        }, word, element("span", { "aria-hidden": "true" }, " \u00d7")),
      ),
    );
  }
}
