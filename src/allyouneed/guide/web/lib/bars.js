/** Horizontal bars, one row a number. A signed bar grows from the middle. */

import { el } from "./dom.js";

/**
 * rows: { label, key, value, share, digits, marked?, pick? }; `share` is the bar's length, 0 to 1, or -1 to 1 if signed.
 */
export function bars(kit, { label, signed = false }) {
  const list = el("div", { class: signed ? "bars signed" : "bars", role: "list", "aria-label": label });
  return {
    node: list,
    draw(rows) {
      list.replaceChildren(...rows.map(row => bar(kit, row)));
    },
  };
}

function bar(kit, { label, key, value, share, digits, marked = false }) {
  return el(
    "div",
    { class: marked ? "bar marked" : "bar", role: "listitem" },
    el("span", { class: "bar-label" }, label),
    el("span", { class: share < 0 ? "bar-track below" : "bar-track", vars: { "--share": Math.abs(share) } }, el("span", { class: "bar-fill" })),
    kit.out(key, value, digits),
  );
}
