// Save a picture of the page as a file of its own, without the style sheet.

import { element } from "./dom.js";

// Styles of a graph that SVG files need as attributes.
const COPIED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];
const SHARP = 2; // pixels of a PNG per pixel of the page

/** The text of an SVG file. */
function svgText(picture) {
  const copy = picture.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [picture, ...picture.querySelectorAll("*")].forEach((node, place) => {
    const style = getComputedStyle(node);
    for (const name of COPIED) copies[place].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "href"]) copies[place].removeAttribute(name);
  });
  return new XMLSerializer().serializeToString(copy);
}

/** A canvas in the colour of the cards; paint(pen) draws on it. */
function pngOf(width, height, paint) {
  const paper = element("canvas", { width, height });
  const pen = paper.getContext("2d");
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--card");
  pen.fillRect(0, 0, width, height);
  paint(pen);
  return new Promise((resolve) => paper.toBlob(resolve, "image/png"));
}

function keep(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (title, ending) => `${title.replace(/[^\p{L}\p{N}]+/gu, "-")}.${ending}`;

export function saveSvg(picture, title) {
  keep(new Blob([svgText(picture)], { type: "image/svg+xml" }), fileName(title, "svg"));
}

export async function savePng(picture, title) {
  const [width, height] = ["width", "height"].map((side) => SHARP * Number(picture.getAttribute(side)));
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svgText(picture)], { type: "image/svg+xml" }));
  await image.decode();
  keep(await pngOf(width, height, (pen) => pen.drawImage(image, 0, 0, width, height)), fileName(title, "png"));
  URL.revokeObjectURL(image.src);
}

export async function saveCanvas(canvas, title) {
  const blob = await pngOf(canvas.width, canvas.height, (pen) => pen.drawImage(canvas, 0, 0));
  keep(blob, fileName(title, "png"));
}

/** A line of buttons; ways: names of formats, each with the function that saves it. */
export function saveLine(ways) {
  const buttons = Object.entries(ways).map(([name, save]) =>
    element("button", { type: "button", class: "quiet", "aria-label": `Save the picture as ${name}`, on: { click: save } }, name),
  );
  return element("p", { class: "saving" }, "Save as ", ...buttons);
}
