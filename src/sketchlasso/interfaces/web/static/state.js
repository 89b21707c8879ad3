// The URL holds the whole state of a view.

const VIEWS = ["image", "compare", "map", "topic"];
const MOST = { words: 8, excluded: 32 };

export const START = Object.freeze({
  view: "image",
  words: [],
  others: [],
  n: 10,
  penalty: 1,
  radius: 1,
  positive: false,
  exclude: [],
  at: null,
  topic: 0,
});

function number(text, low, high, otherwise) {
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
}

function wordsOf(parameters, name, most) {
  const given = parameters.getAll(name).map((word) => word.trim()).filter(Boolean);
  return [...new Set(given)].slice(0, most);
}

function placeOf(text) {
  const parts = (text ?? "").split(",").map(Number);
  return parts.length === 3 && parts.every(Number.isFinite) && parts[2] > 0 ? parts : null;
}

export function readState(search) {
  const parameters = new URLSearchParams(search);
  const view = parameters.get("view");
  return {
    view: VIEWS.includes(view) ? view : "image",
    words: wordsOf(parameters, "word", MOST.words),
    others: wordsOf(parameters, "with", MOST.words),
    n: Math.round(number(parameters.get("n"), 1, 50, START.n)),
    penalty: number(parameters.get("penalty"), 0.125, 8, 1),
    radius: number(parameters.get("radius"), 0.125, 8, 1),
    positive: parameters.get("positive") === "1",
    exclude: wordsOf(parameters, "exclude", MOST.excluded),
    at: placeOf(parameters.get("at")),
    topic: Math.round(number(parameters.get("topic"), 0, Infinity, 0)),
  };
}

/** The address of a state, without the defaults. */
export function hrefOf(state) {
  const parameters = new URLSearchParams();
  if (state.view !== "image") parameters.set("view", state.view);
  if (state.view === "topic") parameters.set("topic", state.topic);
  else for (const word of state.words) parameters.append("word", word);
  if (state.view === "compare") for (const word of state.others) parameters.append("with", word);
  if (state.view === "map") {
    if (state.at) parameters.set("at", state.at.map((value) => +value.toFixed(3)).join(","));
  } else if (state.view !== "topic") {
    if (state.n !== START.n) parameters.set("n", state.n);
    if (state.penalty !== 1) parameters.set("penalty", +state.penalty.toFixed(4));
    if (state.radius !== 1) parameters.set("radius", +state.radius.toFixed(4));
    if (state.positive) parameters.set("positive", "1");
    for (const word of state.exclude) parameters.append("exclude", word);
  }
  const text = parameters.toString();
  return text ? `/?${text}` : "/";
}

/** The settings of an image as parameters of the API. */
export function imageOptions(state) {
  const options = [["n_words", state.n]];
  if (state.penalty !== 1) options.push(["alpha", `${+state.penalty.toFixed(4)}*auto`]);
  if (state.radius !== 1) options.push(["radius", `${+state.radius.toFixed(4)}*auto`]);
  if (state.positive) options.push(["positive", "true"]);
  for (const word of state.exclude) options.push(["exclude", word]);
  return options;
}

export const named = (name, words) => words.map((word) => [name, word]);
