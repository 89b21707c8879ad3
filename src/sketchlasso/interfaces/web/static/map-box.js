// What surrounds a map: buttons for those who cannot scroll or pinch, and its groups as a list.

import { element } from "./dom.js";
import { swatchOf } from "./map-canvas.js";

/** The frame of a map; current(): the MapCanvas that draws on the canvas. */
export function mapBox(canvas, current) {
  const button = (text, label, act) =>
    element("button", { type: "button", class: "icon", "aria-label": label, title: label, on: { click: act } }, text);
  return element(
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
}

/** Groups {community, size, chips, link}, also for readers who cannot see the map; onMark(community or null). */
export function groupList(title, groups, onMark) {
  const items = groups.map(({ community, size, chips, link = null }) => {
    const mark = element(
      "button",
      { type: "button", class: "quiet", "aria-pressed": "false", title: "Show it on the map", on: { click: () => press(mark, community) } },
      size,
    );
    return element("li", {}, element("p", {}, swatchOf(community), mark, link), element("ul", { class: "chips small" }, ...chips));
  });
  const list = element("ul", { class: "groups" }, ...items);
  function press(mark, community) {
    const on = mark.getAttribute("aria-pressed") !== "true";
    for (const other of list.querySelectorAll("[aria-pressed]")) other.setAttribute("aria-pressed", "false");
    mark.setAttribute("aria-pressed", String(on));
    onMark(on ? community : null);
  }
  return [element("h2", {}, title), list];
}
