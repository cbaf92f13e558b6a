/** The code behind it all, line by line, with what each line makes. */

import { el } from "../lib/dom.js";
import { measure, part } from "../lib/parts.js";
import { number } from "../lib/text.js";

function build(kit) {
  const { t } = kit;
  const listings = el("div", { class: "listings" });
  const checks = el("dl", { class: "measures" });
  return {
    node: el("div", { class: "code" }, listings, part(t("code.checks"), checks)),
    draw(result) {
      listings.replaceChildren(...result.functions.map((one, at) => listing(kit, result, one, at)));
      checks.replaceChildren(
        measure(t("code.fast-difference"), kit.out("fast-difference", result.fast_difference, 9)),
        measure(t("code.torch-difference", { name: result.torch_name }), kit.out("torch-difference", result.torch_difference, 9)),
        measure(t("code.result"), shape(kit, "result", result.shape)),
      );
    },
    tables: result => tables(kit, result),
  };
}

export const code = {
  controls: [
    { field: "snippet", kind: "choice" },
    { field: "form", kind: "choice" },
    { field: "batch", kind: "slider" },
    { field: "n", kind: "slider" },
    { field: "d_model", kind: "slider" },
    { field: "heads", kind: "slider" },
    { field: "seed", kind: "draw" },
  ],
  build,
};

/** One function: its lines as they are, and beside each what it made. */
function listing(kit, { place }, { name, module, lines }, at) {
  const { t } = kit;
  const text = lines.map(line => line.text).join("");
  const told = el("span", { role: "status" });
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    told.textContent = t("frame.copied");
  };
  const go = () => document.getElementById(place.split(".")[0]) && window.getSelection().isCollapsed && (location.hash = place);
  return el(
    "div",
    { class: "listing" },
    el(
      "div",
      { class: "listing-head" },
      el("code", {}, `${module}.${name}`),
      at === 0 && el("a", { href: `#${place}` }, t("code.see", { place: t(`${place.split(".")[1]}.title`) })),
      told,
      el("button", { type: "button", on: { click: copy } }, t("frame.copy")),
    ),
    el(
      "div",
      { class: "listing-body", tabindex: 0, role: "region", "aria-label": name },
      el("pre", {}, el("code", { on: { click: go } }, lines.map(line => row(kit, line, at)))),
    ),
  );
}

/** A line with its number, and below it what it made: neither is part of the text that a reader selects. */
function row(kit, { number, text, made }, at) {
  const indent = { "--indent": `${text.search(/\S|$/)}ch` };
  return [
    el("span", { class: "line-number", "aria-hidden": "true" }, String(number)),
    el("span", { class: made.length ? "line made" : "line" }, text),
    made.length ? el("span", { class: "line-made", vars: indent }, made.map(one => note(kit, one, `${at}.${number}`))) : [],
  ];
}

/** A name, the shape of what it holds, and its first numbers. */
function note(kit, { name, shape: sizes, peek, type }, key) {
  const label = name === "return" ? "→" : name;
  if (!sizes.length && !peek.length) return el("span", { class: "note" }, `${label}: ${type}`);
  const numbers = peek.map((value, at) => [at ? ", " : "", kit.out(`peek.${key}.${name}.${at}`, value, type === "bool" ? 0 : 2)]);
  return el("span", { class: "note" }, `${label} `, shape(kit, `shape.${key}.${name}`, sizes), el("span", { class: "peek" }, " ", numbers, sizes.length ? " …" : ""));
}

function shape(kit, key, sizes) {
  return el("span", { class: "shape" }, sizes.length ? "[" : "", sizes.map((size, at) => [at ? ", " : "", kit.out(`${key}.${at}`, size, 0)]), sizes.length ? "]" : "");
}

function tables(kit, result) {
  return result.functions.map(({ name, lines }) => ({
    caption: name,
    columns: [kit.t("code.line"), kit.t("code.name"), kit.t("code.shape"), kit.t("code.peek")],
    rows: lines.flatMap(line =>
      line.made.map(made => [
        number(kit.lang, line.number, 0),
        made.name,
        shape(kit, `table.shape.${name}.${line.number}.${made.name}`, made.shape),
        el("span", {}, made.peek.map((value, at) => [at ? ", " : "", kit.out(`table.peek.${name}.${line.number}.${made.name}.${at}`, value, 4)])),
      ]),
    ),
  }));
}
