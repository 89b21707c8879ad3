// Words as dots on a canvas: drawn, moved, zoomed, found under the pointer.

import { drawn, later } from "./dom.js";
import { Gestures } from "./gestures.js";

const LIMITS = [0.7, 60];
const NAMED = 2.5; // up to this zoom groups have their names
const LABELS = 260;
const STRETCH = 2; // at most, to fill a frame that is not a square
const LINKS = 6000; // of all, the strongest, are enough to see the whole map
const FEW = 2000; // fewer links than this are drawn darker
const MARGINS = [72, 28]; // pixels left free at the sides, for the buttons, and above and below, for labels
const SHOWN_LINKS = 12; // of a chosen word, that the view is fitted to
const NEAR = 14; // pixels within which a pointer means a dot

// Colours that colour-blind readers can tell apart, after Okabe and Ito. Each colour comes in several
// shapes, so that more groups than colours look different; words of no group are grey dots.
const PALETTE = {
  light: ["#0072b2", "#d55e00", "#007f5c", "#b0568a", "#9a6a00", "#2f8fc4", "#5b5bb0", "#7c7c34"],
  dark: ["#56b4e9", "#f08a3c", "#2fc79b", "#e29ac4", "#e6b23c", "#8fd0f5", "#a9a9f0", "#c9c96a"],
};
const GREY = { light: "#8a9299", dark: "#7d868e" };

const style = () => getComputedStyle(document.documentElement);
export const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => (dark.matches ? "dark" : "light");
const COLOURS = PALETTE.light.length;
export const colourOf = (community) => (community < 0 ? GREY[theme()] : PALETTE[theme()][community % COLOURS]);

// Corners of the shapes, for a dot of radius one; the first shape is a circle.
const SHAPES = [
  null,
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.25], [1.15, 0.85], [-1.15, 0.85]],
  [[0, -1.35], [1.1, 0], [0, 1.35], [-1.1, 0]],
  [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
];
export const shapeOf = (community) => SHAPES[community < 0 ? 0 : Math.floor(community / COLOURS) % SHAPES.length];

/** The mark of a group, as it is on the map. */
export function swatchOf(community) {
  const corners = shapeOf(community);
  const fill = colourOf(community);
  const mark = corners
    ? drawn("polygon", { points: corners.map((corner) => corner.join(",")).join(" "), fill })
    : drawn("circle", { r: 1.1, fill });
  return drawn("svg", { class: "swatch", viewBox: "-1.4 -1.4 2.8 2.8", "aria-hidden": "true" }, mark);
}

function trace(pen, [x, y], radius, corners) {
  pen.beginPath();
  if (!corners) pen.arc(x, y, radius, 0, 2 * Math.PI);
  else for (const [a, b] of corners) pen.lineTo(x + radius * a, y + radius * b);
  pen.fill();
}

/** The words, scaled to fill the square from -1 to 1. */
function spread(nodes) {
  const span = (values) => {
    const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    return { middle: (low + high) / 2, half: (high - low) / 2 || 1 };
  };
  const [across, down] = [span(nodes.map(({ x }) => x)), span(nodes.map(({ y }) => y))];
  return nodes.map((node) => ({
    ...node,
    x: (node.x - across.middle) / across.half,
    y: (node.y - down.middle) / down.half,
  }));
}

const isFree = (box, taken) =>
  taken.every((o) => box[0] > o[2] || box[2] < o[0] || box[1] > o[3] || box[3] < o[1]);

export class MapCanvas {
  #canvas;
  #nodes;
  #edges;
  #links = new Map();
  #byWord = new Map();
  #hubs;
  #largest;
  #middle = [0, 0];
  #scale = 1;
  #hovered = null;
  #selected = null;
  #group = null;
  #names;
  #waiting = false;

  /** names: of the groups, by their numbers. */
  constructor(canvas, { nodes, edges }, names, { onSelect, onMove }) {
    this.#names = names;
    this.#canvas = canvas;
    this.#nodes = nodes = spread(nodes);
    this.#edges = [...edges].sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
    for (const node of nodes) this.#byWord.set(node.word, node);
    this.#largest = Math.sqrt(nodes.reduce((most, { size }) => Math.max(most, size), 1));
    for (const [a, b, weight] of edges) {
      for (const [from, to] of [[a, b], [b, a]]) {
        if (!this.#links.has(nodes[from])) this.#links.set(nodes[from], []);
        this.#links.get(nodes[from]).push([nodes[to], weight]);
      }
    }
    for (const list of this.#links.values()) list.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const links = (node) => this.#links.get(node)?.length ?? 0;
    this.#hubs = [...nodes].sort((a, b) => links(b) - links(a) || b.size - a.size);
    this.onSelect = onSelect;
    this.moved = later(() => onMove(this.place), 250);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(canvas);
    this.gestures = new Gestures(canvas, {
      pan: (x, y) => this.#pan(x, y),
      zoom: (factor, x, y) => this.zoom(factor, x, y),
      hover: (x, y) => this.#hover(x, y),
      tap: (x, y) => this.onSelect(this.#at(x, y)?.word ?? null),
      key: (event) => this.#key(event),
    });
  }

  close() {
    this.observer.disconnect();
    this.gestures.close();
    this.moved.cancel();
  }

  /** Middle and zoom, for links. */
  get place() {
    return [...this.#middle, this.#scale];
  }

  node(word) {
    return this.#byWord.get(word) ?? null;
  }

  neighbours(node) {
    return (this.#links.get(node) ?? []).map(([other]) => other);
  }

  /** Mark the words of a group, or of none. */
  highlight(group) {
    this.#group = group;
    this.draw();
  }

  /** Mark a word, and go to the given place, or to the word and its strongest links. */
  select(word, place) {
    this.#selected = this.#byWord.get(word) ?? null;
    if (place) this.#goTo(...place);
    else if (this.#selected) this.#fit([this.#selected, ...this.neighbours(this.#selected).slice(0, SHOWN_LINKS)]);
    else this.#goTo(0, 0, 1);
    this.draw();
    return this.#selected;
  }

  reset() {
    this.#goTo(0, 0, 1);
    this.draw();
    this.moved();
  }

  #fit(nodes) {
    const [across, down] = ["x", "y"].map((axis) => {
      const values = nodes.map((node) => node[axis]);
      return { middle: (Math.min(...values) + Math.max(...values)) / 2, half: (Math.max(...values) - Math.min(...values)) / 2 };
    });
    this.#goTo(across.middle, down.middle, 1 / Math.max(across.half, down.half, 0.1));
  }

  #goTo(x, y, scale) {
    this.#middle = [x, y];
    this.#scale = Math.min(LIMITS[1], Math.max(LIMITS[0], scale));
  }

  zoom(factor, x = this.#canvas.clientWidth / 2, y = this.#canvas.clientHeight / 2) {
    const before = this.#toMap(x, y);
    this.#goTo(...this.#middle, this.#scale * factor);
    const after = this.#toMap(x, y);
    this.#middle = [this.#middle[0] + before[0] - after[0], this.#middle[1] + before[1] - after[1]];
    this.draw();
    this.moved();
  }

  /** Draw once before the next frame. */
  draw() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      if (this.#canvas.isConnected) this.#paint();
    });
  }

  /** Pixels per unit of the map, across and down. */
  get #units() {
    const [width, height] = [this.#canvas.clientWidth, this.#canvas.clientHeight];
    const least = Math.min(width, height);
    return [width, height].map((side, axis) => this.#scale * (Math.min(side, STRETCH * least) / 2 - MARGINS[axis]));
  }

  #toMap(x, y) {
    const [across, down] = this.#units;
    return [
      this.#middle[0] + (x - this.#canvas.clientWidth / 2) / across,
      this.#middle[1] + (y - this.#canvas.clientHeight / 2) / down,
    ];
  }

  #pan(x, y) {
    const [across, down] = this.#units;
    const inside = (value) => Math.min(1.2, Math.max(-1.2, value));
    this.#middle = [inside(this.#middle[0] - x / across), inside(this.#middle[1] - y / down)];
    this.draw();
    this.moved();
  }

  #at(x, y) {
    const [mapX, mapY] = this.#toMap(x, y);
    const [across, down] = this.#units;
    let [best, found] = [NEAR ** 2, null];
    for (const node of this.#nodes) {
      const distance = (across * (node.x - mapX)) ** 2 + (down * (node.y - mapY)) ** 2;
      if (distance < best) [best, found] = [distance, node];
    }
    return found;
  }

  #hover(x, y) {
    const node = x === null ? null : this.#at(x, y);
    if (node === this.#hovered) return;
    this.#hovered = node;
    this.#canvas.style.cursor = node ? "pointer" : "";
    this.draw();
  }

  #key(event) {
    const step = 60;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.#pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.reset();
    else if (event.key === "Enter") this.#selectMiddle();
    else return;
    event.preventDefault();
  }

  #selectMiddle() {
    const [x, y] = this.#middle;
    const distance = (node) => (node.x - x) ** 2 + (node.y - y) ** 2;
    const nearest = this.#nodes.reduce((best, node) => (distance(node) < distance(best) ? node : best));
    this.onSelect(nearest.word);
  }

  #paint() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.#canvas.clientWidth, this.#canvas.clientHeight];
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    const pen = this.#canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const [across, down] = this.#units;
    const put = ({ x, y }) => [
      (x - this.#middle[0]) * across + width / 2,
      (y - this.#middle[1]) * down + height / 2,
    ];
    const seen = ([x, y]) => x > -40 && y > -20 && x < width + 40 && y < height + 20;
    const lit = this.#hovered ?? this.#selected;
    const near = new Set(
      lit ? [lit, ...this.neighbours(lit)]
        : this.#group === null ? [] : this.#nodes.filter(({ community }) => community === this.#group),
    );
    this.#paintLinks(pen, put, seen, lit);
    this.#paintDots(pen, put, seen, near);
    this.#paintLabels(pen, put, seen, lit, near, this.#paintNames(pen, put, near));
  }

  #paintLinks(pen, put, seen, lit) {
    const colours = style();
    pen.lineWidth = 1;
    pen.strokeStyle = colours.getPropertyValue("--map-link");
    // Many overlapping lines make a dark mass: draw fewer and fainter ones when zoomed out.
    const shown = this.#edges.slice(0, Math.round(LINKS * this.#scale ** 1.5));
    const few = Math.max(1, Math.sqrt(FEW / (shown.length || 1)));
    pen.globalAlpha = (lit ? 0.3 : 1) * Math.min(0.5, few * Math.min(0.12, 0.05 + 0.01 * this.#scale));
    const lines = (some) => {
      // Dashed lines are negative, as in the graphs of images.
      for (const negative of [false, true]) {
        pen.setLineDash(negative ? [5, 4] : []);
        pen.beginPath();
        for (const [from, to, weight] of some) {
          if (weight < 0 !== negative || (!seen(from) && !seen(to))) continue;
          pen.moveTo(...from);
          pen.lineTo(...to);
        }
        pen.stroke();
      }
      pen.setLineDash([]);
    };
    lines(shown.map(([a, b, weight]) => [put(this.#nodes[a]), put(this.#nodes[b]), weight]));
    pen.globalAlpha = 1;
    if (!lit) return;
    pen.strokeStyle = colours.getPropertyValue("--accent");
    pen.lineWidth = 1.5;
    lines((this.#links.get(lit) ?? []).map(([other, weight]) => [put(lit), put(other), weight]));
  }

  /** Names of groups over their middles, while the map is small; return the boxes they take. */
  #paintNames(pen, put, near) {
    const taken = [];
    if (this.#scale > NAMED || near.size) return taken;
    const colours = style();
    pen.textAlign = "center";
    pen.lineJoin = "round";
    pen.lineWidth = 5;
    pen.font = "650 15px system-ui, sans-serif";
    pen.strokeStyle = colours.getPropertyValue("--card");
    for (const [group, name] of this.#names) {
      const members = this.#nodes.filter(({ community }) => community === group);
      if (!members.length) continue;
      const middle = (axis) => members.map((node) => node[axis]).sort((a, b) => a - b)[members.length >> 1];
      const [x, y] = put({ x: middle("x"), y: middle("y") });
      const half = pen.measureText(name).width / 2 + 6;
      const box = [x - half, y - 12, x + half, y + 12];
      if (!isFree(box, taken)) continue;
      taken.push(box);
      pen.fillStyle = colourOf(group);
      pen.strokeText(name, x, y + 5);
      pen.fillText(name, x, y + 5);
    }
    return taken;
  }

  #paintDots(pen, put, seen, near) {
    const grow = Math.min(2.2, 0.75 + 0.25 * this.#scale);
    for (const node of this.#nodes) {
      const at = put(node);
      if (!seen(at)) continue;
      pen.globalAlpha = near.size && !near.has(node) ? 0.35 : 0.9;
      pen.fillStyle = colourOf(node.community);
      trace(pen, at, grow * (1.3 + (4 * Math.sqrt(node.size)) / this.#largest), shapeOf(node.community));
    }
    pen.globalAlpha = 1;
  }

  /** The words with most links first; a label that would overlap another is left out. */
  #paintLabels(pen, put, seen, lit, near, taken) {
    const colours = style();
    const first = lit ? [lit, ...[...near].filter((node) => node !== lit).slice(0, 24)] : [];
    pen.textAlign = "center";
    pen.lineJoin = "round";
    pen.lineWidth = 3.5;
    pen.strokeStyle = colours.getPropertyValue("--card");
    pen.fillStyle = colours.getPropertyValue("--ink");
    let count = 0;
    for (const node of [...first, ...this.#hubs]) {
      if (count >= LABELS) break;
      const at = put(node);
      if (!seen(at)) continue;
      const size = node === lit ? 16 : near.has(node) ? 13.5 : 12;
      pen.font = `${node === lit ? 700 : 500} ${size}px system-ui, sans-serif`;
      const half = pen.measureText(node.word).width / 2 + 4;
      const box = [at[0] - half, at[1] - size - 6, at[0] + half, at[1] + 2];
      if (!isFree(box, taken)) continue;
      taken.push(box);
      count += 1;
      pen.globalAlpha = near.size && !near.has(node) ? 0.4 : 1;
      pen.strokeText(node.word, at[0], at[1] - 7);
      pen.fillText(node.word, at[0], at[1] - 7);
    }
    pen.globalAlpha = 1;
  }
}
