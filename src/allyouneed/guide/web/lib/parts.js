/** Pieces that several figures are put together from. */

import { el } from "./dom.js";
import { number, pieces } from "./text.js";

const STEPS = 25; // of a scale of colours
const SLOPES = [1.2, 2.3]; // between which the time of attention should grow with the length

/** A titled part of a figure. */
export function part(title, ...content) {
  return el("div", { class: "part" }, el("h3", {}, title), content);
}

/** One entry of a list of read-outs: its name, its value where there is one, and a line more. */
export function measure(name, value, more) {
  return el("div", {}, el("dt", {}, name), value !== null && el("dd", { class: "large" }, value), more && el("dd", {}, more));
}

/** The colours of a scale from low to high; those of a signed one go through the ground's own. */
export function strip(signed) {
  const share = at => (signed ? (2 * at) / (STEPS - 1) - 1 : at / (STEPS - 1));
  const step = (_, at) => el("span", { class: share(at) < 0 ? "below" : null, vars: { "--share": Math.abs(share(at)) } });
  return el("span", { class: "strip", "aria-hidden": "true" }, Array.from({ length: STEPS }, step));
}

/** What a picture says when several tokens share a cell. */
export function pooledNote({ t, out }, { size, factor }) {
  return factor > 1 ? pieces(t, "frame.pooled", { tokens: out("size", size, 0), factor: out("factor", factor, 0) }) : [];
}

/** A text whose places are numbers of the figure: each is marked as one. */
export function told({ t, out }, key, values, digits = 0) {
  return pieces(t, key, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, out(`${key}.${name}`, value, digits)])));
}

/** A formula, whose digits are no result. */
export function formula(text) {
  return el("span", { class: "formula" }, text);
}

/** What stands beside a slope in the time of attention that is far from the 2 of theory. */
export function oddSlope(t, slope) {
  return slope < SLOPES[0] || slope > SLOPES[1] ? formula(` ${t("frame.slope-odd")}`) : "";
}

/** A number out of a paper, which leads to the bibliography. */
export function cited({ lang }, value, source, digits = 0) {
  const [key] = source.split(":");
  return el("a", { href: `#source-${key}`, title: source }, el("data", { class: "cited", value, data: { source } }, number(lang, value, digits)));
}

/** A matrix as a table, with the names of its rows and columns. */
export function matrixTable(caption, key, cells, rows, columns, digits = 3) {
  return {
    caption,
    columns: ["", ...columns],
    rows: cells.map((row, r) => [rows[r], ...row.map((value, c) => ({ key: `table.${key}.${r}.${c}`, value, digits }))]),
  };
}

/** A button that changes an input. On a saved page without answers for that it is disabled, and says why. */
export function action(kit, field, text, click, props = {}) {
  const fixed = kit.fixed(field);
  return el("button", { type: "button", disabled: fixed, title: fixed ? kit.t("frame.not-saved") : null, on: { click }, ...props }, text);
}
