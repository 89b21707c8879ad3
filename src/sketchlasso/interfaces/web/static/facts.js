// What is known about an image, in a line.

import { countText, element, percentText, powerText } from "./dom.js";

function wordsText(image) {
  const shown = image.words.length;
  return image.n_nonzero > shown
    ? `${shown} of ${countText(image.n_nonzero, "word")}`
    : countText(shown, "word");
}

const fact = (name, text, title) =>
  element("span", { class: "fact", title, "data-fact": name }, text);

export function factLine(image) {
  const facts = [
    fact("nonzero", wordsText(image), "Words with a weight in the solution; the strongest are shown."),
  ];
  if (image.explained !== null) {
    facts.unshift(fact(
      "explained",
      `explains ${percentText(image.explained)} of its variance`,
      "Share of the variance of the query, over all documents, that these weights explain.",
    ));
  }
  if (image.gap !== null) {
    facts.push(fact("gap", `gap ${powerText(image.gap)}`, "Relative duality gap: at most so far from the optimum."));
  }
  facts.push(fact("seconds", `${(1000 * image.seconds).toFixed(1)} ms`, "Time of the computation on the server."));
  facts.push(fact("alpha", `penalty ${powerText(image.alpha)}`, "Penalty of the weights' absolute values."));
  facts.push(fact("radius", `radius ${powerText(image.radius)}`, "Robust radius: how much error of the sketch is allowed for."));
  return facts;
}

export function saidOf(image) {
  const share = image.explained === null ? "" : `, ${percentText(image.explained)} explained`;
  const first = image.words.slice(0, 3).map(({ word }) => word).join(", ");
  return `${image.query.join(" and ")}: ${countText(image.words.length, "word")}${share}. ${first}`;
}
