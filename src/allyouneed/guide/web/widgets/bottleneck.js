/** A whole sentence in one vector. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { cited, measure, part, told } from "../lib/parts.js";
import { plot } from "../lib/plot.js";
import { number } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const parts = {
    tokens: el("div", { class: "tokens small", tabindex: 0, role: "group", "aria-label": t("bottleneck.read") }),
    own: el("div", { class: "vector-boxes" }),
    book: el("div", { class: "vector-boxes" }),
    written: el("p", { class: "whole" }),
    facts: el("dl", { class: "measures" }),
    left: bars(kit, { label: t("bottleneck.left"), scrolls: true }),
    curve: plot(kit, { label: t("bottleneck.first"), hint: t("bottleneck.first-help"), key: "first", name: t("bottleneck.words"), height: 150 }),
    recall: plot(kit, { label: t("bottleneck.recall"), hint: t("bottleneck.recall-help"), key: "recall", name: t("bottleneck.place"), height: 170 }),
  };
  parts.read = part(t("bottleneck.recall"), parts.recall.node, el("p", { class: "hint" }, t("bottleneck.recall-note")));
  return {
    node: el(
      "div",
      { class: "bottleneck" },
      el("div", { class: "squeeze" }, part(t("bottleneck.read"), parts.tokens), el("div", { class: "flow-arrow", "aria-hidden": "true" }), part(t("bottleneck.vector"), parts.own, el("p", { class: "hint" }, t("bottleneck.book")), parts.book), el("div", { class: "flow-arrow", "aria-hidden": "true" }), part(t("bottleneck.write"), parts.written)),
      parts.facts,
      el("div", { class: "pair" }, part(t("bottleneck.left"), parts.left.node, el("p", { class: "hint" }, t("bottleneck.left-help"))), part(t("bottleneck.first"), parts.curve.node)),
      parts.read,
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const bottleneck = {
  controls: [
    { field: "n", kind: "slider" },
    { field: "text", kind: "text", blank: result => result.text },
    { field: "all", kind: "onoff" },
    { field: "probe", kind: "onoff" },
  ],
  build,
};

function draw(kit, result, parts) {
  const { t, out } = kit;
  parts.tokens.replaceChildren(...result.tokens.map(token => tokenChip(t, token)));
  parts.own.replaceChildren(...result.vector.map((value, at) => el("span", {}, out(`vector.${at}`, value, 2))), ...(result.vector.length < result.width ? [el("span", { class: "more" }, "…")] : []));
  parts.book.replaceChildren(...result.book.map(value => el("span", {}, cited(kit, value, "drawing:illustration", 1))));
  parts.written.replaceChildren(el("q", {}, result.translation));
  parts.facts.replaceChildren(
    measure(t("bottleneck.burden-book"), el("span", {}, out("burden.book", result.burden.book, 1), "×"), told(kit, "bottleneck.burden-more", { n: result.words, d: result.book_width })),
    measure(t("bottleneck.burden-own"), el("span", {}, out("burden.own", result.burden.own, 2), "×"), told(kit, "bottleneck.burden-more", { n: result.words, d: result.width })),
    measure(t("bottleneck.width"), out("width", result.width, 0), t("bottleneck.width-more")),
  );
  const most = Math.max(...result.influence, 1e-9);
  parts.left.draw(result.tokens.map((token, at) => ({ label: tokenText(t, token), key: `influence.${at}`, value: result.influence[at], share: result.influence[at] / most, digits: 4, marked: at === 0 })));
  parts.curve.draw({ xs: result.checked, series: [{ name: t("bottleneck.strength"), values: result.first }], low: 0, digits: 4, ticks: result.checked, always: true });
  parts.read.hidden = result.read.length === 0;
  if (result.read.length > 0) drawRecall(kit, result, parts.recall);
}

/** How often the word at each place is read out of the vector again, in short texts and in long ones. */
function drawRecall({ t }, { read, lengths }, plotted) {
  const places = read.at(-1).map((_, at) => at + 1);
  const padded = values => places.map((_, at) => values[at] ?? null);
  const series = read.map((curve, at) => ({ name: t("bottleneck.recall-in", { n: lengths[at] }), values: padded(curve.map(({ probe }) => probe)) }));
  plotted.draw({ xs: places, series: [...series, { name: t("bottleneck.guess"), values: read.at(-1).map(({ guess }) => guess), faint: true }], low: 0, ticks: [1, ...lengths] });
}

function tables(kit, result) {
  const { t } = kit;
  return [
    { caption: t("bottleneck.left"), columns: [t("bottleneck.token"), t("bottleneck.strength")], rows: result.tokens.map((token, at) => [tokenText(t, token), { key: `table.influence.${at}`, value: result.influence[at], digits: 5 }]) },
    { caption: t("bottleneck.vector"), columns: ["", t("bottleneck.value")], rows: result.vector.map((value, at) => [number(kit.lang, at, 0), { key: `table.vector.${at}`, value, digits: 4 }]) },
    { caption: t("bottleneck.first"), columns: [t("bottleneck.words"), t("bottleneck.strength")], rows: result.checked.map((n, at) => [String(n), { key: `table.first.${n}`, value: result.first[at], digits: 5 }]) },
    ...result.read.map((curve, at) => ({
      caption: t("bottleneck.recall-in", { n: result.lengths[at] }),
      columns: [t("bottleneck.place"), t("bottleneck.recovered"), t("bottleneck.guess")],
      rows: curve.map(({ probe, guess }, place) => [String(place + 1), { key: `table.probe.${at}.${place}`, value: probe, digits: 3 }, { key: `table.guess.${at}.${place}`, value: guess, digits: 3 }]),
    })),
  ];
}
