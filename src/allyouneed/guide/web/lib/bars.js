/** Horizontal bars, one row a number. A signed bar grows from the middle. */

import { el } from "./dom.js";
import { keepFocus, walk } from "./picks.js";

/**
 * rows: { label, key, value, share, digits, marked?, pick?, look? }; `share` is the bar's length, 0 to 1, or -1 to 1 if
 * signed. A row with `pick` can be chosen by click and Enter, up and down lead from one to the next, and `look` is called
 * while pointer or focus is on it. Rows that may be very many stand in a list that `scrolls`.
 */
export function bars(kit, { label, signed = false, scrolls = false }) {
  const list = el("div", { class: `bars${signed ? " signed" : ""}${scrolls ? " scrolls" : ""}`, role: "list", "aria-label": label, tabindex: scrolls ? 0 : null });
  list.addEventListener("keydown", event => walk([...list.querySelectorAll("button")], event, { ArrowUp: -1, ArrowDown: 1 }));
  return {
    node: list,
    draw: rows => keepFocus(list, () => list.replaceChildren(...rows.map(row => bar(kit, row)))),
  };
}

function bar(kit, { label, key, value, share, digits, marked = false, pick, look = () => {} }) {
  return el(
    "div",
    { class: marked ? "bar marked" : "bar", role: "listitem" },
    el("span", { class: "bar-label" }, label),
    el("span", { class: share < 0 ? "bar-track below" : "bar-track", vars: { "--share": Math.abs(share) } }, el("span", { class: "bar-fill" })),
    kit.out(key, value, digits),
    pick && el("button", { type: "button", class: "cover", "aria-label": label, "aria-pressed": String(marked), on: { click: pick, focus: look, pointerenter: look } }),
  );
}
