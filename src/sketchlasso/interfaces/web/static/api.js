// Requests to the server: answers are cached.

const answers = new Map();

/** No answer: the server refused, or could not be reached. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.message ?? `The server answered with status ${status}.`);
    this.status = status;
    this.word = body.word;
    this.suggestions = body.suggestions ?? [];
    this.stopWord = body.stop_word ?? false;
  }
}

export const isAbort = (error) => error.name === "AbortError";

export async function ask(path, parameters = [], signal = undefined) {
  const query = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]));
  const address = `/api/${path}${query.size ? `?${query}` : ""}`;
  if (answers.has(address)) return answers.get(address);
  let response, body;
  try {
    response = await fetch(address, { signal, headers: { accept: "application/json" } });
    body = await response.json();
  } catch (error) {
    if (isAbort(error)) throw error;
    // An incomplete body counts as no response.
    throw new Refusal(0, { message: "the server does not answer; start it again if it has ended, and reload the page." });
  }
  if (!response.ok) throw new Refusal(response.status, body);
  answers.set(address, body);
  return body;
}

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
