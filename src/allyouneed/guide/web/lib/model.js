/** The page's stand-in for a notebook kernel: the same model interface, over fetch. One request in flight, newest wins. */

const OFFLINE = { key: "frame.offline", params: {} };

export class PageModel {
  #state;
  #listeners = {};
  #busy = false;
  #again = false;
  #patience;
  #fetch;

  constructor(state, { fetch = (...request) => globalThis.fetch(...request), patience = 1000 } = {}) {
    this.#state = state;
    this.#fetch = fetch;
    this.#patience = patience;
  }

  get(key) {
    return this.#state[key];
  }

  set(key, value) {
    this.#state[key] = value;
    for (const listener of this.#listeners[`change:${key}`] ?? []) listener();
  }

  on(event, listener) {
    (this.#listeners[event] ??= []).push(listener);
  }

  off(event, listener) {
    this.#listeners[event] = (this.#listeners[event] ?? []).filter(other => other !== listener);
  }

  /** Sends the inputs; while an answer is on its way only the newest inputs wait. Stale answers are never shown. */
  async save_changes() {
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#ask();
      }
    } finally {
      this.#busy = false;
    }
  }

  /** The functions behind the figure. A notebook has them at once, the page asks when a reader does. */
  async code() {
    return this.#state.code ?? (await this.#fetch(`api/${this.get("name")}/code`)).json();
  }

  async #ask() {
    const body = JSON.stringify(this.get("inputs"));
    const headers = { "content-type": "application/json" };
    let answer, content;
    try {
      answer = await this.#fetch(`api/${this.get("name")}`, { method: "POST", headers, body });
      content = answer.status < 500 ? await answer.json() : null;
    } catch {
      this.set("error", OFFLINE);
      await new Promise(resolve => setTimeout(resolve, this.#patience));
      this.#again = true;
      return;
    }
    if (this.#again) return;
    if (answer.ok) {
      this.set("error", null);
      this.set("result", content);
    } else {
      this.set("error", content ?? { key: "error.unexpected", params: {} });
    }
  }
}

/** The model of a page that was saved: its answers came with it, and there is no server to ask for others. */
export class BakedModel extends PageModel {
  #baked;

  constructor(state, baked) {
    super({ code: baked.code, ...state });
    this.#baked = baked;
  }

  async save_changes() {
    const answer = this.#baked.answers[JSON.stringify(this.get("inputs"))];
    this.set("error", answer ? null : { key: "frame.not-saved", params: {} });
    if (answer) this.set("result", { ...answer, inputs: this.get("inputs") });
  }
}
