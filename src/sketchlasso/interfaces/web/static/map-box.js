// What surrounds a map: buttons for those who cannot scroll or pinch, and its groups as a list.

import { element } from "./dom.js";
import { swatchOf } from "./map-canvas.js";
import { saveCanvas, saveLine } from "./save.js";

/** The frame, and buttons that save the visible part of the map; current(): the MapCanvas that draws on the canvas. */
export function mapBox(canvas, current) {
  const button = (text, label, act) =>
    element("button", { type: "button", class: "icon", "aria-label": label, title: label, on: { click: act } }, text);
  const box = element(
    "div",
    { class: "map" },
    canvas,
    element(
      "div",
      { class: "zoom" },
      button("+", "Zoom in", () => current().zoom(1.6)),
      button("\u2212", "Zoom out", () => current().zoom(1 / 1.6)),
      button("\u25a1", "The whole map", () => current().reset()),
    ),
  );
  return [box, saveLine({ PNG: () => saveCanvas(canvas, "map") })];
}

/** Groups {community, size, chips}, for readers who cannot see the map. */
export function groupList(title, groups) {
  const items = groups.map(({ community, size, chips }) =>
    element("li", {}, element("p", {}, swatchOf(community), size), element("ul", { class: "chips small" }, ...chips)),
  );
  return [element("h2", {}, title), element("ul", { class: "groups" }, ...items)];
}
