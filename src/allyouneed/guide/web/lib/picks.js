/** A row of tokens of which one is chosen: by click or Enter; the arrow keys move among them. */

import { el, focused } from "./dom.js";
import { tokenChip } from "./tokens.js";

/**
 * `pick(at)` chooses a token; `look(at)` shows one while pointer or focus is on it, `look(null)` ends that.
 * draw(items, chosen): { token, share?, notes? }, where `share` is the height of the bar over the token, 0 to 1.
 */
export function picks(kit, { label, pick, look = () => {} }) {
  const node = el("div", { class: "tokens picks", role: "group", "aria-label": label });
  const buttons = () => [...node.querySelectorAll("button")];
  node.addEventListener("keydown", event => walk(buttons(), event, { ArrowLeft: -1, ArrowRight: 1 }));
  node.addEventListener("focusin", event => look(buttons().indexOf(event.target)));
  for (const leaving of ["pointerleave", "focusout"]) node.addEventListener(leaving, () => look(null));
  const button = ({ token, share, notes }, at, chosen) =>
    el(
      "button",
      { type: "button", class: "entry", "aria-pressed": String(at === chosen), tabindex: at === Math.max(chosen, 0) ? 0 : -1, on: { click: () => pick(at), pointerenter: () => look(at) } },
      share !== undefined && el("span", { class: "entry-bar", "aria-hidden": "true", vars: { "--share": share } }, el("span", {})),
      tokenChip(kit.t, token),
      notes,
    );
  return {
    node,
    draw: (items, chosen) => keepFocus(node, () => node.replaceChildren(...items.map((item, at) => button(item, at, chosen)))),
  };
}

/** Moves the focus from button to button by the keys of `moves`, and to the ends. */
export function walk(buttons, event, moves) {
  const at = buttons.indexOf(event.target);
  const to = { Home: 0, End: buttons.length - 1 }[event.key] ?? (event.key in moves ? at + moves[event.key] : -1);
  if (at < 0 || !buttons[to]) return;
  event.preventDefault();
  buttons[to].focus();
}

/** Draws the buttons of `host` anew, and gives the focus back to the one that had it. */
export function keepFocus(host, draw) {
  const at = [...host.querySelectorAll("button")].findIndex(focused);
  draw();
  if (at >= 0) host.querySelectorAll("button")[at]?.focus({ preventScroll: true });
}
