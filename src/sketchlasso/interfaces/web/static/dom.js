// Only these functions make elements. Data become text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const element = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const drawn = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** A link within the page: a real one, so that it can be copied and opened in a new tab. */
export const pageLink = (href, attributes, ...children) =>
  element("a", { href, "data-page-link": true, ...attributes }, ...children);

/** An entry of a list of words: a link that looks like a button. */
export const chip = (href, text) => element("li", {}, pageLink(href, { class: "chip" }, text));

/** One of several facts on a line; styles and tests find it by its name. */
export const fact = (text, title, name) => element("span", { class: "fact", title, "data-fact": name }, text);

/** A table that scrolls within the page; an entry is text or an element. */
export function table(headings, rows) {
  const cells = (tag, attributes, entries) => entries.map((entry) => element(tag, attributes, entry));
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": headings.filter(Boolean).join(", ") },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...cells("th", { scope: "col" }, headings))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", {}, row)))),
    ),
  );
}

export function later(work, milliseconds) {
  let timer = 0;
  const call = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}

const MINUS = "\u2212";

export function weightText(value) {
  const size = Math.abs(value);
  const small = size !== 0 && size < 0.001;
  const text = small ? (size < 1e-5 ? powerText(size) : size.toPrecision(2)) : size.toFixed(size < 0.0995 ? 4 : 3);
  return value < 0 ? MINUS + text : text;
}

export const countText = (value, noun) =>
  `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;

export function percentText(share) {
  const percent = 100 * share;
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}\u202f%`.replace("-", MINUS);
}

export function powerText(value) {
  if (!value) return "0";
  const power = Math.floor(Math.log10(value));
  return power >= -3 ? value.toPrecision(2) : `10${[...String(power)].map(raised).join("")}`;
}

const raised = (sign) => (sign === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[Number(sign)]);

/** A word for display: shortened if it is long, named if it is empty. */
export function labelOf(word, most = Infinity) {
  const shown = word.trim() || "(blank)";
  return shown.length > most ? `${shown.slice(0, most - 1)}\u2026` : shown;
}

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const joined = (words) => words.join(" + ");

/** Redraw a container and keep the focus on the same word. */
export function redraw(container, draw) {
  const held = container.contains(document.activeElement) && document.activeElement.closest("[data-word]")?.dataset.word;
  draw();
  const again = held && container.querySelector(`[data-word="${CSS.escape(held)}"]`);
  if (again) (again.matches("a") ? again : again.querySelector("a"))?.focus();
}

/** Follow links within the page without loading it again; go(link) shows the new address. */
export function onPageLink(selector, go) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(selector);
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    go(link);
  });
  addEventListener("popstate", () => go(null));
}
