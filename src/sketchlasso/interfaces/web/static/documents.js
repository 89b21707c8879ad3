// The documents behind an image; the words of the image are marked in them.

import { countText, element } from "./dom.js";

// Runs of letters and digits; the rest is kept unchanged.
const TOKEN = /[\p{L}\p{N}_]+/gu;
const ENDINGS = ["", "s", "es"];

function isMarked(token, words) {
  const plain = token.toLowerCase();
  return (
    ENDINGS.some((ending) => plain.endsWith(ending) && words.has(plain.slice(0, plain.length - ending.length))) ||
    (plain.endsWith("ies") && words.has(`${plain.slice(0, -3)}y`))
  );
}

/** Text nodes and marks, in turn. */
function marked(text, words) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (!isMarked(match[0], words)) continue;
    parts.push(text.slice(end, match.index), element("mark", {}, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

export function documentList({ image, documents }) {
  const words = new Set([...image.query, ...image.words.map(({ word }) => word)].map((word) => word.toLowerCase()));
  const best = Math.max(...documents.map(({ score }) => score ?? 0), 1e-12);
  return element(
    "ol",
    { class: "documents" },
    ...documents.map(({ title, score, excerpt, number }) => {
      const level = element("span", { class: "level" });
      level.style.width = `${100 * Math.max(0, (score ?? 0) / best)}%`;
      return element(
        "li",
        {},
        element("h3", {}, ...marked(title || `Document ${number + 1}`, words)),
        element("div", { class: "meter", title: `score ${score?.toFixed(1) ?? "unknown"}`, "aria-hidden": "true" }, level),
        excerpt ? element("p", {}, ...marked(excerpt, words)) : null,
      );
    }),
  );
}

export function documentsTitle(count) {
  return count ? `Behind it: ${countText(count, "document")}` : "Behind it: no document";
}
