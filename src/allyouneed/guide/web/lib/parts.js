/** Pieces that several figures are put together from. */

import { el } from "./dom.js";
import { pieces } from "./text.js";

/** A titled part of a figure. */
export function part(title, ...content) {
  return el("div", { class: "part" }, el("h3", {}, title), content);
}

/** One entry of a list of read-outs: its name, its value, and a line more. */
export function measure(name, value, more) {
  return el("div", {}, el("dt", {}, name), el("dd", { class: "large" }, value), more && el("dd", {}, more));
}

/** What a picture says when several tokens share a cell. */
export function pooledNote({ t, out }, { size, factor }) {
  return factor > 1 ? pieces(t, "frame.pooled", { tokens: out("size", size, 0), factor: out("factor", factor, 0) }) : [];
}
