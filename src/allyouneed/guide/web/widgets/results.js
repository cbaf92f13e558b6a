/** What the paper reported, and what the models here reached. */

import { el } from "../lib/dom.js";
import { cited, part } from "../lib/parts.js";

const CARDS = ["en-de", "en-fr", "hours", "processors", "parsing", "base", "big"];

function build(kit) {
  const { t } = kit;
  const cards = el("div", { class: "cards" });
  const ours = el("div", { class: "table", tabindex: 0, role: "region", "aria-label": t("results.ours") });
  return {
    node: el("div", { class: "results" }, part(t("results.papers"), cards), part(t("results.ours"), ours, el("p", { class: "hint" }, t("results.scale")))),
    draw(result) {
      const found = Object.fromEntries(result.cited.map(one => [one.key, one]));
      cards.replaceChildren(...CARDS.map(key => card(kit, found[key], key === "en-fr" ? found["en-fr-later"] : null)));
      ours.replaceChildren(table(kit, result));
    },
    tables: result => [
      { caption: t("results.papers"), columns: [t("results.what"), t("results.value"), t("results.source")], rows: result.cited.map(({ key, value, source }) => [t(`results.card.${key}`), cited(kit, value, source, Number.isInteger(value) && value !== 41 ? 0 : 1), source]) },
      { caption: t("results.ours"), columns: columns(kit), rows: result.rows.map(row => cells(kit, row, "table")) },
    ],
  };
}

export const results = { controls: [], build };

function card(kit, { key, value, source }, later) {
  const digits = Number.isInteger(value) && key !== "en-fr" ? 0 : 1;
  return el(
    "div",
    { class: "result-card" },
    el("span", { class: "result-value" }, cited(kit, value, source, digits), el("small", {}, ` ${kit.t(`results.unit.${key}`)}`)),
    el("span", {}, kit.t(`results.card.${key}`)),
    later && el("details", {}, el("summary", {}, kit.t("results.corrected")), el("p", {}, kit.t("results.en-fr-note"), " ", cited(kit, later.value, later.source, 1))),
  );
}

function columns({ t }) {
  return [t("results.model"), t("results.bleu"), t("results.perplexity"), t("results.parameters"), t("results.minutes")];
}

function cells(kit, { name, bleu, perplexity, parameters, minutes }, prefix) {
  const number = (key, value, digits) => (value === null ? "–" : { key: `${prefix}.${key}.${name}`, value, digits });
  return [name, number("bleu", bleu, 1), number("perplexity", perplexity, 2), number("parameters", parameters, 0), number("minutes", minutes, 0)];
}

function table(kit, { rows }) {
  const cell = content => (typeof content === "string" ? content : kit.out(content.key, content.value, content.digits));
  const row = ([name, ...rest]) => el("tr", {}, el("th", { scope: "row" }, name), rest.map(one => el("td", {}, cell(one))));
  return el("table", {}, el("thead", {}, el("tr", {}, columns(kit).map(name => el("th", { scope: "col" }, name)))), el("tbody", {}, rows.map(one => row(cells(kit, one, "ours")))));
}
