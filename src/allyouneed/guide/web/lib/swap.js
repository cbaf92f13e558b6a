/** The words of a text, of which two change places: one is dragged onto the other, or both are pressed in turn. */

import { el } from "./dom.js";
import { action } from "./parts.js";
import { keepFocus, walk } from "./picks.js";

/** `field` is the input that holds the text; `swapped(words)` is called with the words in their new order. -> { node, draw(text) } */
export function swap(kit, { label, field, swapped }) {
  const node = el("div", { class: "tokens swap", role: "group", "aria-label": label });
  let words = [];
  let held = null; // the word that waits for another
  let dropped = false; // a drag ends with a click, which is not one
  const buttons = () => [...node.querySelectorAll("button")];
  const mark = () => buttons().forEach((button, at) => button.setAttribute("aria-pressed", String(at === held)));
  const exchange = (one, other) => {
    held = null;
    const moved = [...words];
    [moved[one], moved[other]] = [words[other], words[one]];
    if (one === other) mark();
    else swapped(moved);
  };
  const press = at => {
    if (dropped) dropped = false;
    else if (held !== null) exchange(held, at);
    else {
      held = at;
      mark();
    }
  };
  const drop = (from, event) => {
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest(".swap button");
    const to = buttons().indexOf(under);
    dropped = to >= 0 && to !== from;
    if (dropped) exchange(from, to);
  };
  node.addEventListener("keydown", event => walk(buttons(), event, { ArrowLeft: -1, ArrowRight: 1 }));
  const button = (word, at) => action(kit, field, word, null, { class: "token word", "aria-pressed": "false", on: { click: () => press(at), pointerup: event => drop(at, event), pointerdown: event => event.target.setPointerCapture(event.pointerId) } });
  return {
    node,
    draw(text) {
      const next = text.split(/\s+/).filter(Boolean);
      if (next.join(" ") === words.join(" ")) return;
      words = next;
      held = null;
      keepFocus(node, () => node.replaceChildren(...words.map(button)));
    },
  };
}
