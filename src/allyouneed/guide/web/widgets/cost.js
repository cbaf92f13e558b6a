/** What attention costs in time and memory, and what saves some of it. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { formula, measure, oddSlope, part, told } from "../lib/parts.js";
import { plot } from "../lib/plot.js";
import { pieces } from "../lib/text.js";

function build(kit) {
  const { t } = kit;
  const parts = {
    cache: bars(kit, { label: t("cost.cache") }),
    formula: el("p", { class: "hint" }),
    groups: el("div", { class: "head-brackets", "aria-hidden": "true" }),
    memory: bars(kit, { label: t("cost.memory") }),
    facts: el("dl", { class: "measures" }),
    curve: plot(kit, { label: t("cost.times"), hint: t("cost.times-help"), key: "time", name: t("cost.words") }),
    note: el("p", { class: "hint" }),
    paying: el("dl", { class: "measures" }),
    machine: el("p", { class: "hint" }),
  };
  return {
    node: el(
      "div",
      { class: "cost" },
      el("div", { class: "pair" }, part(t("cost.cache"), parts.groups, parts.cache.node, parts.formula), part(t("cost.memory"), parts.memory.node, el("p", { class: "hint" }, t("cost.memory-note")))),
      parts.facts,
      part(t("cost.times"), parts.curve.node, parts.note),
      part(t("cost.paying"), parts.paying, parts.machine),
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const cost = {
  controls: ["n", "layers", "heads", "kv_heads", "width", "bytes", "window"].map(field => ({ field, kind: "slider" })).concat({ field: "again", kind: "draw" }),
  build,
};

/** Bytes, and beside the name the same in the unit in which they are read best. */
function byteRows({ t, out, result }, kind, names) {
  const { [kind]: values, sizes } = result();
  const most = Math.max(...names.map(name => values[name]));
  return names.map((name, at) => {
    const { number, unit } = sizes[kind][name];
    return { label: [t(`cost.${kind}.${name}`), el("small", {}, out(`${kind}.${name}.short`, number, 1), ` ${unit}`)], key: `${kind}.${name}`, value: values[name], share: values[name] / most, digits: 0, marked: at === 0 };
  });
}

function draw(kit, result, parts) {
  const { t, out } = kit;
  parts.cache.draw(byteRows(kit, "cache", ["own", "all", "window", "state"]));
  parts.memory.draw(byteRows(kit, "weights", ["naive", "tiled"]));
  parts.groups.replaceChildren(...result.groups.map(size => el("span", { vars: { "--heads": size } }, Array.from({ length: size }, () => el("i", {})))));
  parts.formula.replaceChildren(formula(t("cost.formula")));
  parts.facts.replaceChildren(
    measure(t("cost.operations"), out("operations.full", result.operations.full, 0), formula(t("cost.operations-more"))),
    measure(t("cost.operations-window"), out("operations.window", result.operations.window, 0), formula(t("cost.operations-window-more"))),
    measure(t("cost.saved"), out("saved", result.saved, 1), t("cost.saved-more")),
    measure(t("cost.difference"), out("difference", result.difference, 8), told(kit, "cost.difference-more", { n: result.lengths.at(-1) })),
  );
  parts.curve.draw({ xs: result.lengths, logX: true, logY: true, digits: 2, ticks: result.lengths, series: Object.entries(result.times).map(([name, values]) => ({ name: t(`cost.method.${name}`), values })) });
  const slope = name => out(`slope.${name}`, result.exponents[name], 2);
  parts.note.replaceChildren(...pieces(t, "cost.slopes", { naive: slope("naive"), tiled: slope("tiled"), window: slope("window"), state: slope("state") }), oddSlope(t, result.exponents.naive));
  const { lengths, machine, ...setting } = result.paying;
  parts.paying.replaceChildren(...Object.entries(lengths).map(([name, length]) => measure(t(`cost.paying.${name}`), length === null ? "–" : out(`paying.${name}`, length, 0), t("cost.paying-more"))));
  parts.machine.replaceChildren(...told(kit, "cost.paying-note", setting), ` ${machine}.`);
}

function tables(kit, result) {
  const { t } = kit;
  return [
    { caption: t("cost.paying"), columns: ["", t("cost.words")], rows: Object.entries(result.paying.lengths).map(([name, length]) => [t(`cost.paying.${name}`), length === null ? "–" : { key: `table.paying.${name}`, value: length, digits: 0 }]) },
    { caption: t("cost.cache"), columns: ["", t("cost.bytes-name")], rows: ["own", "all", "window", "state"].map(name => [t(`cost.cache.${name}`), { key: `table.cache.${name}`, value: result.cache[name], digits: 0 }]) },
    { caption: t("cost.memory"), columns: ["", t("cost.bytes-name")], rows: ["naive", "tiled"].map(name => [t(`cost.weights.${name}`), { key: `table.weights.${name}`, value: result.weights[name], digits: 0 }]) },
    { caption: t("cost.times"), columns: [t("cost.words"), ...Object.keys(result.times).map(name => t(`cost.method.${name}`))], rows: result.lengths.map((n, at) => [String(n), ...Object.entries(result.times).map(([name, values]) => ({ key: `table.time.${name}.${n}`, value: values[at], digits: 3 }))]) },
  ];
}
