// An image as signed bars: positive weights to the right, negative ones to the left.

import { countText, element, joined, labelOf, pageLink, weightText } from "./dom.js";

export function largestWeights(images) {
  const weights = images.flatMap((image) => image.words.map(({ weight }) => weight));
  return { up: Math.max(0, ...weights), down: Math.max(0, ...weights.map((weight) => -weight)) };
}

/**
 * A list of links, strongest first.
 *
 * scale: the largest weights of both signs; the same for all lists that are compared.
 * hrefTo(word), onExclude(word), shared: a set of words to highlight.
 */
export function barList(image, { scale, hrefTo, onExclude, shared = new Set() }) {
  const total = scale.up + scale.down || 1;
  const zero = scale.down / total;
  const list = element("ol", { class: "bars", "aria-label": `Words that explain ${joined(image.query)}` });
  if (zero > 0) list.classList.add("signed");
  for (const { word, weight, documents } of image.words) {
    const sign = weight < 0 ? "negative" : "positive";
    const bar = element("span", { class: `bar ${sign}` });
    const share = Math.abs(weight) / total;
    bar.style.left = `${100 * (weight < 0 ? zero - share : zero)}%`;
    bar.style.width = `${100 * share}%`;
    const axis = element("span", { class: "axis" });
    axis.style.left = `${100 * zero}%`;
    const both = shared.has(word);
    const facts = `weight ${weightText(weight)}, in ${countText(documents, "document")}${both ? ", in both images" : ""}`;
    const said = { title: `${word}: ${facts}` };
    const parts = [
      element("span", { class: "word" }, labelOf(word)),
      element("span", { class: "track", "aria-hidden": "true" }, axis, bar),
      element("span", { class: "weight" }, weightText(weight)),
    ];
    list.append(
      element(
        "li",
        { class: both ? "row shared" : "row", "data-word": word },
        pageLink(hrefTo(word), said, ...parts),
        onExclude ? excluder(word, onExclude) : null,
      ),
    );
  }
  return list;
}

function excluder(word, onExclude) {
  const label = `Leave out ${word}`;
  return element(
    "button",
    { type: "button", class: "exclude", "aria-label": label, title: label, on: { click: () => onExclude(word) } },
    "\u00d7",
  );
}

export function waitingBars(count) {
  const list = element("div", { class: "bars waiting", "aria-hidden": "true" });
  for (let number = 0; number < count; number += 1) {
    const ghost = element("span", { class: "ghost" });
    ghost.style.width = `${88 - (60 * number) / count}%`;
    list.append(ghost);
  }
  return list;
}
