/** The frame of every figure: title, controls, picture, notices, model chip, and the buttons below. */

import { controls } from "./controls.js";
import { el } from "./dom.js";
import { panels } from "./panels.js";
import { keepFocus } from "./picks.js";
import { number, pieces, power, sentence, translator } from "./text.js";

const LONGEST = 1e10; // larger numbers are read as a power of ten
const SMALLEST = 1e-4; // and smaller ones, where so many decimals are asked for that they would show
const PATIENCE = 150; // milliseconds until a wait is shown

/** Builds the figure of `widget` into `host`, and again when the language changes. */
export function frame({ model, host, widget }) {
  const figure = new Figure(model, host, widget);
  figure.build();
  const changes = {
    "change:result": () => figure.show(),
    "change:error": () => figure.refuse(),
    "change:inputs": () => figure.expect(),
    "change:strings": () => figure.build(),
  };
  for (const [event, listener] of Object.entries(changes)) model.on(event, listener);
  const redraw = () => figure.show();
  const print = () => figure.panels.open("table");
  window.addEventListener("aun-theme", redraw);
  window.addEventListener("beforeprint", print);
  // A notebook may draw before it shows, and a figure outside of the document has no colours yet.
  const shown = new ResizeObserver(() => {
    shown.disconnect();
    redraw();
  });
  if (!host.isConnected) shown.observe(host);
  return () => {
    shown.disconnect();
    for (const [event, listener] of Object.entries(changes)) model.off(event, listener);
    window.removeEventListener("aun-theme", redraw);
    window.removeEventListener("beforeprint", print);
  };
}

class Figure {
  #timer = null;

  constructor(model, host, widget) {
    this.model = model;
    this.host = host;
    this.widget = widget;
    host.classList.add("aun");
    host.dataset.widget = model.get("name");
    host.dataset.state = "loading";
  }

  /** What the parts of a figure work with. */
  #kit() {
    const { model } = this;
    const [name, lang, t] = [model.get("name"), model.get("lang"), translator(model.get("strings"))];
    return {
      name, lang, t,
      result: () => model.get("result"),
      inputs: () => model.get("inputs"),
      fixed: field => model.get("fields")[field].saved?.length === 1, // a saved page has no answers for another value
      set: (field, value) => this.#change({ ...model.get("inputs"), [field]: value }),
      put: values => this.#change({ ...model.get("inputs"), ...values }),
      out: (key, value, digits) => el("output", { "aria-live": "off", data: { key, value: written(value) } }, shown(lang, value, digits)),
    };
  }

  build() {
    const { model, host } = this;
    const kit = (this.kit = this.#kit());
    this.body = this.widget.build(kit);
    this.controls = controls(kit, this.widget.controls, model.get("fields"));
    this.panels = panels(kit, this);
    this.notice = el("p", { class: "notice", role: "status" });
    this.chip = el("div", { class: "chips" });
    this.picture = el("div", { class: "picture" }, this.body.node);
    host.replaceChildren(
      el("figcaption", {}, el("strong", {}, kit.t(`${kit.name}.title`)), el("span", {}, kit.t(`${kit.name}.about`))),
      this.controls.node, el("div", { class: "wait", "aria-hidden": "true" }), this.notice,
      el("p", { class: "loading" }, kit.t("frame.loading")), this.picture, this.chip, this.panels.node,
    );
    this.adjust();
    this.show();
    this.refuse();
  }

  #change(inputs) {
    this.model.set("notes", null);
    this.model.set("inputs", inputs);
    this.model.save_changes();
  }

  /** Other inputs are on show than those that the numbers belong to: a short wait goes unseen, a long one does not. */
  expect() {
    this.adjust();
    if (!this.model.get("result") || this.#confirmed()) return;
    this.host.setAttribute("aria-busy", "true");
    this.#timer ??= setTimeout(() => (this.host.dataset.state = "busy"), PATIENCE);
  }

  /** Back to the defaults, and to the model that the page has chosen. */
  reset() {
    const fields = Object.entries(this.model.get("fields"));
    this.#change({ ...Object.fromEntries(fields.map(([name, field]) => [name, field.default])), ...(this.model.get("chosen") ?? {}) });
  }

  #settle(state) {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.host.removeAttribute("aria-busy");
    this.host.dataset.state = state;
  }

  adjust() {
    const { limits, used } = this.model.get("result") ?? {};
    this.controls.update(this.model.get("inputs"), limits, used && this.#confirmed() ? used : {});
  }

  /** Do the numbers on show belong to the inputs on show? */
  #confirmed() {
    const [inputs, result] = [this.model.get("inputs"), this.model.get("result")];
    return Object.entries(inputs).every(([field, value]) => result.inputs[field] === value);
  }

  show() {
    const result = this.model.get("result");
    if (!result) return;
    this.adjust();
    this.body.draw(result);
    this.#label(result);
    this.panels.refresh();
    if (!this.#confirmed()) return; // newer inputs are on their way, or were refused
    this.#say(this.#notes(result));
    this.#settle("ready");
  }

  /** The model's chip, which stays as it is while the model does, and a chip for each claim. */
  #label({ model, claims = [] }) {
    if (model && this.chip.firstElementChild?.dataset.model !== model.name) this.chip.replaceChildren(modelChip(this.kit, model));
    keepFocus(this.chip, () => {
      this.chip.querySelectorAll(".claim").forEach(chip => chip.remove());
      this.chip.append(...claims.map(claim => claimChip(this.kit, claim)));
    });
  }

  /** What a link asked for, or an input, that this figure or this model cannot show. */
  #notes({ used = {}, inputs }) {
    const fields = this.model.get("fields");
    const beyond = Object.entries(used)
      .filter(([field, value]) => value !== inputs[field] && inputs[field] !== fields[field].default)
      .map(([field, value]) => ({ key: "note.clamped", params: { field, given: inputs[field], used: value } }));
    return [...(this.model.get("notes") ?? []), ...beyond];
  }

  #say(notes, ...more) {
    this.notice.replaceChildren(...notes.flatMap(note => [sentence(this.kit.t, this.kit.name, note), " "]), ...more);
  }

  refuse() {
    const error = this.model.get("error");
    if (!error) {
      if (this.host.dataset.state === "error") this.show();
      return;
    }
    const result = this.model.get("result");
    const undo = el("button", { type: "button", on: { click: () => this.#change(result.inputs) } }, this.kit.t("frame.undo"));
    this.#say([error], ...(result && error.key !== "frame.offline" ? [undo] : []));
    this.#settle("error");
  }
}

function modelChip(kit, card) {
  const size = [" · ", kit.out("model.parameters", card.parameters, 0), ` ${kit.t("frame.parameters")}`];
  return el(
    "details",
    { class: "chip", data: { model: card.name } },
    el("summary", {}, `${kit.t("frame.model")} `, el("b", {}, card.name), size),
    el("div", { class: "card", tabindex: 0 }, headed(card.card || kit.t("frame.no-card"))),
  );
}

/** A card as it was written, its headings made to stand out. */
function headed(text) {
  return text.split(/^(#+ .*)$/m).map((piece, at) => (at % 2 ? el("strong", {}, piece) : piece));
}

/** A number as the document keeps it, in full. */
function written(value) {
  if (value === null) return "-Infinity";
  return Array.isArray(value) ? value.join("e") : value;
}

/** A number as mantissa and power of ten. */
function parted(value) {
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  return [value / 10 ** exponent, exponent];
}

/** A number as it is read; a pair is a mantissa and its power of ten. */
function shown(lang, value, digits) {
  const tiny = digits > 5 && value !== 0 && Math.abs(value) < SMALLEST;
  if (!Array.isArray(value) && value !== null && (Math.abs(value) >= LONGEST || tiny)) return shown(lang, parted(value), digits);
  if (!Array.isArray(value)) return number(lang, value, digits);
  const [line, above] = power(lang, value);
  return [line, el("sup", {}, above)];
}

/** Whether what the prose says of words holds here: by how much, and at which head it holds most. */
function claimChip(kit, { lead = "frame.claim", key = "frame.claim-share", word, origin, value, holds, strongest }) {
  const mark = el("b", { class: holds ? "holds" : "fails" }, holds ? "✓" : "✗");
  const parts = { word: el("span", {}, word), origin: el("span", {}, origin), value: kit.out(`claim.${word}`, value, Number.isInteger(value) ? 0 : 2) };
  return el(
    "div",
    { class: "chip claim", data: { holds } },
    el("span", {}, `${kit.t(lead)}: `, pieces(kit.t, key, parts), " ", mark),
    strongest && strongestHead(kit, word, strongest),
  );
}

function strongestHead(kit, word, { layer, head, value }) {
  const out = (name, number, digits) => kit.out(`strongest.${word}.${name}`, number, digits);
  const parts = { layer: out("layer", layer, 0), head: out("head", head, 0), value: out("value", value, 2) };
  const { layer: shownLayer, head: shownHead } = kit.result().used;
  const here = layer === shownLayer && head === shownHead;
  const go = el("button", { type: "button", disabled: here, on: { click: () => kit.put({ layer, head }) } }, kit.t(here ? "frame.strongest-here" : "frame.strongest-go"));
  return el("span", { class: "strongest" }, el("span", {}, pieces(kit.t, "frame.strongest", parts)), " ", go);
}
