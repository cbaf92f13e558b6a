/** Where a recurrent decoder looks before each word. */

import { drawArcs } from "../lib/arcs.js";
import { bars } from "../lib/bars.js";
import { el, svg } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { matrixTable, measure, part, pooledNote, strip, told } from "../lib/parts.js";
import { keepFocus, walk } from "../lib/picks.js";
import { player } from "../lib/player.js";
import { pieces } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const parts = {
    legend: el("p", { class: "legend" }),
    map: heatmap(kit, {
      label: t("alignment.map"), hint: t("alignment.map-help"), key: "cell", precision: 2, height: 24,
      reading: (r, c) => t("alignment.cell", { row: label(kit, "target", r), column: label(kit, "source", c) }),
      pick: r => kit.set("step", r * kit.result().factor + 1),
    }),
    pooled: el("p", { class: "hint" }),
    source: el("div", { class: "tokens" }),
    target: el("div", { class: "tokens" }),
    arcs: svg("svg", { class: "arcs", "aria-hidden": "true" }),
    title: el("h3", {}),
    weights: bars(kit, { label: t("alignment.weights") }),
    context: el("div", { class: "vector-boxes" }),
    facts: el("dl", { class: "measures" }),
    whole: el("p", { class: "whole" }),
    unknown: el("p", { class: "hint unknown-words", role: "status" }),
  };
  parts.target.addEventListener("keydown", event => walk([...parts.target.children], event, { ArrowLeft: -1, ArrowRight: 1 }));
  parts.stage = el("div", { class: "stage" }, parts.source, parts.arcs, parts.target);
  new ResizeObserver(() => parts.aim?.()).observe(parts.stage);
  return {
    node: el(
      "div",
      { class: "alignment" },
      parts.whole,
      parts.unknown,
      part(t("alignment.map"), parts.legend, parts.map.node, parts.pooled),
      player(kit),
      parts.stage,
      el("div", { class: "pair" }, el("div", { class: "part" }, parts.title, parts.weights.node), part(t("alignment.context"), parts.context, el("p", { class: "hint" }, t("alignment.context-help")))),
      parts.facts,
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const alignment = {
  controls: [
    { field: "source", kind: "text", blank: result => result.source_text },
    { field: "target", kind: "text", blank: result => result.translation },
    { field: "search", kind: "choice", when: inputs => !inputs.target },
    { field: "step", kind: "slider" },
    { field: "words", kind: "onoff" },
    { field: "attention", kind: "choice" },
    { field: "sharpness", kind: "slider", keyStep: 0.1, when: inputs => inputs.attention === "learned" },
  ],
  build,
};

function label({ t, result }, side, at) {
  return tokenText(t, result()[side][at * result().factor]);
}

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { step } = result.used;
  parts.whole.replaceChildren(el("span", {}, `${t(result.given ? "alignment.given" : "alignment.translation")}: `), el("q", {}, result.translation));
  parts.legend.replaceChildren(...pieces(t, "alignment.legend", { low: out("legend.low", 0, 0), high: out("legend.high", 1, 0), strip: strip(false) }));
  parts.map.draw({
    cells: result.cells, rows: result.cells.map((_, at) => label(kit, "target", at)), columns: result.cells[0].map((_, at) => label(kit, "source", at)),
    span: 1, row: Math.floor((step - 1) / result.factor), digits: result.cells[0].length <= 16 ? 2 : undefined,
  });
  parts.pooled.replaceChildren(...pooledNote(kit, result));
  parts.source.replaceChildren(...result.source.map(token => sourceChip(t, token, result.unknown)));
  keepFocus(parts.target, () => parts.target.replaceChildren(...result.target.map((token, at) => written(kit, token, at, step - 1, result.unknown_target))));
  const unknown = [...result.unknown, ...result.unknown_target];
  parts.unknown.replaceChildren(...(unknown.length ? [t("alignment.unknown"), " ", ...unknown.map(text => sourceChip(t, { text, kind: "piece" }, unknown))] : []));
  parts.aim = () => drawArcs(parts.arcs, parts.stage, [...parts.source.children], parts.target.children[step - 1], result.look);
  parts.aim();
  parts.title.replaceChildren(...pieces(t, "alignment.row", { token: tokenChip(t, result.target[step - 1]) }));
  parts.weights.draw(
    result.source.map((token, at) => ({ label: [tokenText(t, token), el("small", {}, "e ", out(`score.${at}`, result.scores[at], 2))], key: `weight.${at}`, value: result.look[at], share: result.look[at], digits: 3, marked: result.look[at] === Math.max(...result.look) })),
  );
  parts.context.replaceChildren(...result.context.map((value, at) => el("span", {}, out(`context.${at}`, value, 2))), el("span", { class: "more" }, "…"));
  parts.facts.replaceChildren(
    measure(t("alignment.sum"), out("sum", result.sum, 3)),
    measure(t("alignment.accuracy"), out("accuracy", result.accuracy, 3), t(result.given ? "alignment.accuracy-given" : "alignment.accuracy-more")),
    measure(t("alignment.reached"), el("span", {}, out("pulls.reached", result.pulls.reached, 0), " / ", out("pulls.all", result.pulls.all, 0)), ["‖∂c/∂e‖ ", out("pulls.size", result.pulls.size, 3)]),
    measure(t("alignment.hidden"), out("hidden", result.widths.hidden, 0), told(kit, "alignment.hidden-more", { context: result.widths.context })),
  );
}

/** A word of the source; one that stands nowhere in the text that the model learned from is marked. */
function sourceChip(t, token, unknown) {
  const chip = tokenChip(t, token);
  chip.classList.toggle("unknown", unknown.includes(token.text));
  return chip;
}

/** A word that was written, as a button that chooses its moment. */
function written(kit, token, at, chosen, unknown) {
  return el("button", { type: "button", class: unknown.includes(token.text) ? "token written unknown" : "token written", data: { kind: token.kind }, "aria-current": at === chosen ? "step" : null, tabindex: at === chosen ? 0 : -1, on: { click: () => kit.set("step", at + 1) } }, tokenText(kit.t, token));
}

function tables(kit, result) {
  const { t } = kit;
  return [
    { caption: t("alignment.weights"), columns: [t("alignment.token"), t("alignment.score"), t("alignment.weight")], rows: result.source.map((token, at) => [tokenText(t, token), { key: `table.score.${at}`, value: result.scores[at], digits: 3 }, { key: `table.weight.${at}`, value: result.look[at], digits: 4 }]) },
    matrixTable(t("alignment.map"), "cell", result.cells, result.cells.map((_, at) => label(kit, "target", at)), result.cells[0].map((_, at) => label(kit, "source", at))),
  ];
}
