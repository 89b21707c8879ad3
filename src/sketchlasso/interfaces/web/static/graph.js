// An image as a small graph: the query in the middle, its words around it, their words outside.

import { drawn, joined, labelOf, weightText } from "./dom.js";

const WIDE = 560;
const NEIGHBOURS = { wide: 50, narrow: 8 };
export const CROWD = 16; // with more neighbours there is no room for an outer ring
const OUTER = 2;
const TALLEST = 3; // height over width, at most
const LONGEST = 32;

// The golden angle: neighbours placed one after another never line up.
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

let pencil = null;
function textWidth(text, font) {
  pencil ??= document.createElement("canvas").getContext("2d");
  pencil.font = font;
  return pencil.measureText(text).width;
}

export const shownNeighbours = (image, width) =>
  image.words.slice(0, width >= WIDE ? NEIGHBOURS.wide : NEIGHBOURS.narrow);

/** Nodes and links; words of the outer ring that are known already become links between nodes. */
function graphOf(image, outer, width) {
  const nodes = new Map();
  const links = [];
  const centre = { word: joined(image.query), ring: 0, sign: 1 };
  nodes.set(centre.word, centre);
  const neighbours = shownNeighbours(image, width);
  const largest = Math.max(...neighbours.map(({ weight }) => Math.abs(weight)), 1e-300);
  neighbours.forEach(({ word, weight }, number) => {
    const angle = (2 * Math.PI * number) / neighbours.length - Math.PI / 2;
    const far = neighbours.length > CROWD ? 0.45 + (0.55 * number) / neighbours.length : 1;
    const turn = neighbours.length > CROWD ? GOLDEN * number : angle;
    nodes.set(word, { word, ring: 1, angle: turn, far, weight, sign: Math.sign(weight) });
    links.push({ from: centre.word, to: word, strength: Math.abs(weight) / largest, sign: Math.sign(weight) });
  });
  for (const second of width >= WIDE && neighbours.length <= CROWD ? outer : []) {
    const home = nodes.get(second.query[0]);
    if (!home) continue;
    const fresh = second.words.filter(({ word }) => !image.query.includes(word)).slice(0, OUTER);
    const spread = Math.PI / Math.max(neighbours.length, 5) / 1.6;
    fresh.forEach(({ word }, number) => {
      if (!nodes.has(word)) {
        const angle = home.angle + spread * (number - (fresh.length - 1) / 2) * 1.4;
        nodes.set(word, { word, ring: 2, angle, sign: 1 });
      }
      links.push({ from: home.word, to: word, strength: 0, sign: 1 });
    });
  }
  return { nodes: [...nodes.values()], links };
}

function place(nodes, width, height) {
  const outside = nodes.some(({ ring }) => ring === 2);
  const crowded = nodes.some(({ far }) => far < 1);
  const reach = { 0: 0, 1: outside ? 0.27 : crowded ? 0.46 : 0.38, 2: 0.44 };
  for (const node of nodes) {
    const font = `${node.ring === 0 ? 600 : 500} ${node.ring === 0 ? 16 : node.ring === 1 ? 14 : 12.5}px system-ui, sans-serif`;
    node.w = textWidth(labelOf(node.word, LONGEST), font) + (node.ring === 2 ? 8 : 22);
    node.h = node.ring === 2 ? 20 : node.ring === 1 ? 28 : 36;
    const share = reach[node.ring] * (node.far ?? 1);
    node.x = node.homeX = width / 2 + (node.ring ? width * share * Math.cos(node.angle) : 0);
    node.y = node.homeY = height / 2 + (node.ring ? height * share * Math.sin(node.angle) : 0);
    node.fixed = node.ring === 0;
  }
  settle(nodes, width, height);
}

function linkLine({ from, to, strength, sign }, at) {
  const [a, b] = [at.get(from), at.get(to)];
  const kind = strength ? (sign < 0 ? "link negative" : "link positive") : "link outer";
  const line = drawn("line", { class: kind, x1: a.x, y1: a.y, x2: b.x, y2: b.y });
  line.dataset.ends = JSON.stringify([from, to]);
  line.style.strokeWidth = strength ? 1.2 + 4 * strength : 1;
  return line;
}

function nodeMark(node, hrefTo) {
  const label = drawn("text", { x: node.x, y: node.y, "text-anchor": "middle", "dominant-baseline": "central" }, labelOf(node.word, LONGEST));
  const shape = drawn("rect", {
    x: node.x - node.w / 2,
    y: node.y - node.h / 2,
    width: node.w,
    height: node.h,
    rx: node.h / 2,
  });
  if (node.ring === 0) return drawn("g", { class: "node hub" }, shape, label);
  const sign = node.sign < 0 ? " negative" : "";
  const said = node.ring === 1 ? `${node.word}, weight ${weightText(node.weight)}` : `${node.word}, a neighbour of a neighbour`;
  return drawn(
    "a",
    { class: `node ring${node.ring}${sign}`, href: hrefTo(node.word), "data-page-link": true, "data-word": node.word },
    drawn("title", {}, said),
    shape,
    label,
  );
}

/** As tall as the list next to it, if there is one, up to a limit. */
function heightFor(width, beside) {
  if (width < WIDE) return Math.round(Math.min(420, 1.05 * width));
  const usual = Math.min(520, 0.72 * width);
  return Math.round(Math.max(usual, Math.min(beside, TALLEST * width)));
}

/** Draw into a container, whose width decides how much is shown.
 *
 * outer: images of the neighbours; beside: height of the list next to the graph.
 */
export function drawGraph(container, image, outer, hrefTo, beside = 0) {
  const width = Math.max(280, Math.round(container.clientWidth));
  const height = heightFor(width, beside);
  const { nodes, links } = graphOf(image, outer, width);
  place(nodes, width, height);
  const at = new Map(nodes.map((node) => [node.word, node]));
  const picture = drawn(
    "svg",
    { class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Neighbours of ${joined(image.query)}` },
    drawn("g", {}, ...links.map((link) => linkLine(link, at))),
    drawn("g", {}, ...nodes.map((node) => nodeMark(node, hrefTo))),
  );
  const light = (event) => {
    const word = event.target.closest?.("[data-word]")?.dataset.word;
    picture.classList.toggle("lit", Boolean(word));
    for (const line of picture.querySelectorAll("line")) {
      line.classList.toggle("on", Boolean(word) && JSON.parse(line.dataset.ends).includes(word));
    }
  };
  for (const event of ["pointerover", "pointerleave", "focusin", "focusout"]) picture.addEventListener(event, light);
  container.replaceChildren(picture);
}

// Labels that overlap push each other apart and stay near their places.

function part(a, b) {
  const overlapX = (a.w + b.w) / 2 + 5 - Math.abs(a.x - b.x);
  const overlapY = (a.h + b.h) / 2 + 5 - Math.abs(a.y - b.y);
  if (overlapX <= 0 || overlapY <= 0) return;
  // Move them along the shorter way: up and down for most words.
  const along = overlapX < overlapY ? "x" : "y";
  const overlap = Math.min(overlapX, overlapY);
  const side = a[along] === b[along] ? (a.word < b.word ? -1 : 1) : Math.sign(a[along] - b[along]);
  const share = a.fixed || b.fixed ? 1 : 0.5;
  if (!a.fixed) a[along] += side * overlap * share;
  if (!b.fixed) b[along] -= side * overlap * share;
}

/** Change x and y of boxes {x, y, w, h, homeX, homeY, fixed}, so that they do not overlap and stay in the frame. */
function settle(boxes, width, height) {
  for (let round = 0; round < 160; round += 1) {
    const pull = 0.03 * (1 - round / 160);
    for (const box of boxes) {
      if (box.fixed) continue;
      box.x += pull * (box.homeX - box.x);
      box.y += pull * (box.homeY - box.y);
    }
    for (let i = 0; i < boxes.length; i += 1) {
      for (let j = i + 1; j < boxes.length; j += 1) part(boxes[i], boxes[j]);
    }
    for (const box of boxes) {
      box.x = Math.min(width - box.w / 2 - 2, Math.max(box.w / 2 + 2, box.x));
      box.y = Math.min(height - box.h / 2 - 2, Math.max(box.h / 2 + 2, box.y));
    }
  }
}
