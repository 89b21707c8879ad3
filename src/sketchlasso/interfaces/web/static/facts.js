// Facts about an image: first how far to trust it; figures of the solver are under "details".

import { countText, element, fact, percentText, powerText } from "./dom.js";

const TRUST = {
  strong: "Strong",
  fair: "Fair",
  weak: "Weak",
  unknown: "Not judged",
};

function wordsText(image) {
  const shown = image.words.length;
  return image.n_nonzero > shown
    ? `${shown} of ${countText(image.n_nonzero, "word")}`
    : countText(shown, "word");
}

/** How much of the query its words explain in documents that they were not chosen from. */
function trustText(image) {
  if (image.held_out === null) return "too few documents to judge";
  const words = image.words.length === 1 ? "this word explains" : `these ${countText(image.words.length, "word")} explain`;
  return `${words} ${percentText(Math.max(0, image.held_out))} of its variance, in held-out documents`;
}

export function trustLine(image) {
  const badge = element("strong", { class: `badge ${image.quality}`, "data-quality": image.quality }, TRUST[image.quality]);
  const line = [badge, fact(trustText(image), "Held-out R\u00b2: the share of the variance of the query that words chosen from one half of the documents explain in the other half; the mean of both directions.", "held-out")];
  if (image.advice) line.push(fact(`What would help: ${image.advice}`, "Why the image is weak, and what to try.", "advice"));
  return line;
}

export function factLine(image) {
  return [
    fact(wordsText(image), "Words with a weight in the solution; the strongest are shown.", "nonzero"),
    image.gap !== null && fact(`gap ${powerText(image.gap)}`, "Relative duality gap: an upper bound on the distance to the optimum."),
    fact(`${(1000 * image.seconds).toFixed(1)} ms`, "Time of the computation on the server."),
    fact(`penalty ${powerText(image.alpha)}`, "Penalty of the weights' absolute values."),
    fact(`radius ${powerText(image.radius)}`, "Robust radius: how much error of the sketch is allowed for."),
  ].filter(Boolean);
}

export function saidOf(image) {
  const trust = image.held_out === null ? "" : `, ${image.quality}`;
  const first = image.words.slice(0, 3).map(({ word }) => word).join(", ");
  return `${image.query.join(" and ")}: ${countText(image.words.length, "word")}${trust}. ${first}`;
}
