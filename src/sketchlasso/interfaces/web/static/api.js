// Requests to the server: answers are cached.

const KEPT = 200;
const PATIENCE = 120_000; // milliseconds: the map of a large vocabulary takes long
const kept = new Map();
export const server = new EventTarget();

export class Refusal extends Error {
  constructor(status, body) {
    super(body.message ?? `The server answered with status ${status}.`);
    this.status = status;
    this.word = body.word;
    this.suggestions = body.suggestions ?? [];
    this.stopWord = body.stop_word ?? false;
  }
}

/** The server could not be reached. */
export class Gone extends Error {}

function isGone() {
  server.dispatchEvent(new Event("gone"));
  return new Gone("The server does not answer.");
}

/** The response and its body; an incomplete body counts as no response. */
async function fetched(address, signal) {
  const signals = [signal, AbortSignal.timeout(PATIENCE)].filter(Boolean);
  try {
    const response = await fetch(address, { signal: AbortSignal.any(signals), headers: { accept: "application/json" } });
    const text = await response.text();
    return [response, response.ok ? JSON.parse(text) : bodyOf(text)];
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw isGone();
  }
}

function bodyOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // a refusal that is not ours still has a status
  }
}

export async function ask(path, parameters = [], signal = undefined) {
  const query = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]));
  const address = `/api/${path}${query.size ? `?${query}` : ""}`;
  if (kept.has(address)) {
    const found = kept.get(address);
    kept.delete(address); // the answers used most recently are kept longest
    kept.set(address, found);
    return found;
  }
  const [response, body] = await fetched(address, signal);
  if (!response.ok) throw new Refusal(response.status, body);
  kept.set(address, body);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return body;
}

/** Resolve if the server answers. */
export const isThere = () => fetched("/api/about");

/** Only the last of several requests matters; earlier ones are aborted. */
export class Last {
  #controller = null;

  async ask(path, parameters) {
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    return ask(path, parameters, controller.signal);
  }

  stop() {
    this.#controller?.abort();
    this.#controller = null;
  }
}

export const isAbort = (error) => error.name === "AbortError";
