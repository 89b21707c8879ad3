// The page of a network: its map, and the links of one node.

import { Last, Refusal, ask, isAbort } from "./api.js";
import { byId, chip, countText, element, fact, labelOf, later, onPageLink, pageLink, percentText, sentence, table, weightText } from "./dom.js";
import { drawGraph } from "./graph.js";
import { groupList, mapBox } from "./map-box.js";
import { MapCanvas, dark } from "./map-canvas.js";
import { Field, OFFERED } from "./search.js";
import { START, hrefOf, readState } from "./state.js";

const LISTED = 200;
const GROUPS = 12;
const GROUP_NODES = 8;
const NAMES = { stability: "Stability", p_value: "p-value" };

let state = read();
let map = null; // the MapCanvas
let data = null; // what it shows
let shown = null; // the links of the chosen node
const last = new Last();

function read() {
  return { ...readState(location.search), view: "map" };
}

const nodeHref = (name) => hrefOf({ ...START, view: "map", words: [name] });

function go(changes) {
  state = { ...state, ...changes };
  history.pushState(null, "", hrefOf(state));
  show();
}

async function findNodes(asked, prefix) {
  const { nodes } = await asked.ask("nodes", [["prefix", prefix], ["count", OFFERED]]);
  return nodes.map(({ name, links }) => ({ word: name, note: countText(links, "link") }));
}

const field = new Field(byId("name"), () => submit(), { find: findNodes, single: true });

function submit() {
  const name = field.words[0] ?? null;
  field.close();
  go({ words: name ? [name] : [], at: null });
}

/** The chosen node: its place on the map, its links, its neighbourhood. */
async function show() {
  const name = state.words[0] ?? null;
  field.words = state.words;
  byId("problem").hidden = true;
  select();
  document.title = name ? `${name} \u00b7 Network explorer` : "Network explorer";
  byId("title").textContent = name ?? "Network";
  byId("facts").replaceChildren(...mapFacts());
  try {
    shown = name === null ? null : await last.ask("neighbours", [["name", name], ["count", LISTED]]);
    showNode();
  } catch (error) {
    if (isAbort(error)) return;
    shown = null;
    showNode();
    fail(error);
  }
}

/** Mark the chosen node; go to it if the network is too large to show its links. */
function select() {
  const name = state.words[0] ?? null;
  const zoom = Math.min(6, Math.sqrt((data?.nodes.length ?? 0) / 60));
  const node = map?.node(name);
  const place = node && (zoom > 1 ? [node.x, node.y, zoom] : [0, 0, 1]);
  map?.select(name, state.at ?? place);
}

function showNode() {
  byId("node").hidden = shown === null;
  if (shown === null) return;
  byId("facts").replaceChildren(
    fact(countText(shown.n_links, "link")),
    ...(shown.neighbours.length < shown.n_links ? [fact(`the strongest ${shown.neighbours.length} are listed`)] : []),
  );
  byId("links").replaceChildren(
    shown.neighbours.length
      ? linkTable(shown.neighbours)
      : element("p", { class: "empty" }, "It has no links, so it is not on the map."),
  );
  draw();
}

function linkTable(neighbours) {
  const extra = [...new Set(neighbours.flatMap(({ attributes }) => Object.keys(attributes)))];
  const headings = ["Node", "Weight", ...extra.map((name) => NAMES[name] ?? name)];
  return table(headings, neighbours.map(({ name, weight, attributes }) => [
    pageLink(nodeHref(name), {}, labelOf(name)),
    weightText(weight),
    ...extra.map((key) => valueText(key, attributes[key])),
  ]));
}

function valueText(key, value) {
  if (value === undefined) return "";
  if (key === "stability") return percentText(value);
  return key === "p_value" && value < 0.001 ? value.toExponential(1).replace("-", "\u2212") : weightText(value);
}

/** The node in the middle, its neighbours around it, and their neighbours on the map. */
function draw() {
  if (!shown?.neighbours.length) {
    byId("picture").replaceChildren();
    return;
  }
  const words = shown.neighbours.map(({ name, weight }) => ({ word: name, weight }));
  const outer = words.map(({ word }) => ({
    query: [word],
    words: map?.neighbours(map.node(word)).map(({ word }) => ({ word })) ?? [],
  }));
  drawGraph(byId("picture"), { query: [shown.name], words }, outer, nodeHref);
}

function mapFacts() {
  if (!data) return ["Laying out the map\u2026"];
  const { nodes, edges, n_words: all, n_edges: links } = data;
  const alone = all - nodes.length;
  return [
    fact(countText(nodes.length, "node")),
    fact(countText(links, "link")),
    ...(edges.length < links ? [fact(`the strongest ${percentText(edges.length / links)} are drawn`)] : []),
    ...(alone ? [fact(`${countText(alone, "node")} not on the map`)] : []),
  ];
}

function showMap() {
  const canvas = element("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": "Map of the network. Arrow keys move it, plus and minus zoom, Enter selects the node in the middle.",
  });
  byId("map").replaceChildren(mapBox(canvas, () => map));
  map = new MapCanvas(canvas, data, largestGroups().map(({ community, nodes }) => [community, labelOf(nodes[0].word, 24)]), {
    onSelect: (word) => go({ words: word ? [word] : [], at: map.place }),
    onMove: (place) => {
      state = { ...state, at: place };
      history.replaceState(null, "", hrefOf(state));
    },
  });
  showGroups();
}

/** The largest groups, the nodes of each with most links first. */
function largestGroups() {
  const members = [...Map.groupBy(data.nodes, ({ community }) => community)];
  const largest = members.sort((a, b) => b[1].length - a[1].length).slice(0, GROUPS);
  return largest.map(([community, nodes]) => ({ community, nodes: [...nodes].sort((a, b) => b.size - a.size) }));
}

function showGroups() {
  const groups = largestGroups().map(({ community, nodes }) => {
    const chips = nodes.slice(0, GROUP_NODES).map(({ word }) => chip(nodeHref(word), labelOf(word, 40)));
    return { community, size: countText(nodes.length, "node"), chips };
  });
  const mark = (community) => map.highlight(community);
  byId("groups").replaceChildren(...groupList("Groups, and their nodes with most links", groups, mark));
}

function fail(error) {
  if (!(error instanceof Refusal)) console.error(error);
  byId("problem").hidden = false;
  byId("problem").replaceChildren(
    element("p", {}, sentence(error.message)),
    element("ul", { class: "chips" }, ...(error.suggestions ?? []).map((name) => chip(nodeHref(name), labelOf(name)))),
  );
}

async function start() {
  const about = await ask("about");
  byId("source").textContent =
    `${about.source} \u00b7 ${countText(about.n_nodes, "node")} \u00b7 ${countText(about.n_links, "link")}`;
  await Promise.all([show(), ask("map").then((found) => {
    data = found;
    if (data.nodes.length) showMap();
    else byId("map").hidden = byId("groups").hidden = true;
  })]);
  select();
  if (shown) draw();
  else byId("facts").replaceChildren(...mapFacts());
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
onPageLink("a[data-page-link]", () => {
  state = read();
  show();
});
dark.addEventListener("change", () => {
  if (map) showGroups();
  map?.draw();
});
new ResizeObserver(later(draw, 100)).observe(byId("panels"));
start().catch(fail);
