/** The controls of a figure, made from what Python says of its inputs. Native elements, so that keys and readers know them. */

import { el, focused, freshId } from "./dom.js";
import { fieldLabel } from "./text.js";

const MAKERS = { slider, choice, onoff, text, lines, draw };

/**
 * list: { field, kind, when?, keyStep? }; `kit.set` changes an input, and `when(inputs, result)` says whether its control
 * is on show. -> { node, update(inputs, limits) }, where `limits` are the largest values that the loaded model allows.
 */
export function controls(kit, list, fields) {
  const made = list.map(item => ({ item, fixed: fields[item.field].saved?.length === 1, ...MAKERS[item.kind](kit, item, saved(fields[item.field])) }));
  const node = el("div", { class: "controls", role: "group", "aria-label": kit.t("frame.controls") }, made.map(one => one.node));
  return {
    node,
    update(inputs, limits = {}, used = {}) {
      for (const { item, node, update, fixed } of made) {
        node.hidden = item.when ? !item.when(inputs, kit.result()) : false;
        update(used[item.field] ?? inputs[item.field], fields[item.field].saved ? undefined : limits[item.field]);
        if (fixed) disable(kit, node);
      }
    },
  };
}

/** A saved page holds answers for some values only: a range then moves among these. */
function saved(field) {
  return field.saved && field.type !== "boolean" && field.type !== "string" ? { ...field, choices: field.saved } : field;
}

function disable(kit, node) {
  node.title = kit.t("frame.not-saved");
  for (const control of node.querySelectorAll("input, button")) control.disabled = true;
}

function valueName(kit, field, value) {
  for (const key of [`${kit.name}.${field}.${value}`, `field.${field}.${value}`]) if (kit.t(key) !== key) return kit.t(key);
  return String(value).replace("-", "−");
}

/** A range; one over listed values moves from value to value. */
function slider(kit, { field, keyStep }, { choices, min, max, type }) {
  const shown = el("span", { class: "control-value" });
  const [low, high] = choices ? [0, choices.length - 1] : [min, max];
  const step = choices || type === "integer" ? 1 : 0.001;
  const input = el("input", { type: "range", id: freshId(field), min: low, max: high, step, data: { field } });
  const value = () => (choices ? choices[input.valueAsNumber] : input.valueAsNumber);
  const tell = now => {
    shown.textContent = valueName(kit, field, now);
    input.setAttribute("aria-valuetext", shown.textContent);
    const length = Number(input.max) - Number(input.min);
    input.style.setProperty("--filled", length > 0 ? (input.valueAsNumber - Number(input.min)) / length : 0);
  };
  input.addEventListener("input", () => {
    tell(value());
    kit.set(field, value());
  });
  if (keyStep) input.addEventListener("keydown", event => byKeys(input, event, keyStep));
  return {
    node: el("div", { class: "control" }, el("label", { for: input.id }, fieldLabel(kit.t, kit.name, field)), input, shown),
    update(now, limit) {
      if (limit !== undefined) input.max = limit;
      input.disabled = Number(input.max) <= Number(input.min);
      input.value = choices ? choices.indexOf(now) : now;
      tell(now);
    },
  };
}

/** Arrow keys move a fine range by a step that a reader notices; with Shift they move by its finest. */
function byKeys(input, event, keyStep) {
  const sign = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  if (!sign || event.shiftKey) return;
  event.preventDefault();
  input.value = input.valueAsNumber + sign * keyStep;
  input.dispatchEvent(new Event("input"));
}

function choice(kit, { field }, { choices }) {
  const group = freshId(field);
  const inputs = choices.map(value => el("input", { type: "radio", name: group, id: `${group}-${value}`, value, data: { field } }));
  for (const input of inputs) input.addEventListener("change", () => kit.set(field, input.value));
  const options = inputs.map(input => [input, el("label", { for: input.id }, valueName(kit, field, input.value))]);
  return {
    node: el("fieldset", { class: "control choice" }, el("legend", {}, fieldLabel(kit.t, kit.name, field)), el("div", {}, options)),
    update(now) {
      for (const input of inputs) input.checked = input.value === now;
    },
  };
}

function onoff(kit, { field }) {
  const input = el("input", { type: "checkbox", role: "switch", id: freshId(field), data: { field } });
  input.addEventListener("change", () => kit.set(field, input.checked));
  return {
    node: el("div", { class: "control switch" }, input, el("label", { for: input.id }, fieldLabel(kit.t, kit.name, field))),
    update(now) {
      input.checked = now;
    },
  };
}

/** A line of text, sent as it is typed, but never in the middle of composing a letter. `blank(result)` is what an empty one means. */
function text(kit, { field, blank }, { longest }) {
  const input = el("input", { type: "text", id: freshId(field), maxlength: longest, autocomplete: "off", spellcheck: "false", data: { field } });
  const send = () => kit.set(field, input.value);
  const typed = el("span", { class: "typed", "aria-hidden": "true" }); // on paper: a box would cut a long text
  input.addEventListener("input", event => event.isComposing || send());
  input.addEventListener("compositionend", send);
  return {
    node: el("div", { class: "control text" }, el("label", { for: input.id }, fieldLabel(kit.t, kit.name, field)), input, typed),
    update(now) {
      input.placeholder = blank(kit.result() ?? {}) ?? "";
      if (!focused(input)) input.value = now || input.placeholder;
      typed.textContent = input.value;
    },
  };
}

/** Several lines of text, each in a box of its own; one can be added, as a copy of the last, and removed. */
function lines(kit, { field }, { longest }) {
  const list = el("div", { class: "list" });
  const boxes = () => [...list.querySelectorAll("input")];
  const texts = () => boxes().map(box => box.value);
  const send = values => kit.set(field, values.join("\n"));
  const go = at => boxes()[at].focus();
  const remove = at => {
    send(texts().filter((_, other) => other !== at));
    go(Math.max(at - 1, 0));
  };
  const extend = () => {
    send([...texts(), texts().at(-1)]);
    go(boxes().length - 1);
  };
  const line = at => {
    const name = { number: at + 1 };
    const box = el("input", { type: "text", maxlength: longest, autocomplete: "off", spellcheck: "false", "aria-label": kit.t("frame.line", name), data: { field } });
    box.addEventListener("input", event => event.isComposing || send(texts()));
    box.addEventListener("compositionend", () => send(texts()));
    return el("div", {}, box, el("button", { type: "button", "aria-label": kit.t("frame.line-remove", name), on: { click: () => remove(at) } }, "×"));
  };
  const more = el("button", { type: "button", on: { click: extend } }, kit.t("frame.line-add"));
  return {
    node: el("fieldset", { class: "control lines" }, el("legend", {}, fieldLabel(kit.t, kit.name, field)), list, more),
    update(now, most = Infinity) {
      const wanted = now.split("\n");
      if (wanted.length !== boxes().length) list.replaceChildren(...wanted.map((_, at) => line(at)));
      boxes().forEach((box, at) => focused(box) || (box.value = wanted[at]));
      for (const button of list.querySelectorAll("button")) button.hidden = wanted.length === 1;
      more.hidden = wanted.length >= most;
    },
  };
}

/** A button that draws anew: the next seed. */
function draw(kit, { field }, { max }) {
  let seed = 0;
  const press = () => kit.set(field, (seed + 1) % (max + 1));
  return {
    node: el("div", { class: "control" }, el("button", { type: "button", data: { field }, on: { click: press } }, fieldLabel(kit.t, kit.name, field))),
    update(now) {
      seed = now;
    },
  };
}
