/** What a layer costs, how far apart two words are in it, and how long it takes here. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { formula, measure, oddSlope, part, told } from "../lib/parts.js";
import { plot } from "../lib/plot.js";
import { pieces } from "../lib/text.js";

const LINES = { recurrent: 1, convolution: 2, attention: 0, restricted: 3 };

function build(kit) {
  const { t } = kit;
  const parts = {
    paths: bars(kit, { label: t("path-length.paths") }),
    facts: el("dl", { class: "measures" }),
    table: el("div", { class: "table", tabindex: 0, role: "region", "aria-label": t("path-length.costs") }),
    curve: plot(kit, { label: t("path-length.times"), hint: t("path-length.times-help"), key: "time", name: t("path-length.words") }),
    note: el("p", { class: "hint" }),
    memory: plot(kit, { label: t("path-length.memory"), hint: t("path-length.memory-help"), key: "memory", name: t("path-length.words"), height: 170 }),
  };
  return {
    node: el("div", { class: "path-length" }, part(t("path-length.paths"), parts.paths.node), parts.facts, part(t("path-length.costs"), parts.table), part(t("path-length.times"), parts.curve.node, parts.note), part(t("path-length.memory"), parts.memory.node)),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const pathLength = {
  controls: [
    { field: "kind", kind: "choice" },
    { field: "n", kind: "slider", keyStep: 100 },
    { field: "d", kind: "slider" },
    { field: "k", kind: "slider" },
    { field: "r", kind: "slider" },
    { field: "again", kind: "draw" },
  ],
  build,
};

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { rows, inputs, times, lengths, exponents } = result;
  const farthest = Math.max(...rows.map(row => row.path));
  parts.paths.draw(
    rows.map(({ kind, path }) => ({ label: t(`path-length.kind.${kind}`), key: `path.${kind}`, value: path, share: path / farthest, digits: 0, marked: kind === inputs.kind, pick: () => kit.set("kind", kind) })),
  );
  const chosen = rows.find(row => row.kind === inputs.kind);
  parts.facts.replaceChildren(
    measure(t("path-length.pairs"), out("pairs", result.pairs, 0), told(kit, "path-length.pairs-more", { n: inputs.n })),
    measure(t("path-length.path"), out("path", chosen.path, 0), formula(t(`path-length.formula.${inputs.kind}.path`))),
    measure(t("path-length.sequential"), out("sequential", chosen.sequential, 0), formula(t(`path-length.formula.${inputs.kind}.sequential`))),
    measure(t("path-length.operations"), out("operations", chosen.operations, 0), formula(t(`path-length.formula.${inputs.kind}.operations`))),
  );
  const head = ["", "operations", "sequential", "path"].map(name => el("th", { scope: "col" }, name && t(`path-length.${name}`)));
  const row = ({ kind }) => el("tr", {}, el("th", { scope: "row" }, t(`path-length.kind.${kind}`)), ["operations", "sequential", "path"].map(name => el("td", {}, formula(t(`path-length.formula.${kind}.${name}`)))));
  parts.table.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows.map(row))));
  const curves = found => Object.entries(found).map(([kind, values]) => ({ name: t(`path-length.kind.${kind}`), values, line: LINES[kind] }));
  parts.curve.draw({ xs: lengths, logX: true, logY: true, digits: 2, ticks: lengths, series: curves(times) });
  parts.memory.draw({ xs: lengths, logX: true, logY: true, digits: 0, ticks: lengths, series: curves(result.memory) });
  const slope = exponents.attention;
  parts.note.replaceChildren(
    ...pieces(t, "path-length.slope", { attention: out("slope.attention", slope, 2), recurrent: out("slope.recurrent", exponents.recurrent, 2), d: out("measured.d", result.width, 0) }),
    oddSlope(t, slope),
  );
}

function tables(kit, result) {
  const { t } = kit;
  return [
    {
      caption: t("path-length.costs"),
      columns: ["", t("path-length.operations"), t("path-length.sequential"), t("path-length.path")],
      rows: result.rows.map(({ kind, ...row }) => [t(`path-length.kind.${kind}`), ...["operations", "sequential", "path"].map(name => ({ key: `table.${name}.${kind}`, value: row[name], digits: 0 }))]),
    },
    {
      caption: t("path-length.times"),
      columns: [t("path-length.words"), ...Object.keys(result.times).map(kind => t(`path-length.kind.${kind}`))],
      rows: result.lengths.map((n, at) => [String(n), ...Object.entries(result.times).map(([kind, values]) => ({ key: `table.time.${kind}.${n}`, value: values[at], digits: 3 }))]),
    },
    {
      caption: t("path-length.memory"),
      columns: [t("path-length.words"), ...Object.keys(result.memory).map(kind => t(`path-length.kind.${kind}`))],
      rows: result.lengths.map((n, at) => [String(n), ...Object.entries(result.memory).map(([kind, values]) => ({ key: `table.memory.${kind}.${n}`, value: values[at], digits: 0 }))]),
    },
  ];
}
