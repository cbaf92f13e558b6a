/** What the paper reported, and what the models here reached. */

import { el } from "../lib/dom.js";
import { cited, part, told } from "../lib/parts.js";

const CARDS = ["en-de", "en-fr", "hours", "processors", "parsing", "base", "big"];

function build(kit) {
  const { t } = kit;
  const cards = el("div", { class: "cards" });
  const compared = el("div", { class: "table", tabindex: 0, role: "region", "aria-label": t("results.compared") });
  const made = el("p", { class: "hint" });
  const ours = el("div", { class: "table", tabindex: 0, role: "region", "aria-label": t("results.ours") });
  return {
    node: el("div", { class: "results" }, part(t("results.papers"), cards), part(t("results.compared"), compared, made), part(t("results.ours"), ours, el("p", { class: "hint" }, t("results.scale")))),
    draw(result) {
      const found = Object.fromEntries(result.cited.map(one => [one.key, one]));
      cards.replaceChildren(...CARDS.map(key => card(kit, found[key], key === "en-fr" ? found["en-fr-later"] : null)));
      compared.replaceChildren(table(kit, comparison(kit, result.compared, "compared")));
      made.replaceChildren(...(result.compared.made ? told(kit, "results.compared-note", { updates: result.compared.made.updates }) : []));
      ours.replaceChildren(...groups(kit, result, "ours").map(group => table(kit, group)));
    },
    tables: result => [
      { caption: t("results.papers"), columns: [t("results.what"), t("results.value"), t("results.source")], rows: result.cited.map(({ key, value, source }) => [t(`results.card.${key}`), cited(kit, value, source, Number.isInteger(value) && value !== 41 ? 0 : 1), source]) },
      { caption: t("results.compared"), ...comparison(kit, result.compared, "table.compared") },
      ...groups(kit, result, "table"),
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

/** The translators that ship, those that learned from texts of one kind together. */
function groups(kit, { rows }, prefix) {
  const kinds = [...new Set(rows.map(row => row.text))];
  return kinds.map(kind => ({ caption: kit.t(`results.text.${kind}`), columns: columns(kit), rows: rows.filter(row => row.text === kind).map(row => cells(kit, row, prefix)) }));
}

/** Kinds of models at one scale. */
function comparison({ t }, { lengths, rows }, prefix) {
  const number = (key, value, digits) => (value === null ? "–" : { key: `${prefix}.${key}`, value, digits });
  return {
    columns: [t("results.kind"), ...lengths.map(words => t("results.words", { words })), t("results.minutes")],
    rows: rows.map(({ model, bleu, minutes }) => [model === "by phrases" ? t("results.by-phrases") : model, ...bleu.map((value, at) => number(`bleu.${model}.${lengths[at]}`, value, 1)), number(`minutes.${model}`, minutes, 0)]),
  };
}

function table(kit, { caption, columns, rows }) {
  const cell = content => (typeof content === "string" ? content : kit.out(content.key, content.value, content.digits));
  const row = ([name, ...rest]) => el("tr", {}, el("th", { scope: "row" }, name), rest.map(one => el("td", {}, cell(one))));
  const head = el("thead", {}, el("tr", {}, columns.map(name => el("th", { scope: "col" }, name))));
  return el("table", {}, caption && el("caption", {}, caption), head, el("tbody", {}, rows.map(row)));
}
