/** Where a token stands, as five schemes tell it. */

import { el, svg } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { formula, matrixTable, measure, part, strip, told } from "../lib/parts.js";
import { plot } from "../lib/plot.js";
import { pieces } from "../lib/text.js";

const BY_TABLE = ["sinusoidal", "learned", "rotary"];
const DIAL = 100; // pixels

const byTable = inputs => BY_TABLE.includes(inputs.kind);

function build(kit) {
  const { t } = kit;
  const parts = {
    map: heatmap(kit, {
      label: t("positions.map"),
      hint: t("positions.map-help"),
      key: "cell",
      height: 5,
      precision: 4,
      reading: (r, c) => t(byTable(kit.inputs()) ? "positions.cell" : "positions.cell-distance", { row: r, column: c }),
      pick: (r, c) => kit.put({ i: r, p: c }),
    }),
    legend: el("p", { class: "legend" }),
    whose: el("p", { class: "hint" }),
    wave: plot(kit, { label: t("positions.wave"), hint: t("positions.wave-help"), key: "wave", name: t("positions.position"), height: 150 }),
    products: plot(kit, { label: t("positions.products"), hint: t("positions.products-help"), key: "product", name: t("positions.offset"), height: 150 }),
    dial: el("div", { class: "dial" }),
    facts: el("dl", { class: "measures" }),
    turn: el("div", { class: "turn" }),
    beyond: plot(kit, { label: t("positions.beyond"), hint: t("positions.beyond-help"), key: "beyond", name: t("positions.beyond-name"), height: 190 }),
    made: el("p", { class: "hint" }),
  };
  parts.mapTitle = el("h3", {});
  parts.waveTitle = el("h3", {});
  parts.waves = el("div", { class: "part" }, parts.waveTitle, el("div", { class: "wave" }, parts.wave.node, parts.dial));
  parts.pair = part(t("positions.products"), parts.products.node);
  return {
    node: el("div", { class: "positions" }, el("div", { class: "part" }, parts.mapTitle, parts.legend, parts.map.node, parts.whose), parts.waves, parts.pair, parts.facts, parts.turn, part(t("positions.beyond"), parts.beyond.node, parts.made)),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const positions = {
  controls: [
    { field: "kind", kind: "choice" },
    { field: "i", kind: "slider" },
    { field: "p", kind: "slider", when: byTable },
    { field: "k", kind: "slider", when: inputs => inputs.kind === "sinusoidal" || inputs.kind === "rotary" },
    { field: "d", kind: "slider", when: inputs => inputs.kind !== "alibi" && inputs.kind !== "t5" },
    { field: "length", kind: "slider" },
  ],
  build,
};

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { cells, used, span, signed, curves } = result;
  const columns = cells[0].map((_, at) => String(at));
  parts.legend.replaceChildren(...scale(kit, result));
  parts.map.draw({ cells, rows: cells.map((_, at) => String(at)), columns, span, signed, row: used.i, column: byTable(result.inputs) ? used.p : undefined });
  const way = byTable(result.inputs) ? "" : "-distance";
  parts.mapTitle.textContent = t(`positions.map${way}`);
  parts.waveTitle.textContent = t(`positions.wave${way}`);
  parts.whose.replaceChildren(t(whose(result)));
  const pair = 2 * Math.floor(used.i / 2);
  const names = byTable(result.inputs) ? [t("positions.dimension", { number: pair }), t("positions.dimension", { number: pair + 1 })] : [t(`positions.row.${result.inputs.kind}`, { number: used.i })];
  parts.wave.draw({
    xs: cells[0].map((_, at) => at),
    series: curves.map((values, at) => ({ name: names[at], values })),
    digits: 4,
    name: t(byTable(result.inputs) ? "positions.position" : "positions.distance"),
    at: byTable(result.inputs) ? used.p : undefined,
    always: true,
  });
  parts.pair.hidden = !result.products;
  if (result.products) {
    parts.products.draw({ xs: result.offsets, series: [{ name: t("positions.product", { number: used.p }), values: result.products }], digits: 3, always: true });
  }
  parts.dial.replaceChildren(...(result.wavelength ? [dial(curves[0][used.p], curves[1][used.p])] : []));
  const facts = [
    result.wavelength && measure(t("positions.wavelength"), out("wavelength", result.wavelength, 2), t("positions.wavelength-more")),
    result.spread !== undefined && measure(t("positions.spread"), out("spread", result.spread, 6), formula(t("positions.spread-more"))),
    result.residual !== undefined && measure(t("positions.residual"), out("residual", result.residual, 8), told(kit, "positions.residual-more", { k: result.inputs.k })),
    byTable(result.inputs) && measure(t("positions.value", { p: used.p, i: used.i }), out("value", cells[used.i][used.p], 4)),
    result.slopes && measure(t("positions.slope"), out("slope", result.slopes[used.i], 5)),
  ];
  parts.facts.replaceChildren(...facts.filter(Boolean));
  parts.turn.hidden = !result.rotation;
  if (result.rotation) parts.turn.replaceChildren(...rotation(kit, result));
  readOn(kit, result, parts);
}

/** Models that were trained with each scheme, on texts longer than they know. */
function readOn(kit, { beyond, inputs }, parts) {
  const { t } = kit;
  const { tokens, curves, made } = beyond;
  parts.beyond.node.hidden = !made;
  parts.made.replaceChildren(...(made ? told(kit, "positions.beyond-note", { trained: tokens[0], longest: tokens.at(-1), updates: made.updates }) : [t("positions.unbeyond")]));
  if (!made) return;
  const series = Object.entries(curves).map(([kind, values]) => ({ name: t(`positions.short.${kind}`), values, faint: kind !== inputs.kind }));
  parts.beyond.draw({ xs: tokens, series, ticks: tokens, digits: 3, marks: [{ x: tokens[0] }] });
}

function whose({ own, inputs }) {
  if (own) return "positions.own";
  return { learned: "positions.untrained", rotary: "positions.random", t5: "positions.buckets" }[inputs.kind] ?? "positions.fixed";
}

/** What the colours mean. */
function scale({ t, out }, { span, low, signed }) {
  const digits = Number.isInteger(span) ? 0 : 2;
  return pieces(t, "positions.legend", { low: out("legend.low", low, digits), high: out("legend.high", span, digits), strip: strip(signed) });
}

/** Sine and cosine as the hand of a clock. */
function dial(sine, cosine) {
  const [middle, radius] = [DIAL / 2, DIAL / 2 - 6];
  return svg(
    "svg",
    { width: DIAL, height: DIAL, viewBox: `0 0 ${DIAL} ${DIAL}`, "aria-hidden": "true" },
    svg("circle", { class: "dial-face", cx: middle, cy: middle, r: radius }),
    svg("line", { class: "dial-hand", x1: middle, y1: middle, x2: middle + radius * sine, y2: middle - radius * cosine }),
    svg("circle", { class: "dial-tip", cx: middle + radius * sine, cy: middle - radius * cosine, r: 4 }),
  );
}

function rotation({ t, out }, { rotation: matrix, inputs }) {
  const cell = (r, c) => el("td", {}, out(`rotation.${r}.${c}`, matrix[r][c], 4));
  return [
    el("h3", {}, t("positions.rotation", { k: inputs.k })),
    el("table", { class: "matrix", "aria-label": t("positions.rotation", { k: inputs.k }) }, el("tbody", {}, el("tr", {}, cell(0, 0), cell(0, 1)), el("tr", {}, cell(1, 0), cell(1, 1)))),
  ];
}

function tables(kit, result) {
  const { t } = kit;
  const names = result.cells.map((_, at) => String(at));
  return [
    ...(result.products ? [{ caption: t("positions.products"), columns: [t("positions.offset"), t("positions.product", { number: result.used.p })], rows: result.offsets.map((k, at) => [String(k).replace("-", "−"), { key: `table.product.${at}`, value: result.products[at], digits: 4 }]) }] : []),
    ...(result.beyond.made ? [{ caption: t("positions.beyond"), columns: [t("positions.beyond-name"), ...Object.keys(result.beyond.curves).map(kind => t(`positions.short.${kind}`))], rows: result.beyond.tokens.map((count, at) => [String(count), ...Object.entries(result.beyond.curves).map(([kind, values]) => ({ key: `table.beyond.${kind}.${count}`, value: values[at], digits: 3 }))]) }] : []),
    matrixTable(t("positions.map"), "cell", result.cells[0].map((_, p) => result.cells.map(row => row[p])), result.cells[0].map((_, p) => String(p)), names, 4),
  ];
}
