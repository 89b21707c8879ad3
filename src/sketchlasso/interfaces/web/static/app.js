// The page: reads the address, shows its view, and turns actions of the user into new addresses.

import { Refusal, ask, isAbort } from "./api.js";
import { CompareView } from "./compare-view.js";
import { Controls } from "./controls.js";
import { byId, chip, countText, element, joined, later, onPageLink, pageLink, percentText, sentence } from "./dom.js";
import { ImageView } from "./image-view.js";
import { MapView } from "./map-view.js";
import { Field } from "./search.js";
import { hrefOf, readState } from "./state.js";
import { TopicView } from "./topic-view.js";

const REST = 40; // milliseconds between the last move of a slider and its question
const STARTS = 24;

let state = readState(location.search);
let current = null;
let turn = 0;
let about = null;

const page = {
  get about() {
    return about;
  },
  href: (changes) => hrefOf({ ...state, ...changes }),
  go: (changes) => {
    state = { ...state, ...changes };
    history.pushState(null, "", hrefOf(state));
    show();
  },
  /** Change the address without a new entry in the history. */
  keep: (changes) => {
    state = { ...state, ...changes };
    history.replaceState(null, "", hrefOf(state));
  },
  say: (text) => {
    byId("said").textContent = text;
  },
};

const views = { image: new ImageView(page), compare: new CompareView(page), map: new MapView(page), topic: new TopicView(page) };
const soon = later(() => show(), REST);
const controls = new Controls((changes) => {
  page.keep(changes);
  controls.show(state);
  soon();
});
const first = new Field(byId("word"), () => submit());
const second = new Field(byId("other"), () => submit());

function submit() {
  const [words, others] = [first.words, state.view === "map" ? [] : second.words];
  first.close();
  second.close();
  if (!words.length) {
    byId("word").focus();
    return;
  }
  const view = state.view === "map" ? "map" : others.length ? "compare" : "image";
  const same = joined(words) === joined(state.words);
  page.go({ view, words, others, at: null, exclude: same ? state.exclude : [] });
}

function showChrome() {
  first.words = state.words;
  second.words = state.view === "compare" ? state.others : [];
  byId("other-field").hidden = state.view === "map";
  for (const link of document.querySelectorAll("[data-view]")) {
    const view = link.dataset.view;
    link.href = hrefOf({ ...state, view, at: null });
    if (view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const empty = !state.words.length && !["map", "topic"].includes(state.view);
  byId("problem").hidden = true;
  byId("welcome").hidden = !empty;
  byId("view").hidden = empty;
  byId("controls").hidden = ["map", "topic"].includes(state.view);
  document.body.dataset.view = empty ? "welcome" : state.view;
  controls.show(state);
  return empty;
}

async function show() {
  soon.cancel();
  const mine = ++turn;
  const next = views[state.view];
  if (showChrome()) {
    current?.leave();
    current = null;
    document.title = "Topic explorer";
    return;
  }
  if (current !== next) current?.leave();
  current = next;
  const slow = setTimeout(() => (byId("progress").hidden = false), 150);
  try {
    await next.show(state);
  } catch (error) {
    if (mine === turn) fail(error);
  } finally {
    clearTimeout(slow);
    if (mine === turn) byId("progress").hidden = true;
  }
}

/** Show why there is no answer, and what to do. */
function fail(error) {
  if (isAbort(error)) return;
  if (!(error instanceof Refusal)) console.error(error);
  const problem = byId("problem");
  const unknown = error.status === 404 && error.word !== undefined;
  byId("view").hidden = true;
  problem.hidden = false;
  problem.replaceChildren(
    element("h1", {}, unknown ? unknownTitle(error) : asked() ? `No answer to \u201c${asked()}\u201d` : "No answer"),
    element("p", {}, unknown ? suggestionText(error) : sentence(error.message)),
  );
  if (unknown) {
    const others = error.suggestions.map((word) => chip(page.href(swapped(error.word, [word])), word));
    problem.append(element("ul", { class: "chips" }, ...others));
    const rest = swapped(error.word, []);
    if (rest.words.length && (state.view !== "compare" || rest.others.length)) {
      problem.append(element("p", {}, pageLink(page.href(rest), {}, `Ask for ${joined(rest.words)} without it`)));
    }
  }
  current?.leave();
  current = null;
}

function asked() {
  if (state.view === "map") return "the map";
  if (state.view === "topic") return "the topic";
  return [state.words, state.view === "compare" ? state.others : []].filter((words) => words.length).map(joined).join(" and ");
}

const unknownTitle = ({ word, stopWord }) =>
  `\u201c${word}\u201d is ${stopWord ? "a stop word" : "not in the vocabulary"}`;

function suggestionText({ suggestions, stopWord }) {
  if (stopWord) return "Stop words are left out of the vocabulary. Try another word, or fit again with other stop words.";
  return suggestions.length ? "Did you mean one of these?" : "Rare and very common words are left out of it. Try another one.";
}

/** The state with other words, or none, in place of the unknown one. */
function swapped(unknown, words) {
  const is = (one) => one.toLowerCase() === unknown.toLowerCase();
  const swap = (own) => [...new Set(own.flatMap((one) => (is(one) ? words : [one])))];
  return { words: swap(state.words), others: swap(state.others), exclude: swap(state.exclude) };
}

const wordHref = (word) => hrefOf({ ...state, view: "image", words: [word] });
const wordChip = ({ word }) => chip(wordHref(word), word);

async function showFrequent() {
  const { words } = await ask("words", [["prefix", ""], ["count", STARTS]]);
  byId("starts-title").textContent = "Frequent words";
  byId("starts").className = "chips";
  byId("starts").replaceChildren(...words.map(wordChip));
}

/** Replace frequent words by topics once the server has found them. */
async function showTopics() {
  byId("finding").hidden = false;
  try {
    const { topics } = await ask("topics");
    byId("starts-title").textContent = countText(topics.length, "topic");
    byId("starts").className = "topics";
    byId("starts").replaceChildren(...topics.map(topicCard));
  } finally {
    byId("finding").hidden = true;
  }
}

function topicCard({ number, label, words, n_words: size, n_documents: count, stability, examples }) {
  const kept = stability === null ? "" : ` \u00b7 ${percentText(stability)} stable`;
  const facts = `${countText(count, "document")} \u00b7 ${countText(size, "word")}${kept}`;
  const title = "Documents that are mostly about it, its words, and how often its leading words stay together when half of the documents are left out.";
  return element(
    "li",
    { class: "card" },
    element("h3", {}, pageLink(hrefOf({ ...state, view: "topic", topic: number }), {}, label.slice(0, 3).join(", "))),
    element("p", { class: "facts small", title }, facts),
    element("ul", { class: "chips small" }, ...words.map(wordChip)),
    examples.length ? element("p", { class: "example" }, `Such as: ${examples[0]}`) : null,
  );
}

async function start() {
  about = await ask("about");
  byId("corpus").textContent =
    `${about.source} \u00b7 ${countText(about.n_documents, "document")} \u00b7 ${countText(about.n_words, "word")}`;
  first.phrases = second.phrases = about.has_phrases;
  byId("n").max = about.limits.n_words;
  await showFrequent();
  await show();
  if (about.has_map) showTopics().catch(fail);
  if (!state.words.length && state.view !== "map" && matchMedia("(pointer: fine)").matches) byId("word").focus();
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
onPageLink("a[data-page-link], a[data-view], a[data-home]", (link) => {
  state = readState(location.search);
  show();
  if (link?.closest("#view, #problem, #welcome")) {
    byId("main").focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input:not([type=range]):not([type=checkbox]), textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    byId("word").focus();
    byId("word").select();
  }
});
start().catch(fail);
