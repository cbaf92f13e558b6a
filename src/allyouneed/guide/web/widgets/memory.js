/** A network with a tape, copying bits. */

import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { matrixTable, measure, part, told } from "../lib/parts.js";
import { plot } from "../lib/plot.js";

const STAGES = ["content", "interpolated", "shifted", "sharpened"];
const SAID = ["strength", "gate", "shifts", "power"]; // what the controller tells a head

function build(kit) {
  const { t } = kit;
  const map = (name, reading, more = {}) => heatmap(kit, { label: t(`memory.${name}`), hint: t(`memory.${name}-help`), key: name, precision: 2, height: 12, reading, ...more });
  const parts = {
    asked: map("asked", (r, c) => t("memory.bit", { row: r + 1, column: c + 1 }), { pick: (r, c) => flip(kit, r, c) }),
    copied: map("copied", (r, c) => t("memory.bit", { row: r + 1, column: c + 1 })),
    writes: map("writes", (r, c) => t("memory.slot", { slot: r, step: c + 1 }), { pick: (_, c) => kit.put({ step: c + 1, head: "write" }) }),
    reads: map("reads", (r, c) => t("memory.slot", { slot: r, step: c + 1 }), { pick: (_, c) => kit.put({ step: c + 1, head: "read" }) }),
    tape: map("tape", (r, c) => t("memory.cell", { slot: r, column: c }), { height: 8 }),
    stages: plot(kit, { label: t("memory.stages"), hint: t("memory.stages-help"), key: "stage", name: t("memory.slot-name"), height: 160 }),
    verdict: el("p", {}),
    said: el("dl", { class: "measures" }),
    sums: el("dl", { class: "measures" }),
    title: el("h3", {}),
  };
  return {
    node: el(
      "div",
      { class: "memory" },
      el("div", { class: "pair" }, part(t("memory.asked"), parts.asked.node), part(t("memory.copied"), parts.copied.node, parts.verdict)),
      el("div", { class: "pair" }, part(t("memory.writes"), parts.writes.node), part(t("memory.reads"), parts.reads.node)),
      el("div", { class: "part" }, parts.title, parts.stages.node, parts.said, parts.sums),
      part(t("memory.tape"), parts.tape.node),
    ),
    draw: result => draw(kit, result, parts),
    tables: result => [
      { caption: t("memory.stages"), columns: [t("memory.slot-name"), ...STAGES.map(name => t(`memory.${name}`))], rows: result.stages.content.map((_, slot) => [String(slot), ...STAGES.map(name => ({ key: `table.${name}.${slot}`, value: result.stages[name][slot], digits: 4 }))]) },
      { caption: t("memory.orders"), columns: [t("memory.order"), t("memory.value")], rows: SAID.flatMap(name => result.said[name].map((value, at) => [`${t(`memory.${name}`)}${result.said[name].length > 1 ? ` ${at + 1}` : ""}`, { key: `table.said.${name}.${at}`, value, digits: 4 }])) },
      matrixTable(t("memory.copied"), "copied", result.chances, result.chances.map((_, at) => String(at + 1)), result.chances[0].map((_, at) => String(at + 1))),
    ],
  };
}

export const memory = {
  controls: [
    { field: "rows", kind: "slider", when: inputs => !inputs.bits },
    { field: "step", kind: "slider" },
    { field: "head", kind: "choice" },
    { field: "similarity", kind: "choice" },
    { field: "by_location", kind: "onoff" },
    { field: "seed", kind: "draw", when: inputs => !inputs.bits },
  ],
  build,
};

/** One bit of what is to be copied, the other way round. */
function flip(kit, r, c) {
  const rows = kit.result().asked.map((row, at) => row.map((bit, place) => (at === c && place === r ? 1 - bit : bit)));
  kit.set("bits", rows.map(row => row.join("")).join(" "));
}

/** Rows of a matrix as columns. */
function turned(matrix) {
  return matrix[0].map((_, c) => matrix.map(row => row[c]));
}

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { used, inputs } = result;
  const count = size => Array.from({ length: size }, (_, at) => String(at));
  const paint = (map, cells, more = {}) => map.draw({ cells, rows: count(cells.length), columns: count(cells[0].length), span: 1, ...more });
  paint(parts.asked, turned(result.asked));
  paint(parts.copied, turned(result.chances));
  paint(parts.writes, result.writes, { column: used.step - 1 });
  paint(parts.reads, result.reads, { column: used.step - 1 });
  paint(parts.tape, result.memory, { signed: true, span: Math.max(...result.memory.flat().map(Math.abs), 1e-9) });
  parts.verdict.className = result.wrong === 0 ? "holds" : "fails";
  parts.verdict.replaceChildren(...told(kit, result.wrong === 0 ? "memory.right" : "memory.wrong", { wrong: result.wrong, bits: result.bits }));
  parts.title.replaceChildren(...told(kit, `memory.stages-${inputs.head}`, { step: used.step }));
  parts.stages.draw({ xs: result.stages.content.map((_, at) => at), series: STAGES.map(name => ({ name: t(`memory.${name}`), values: result.stages[name] })), low: 0, high: 1, digits: 3 });
  parts.said.replaceChildren(
    measure(t("memory.strength"), out("strength", result.said.strength[0], 2)),
    measure(t("memory.gate"), out("gate", result.said.gate[0], 3)),
    measure(t("memory.shifts"), el("span", {}, result.said.shifts.map((value, at) => [at ? " " : "", out(`shift.${at}`, value, 2)]))),
    measure(t("memory.power"), out("power", result.said.power[0], 2)),
  );
  parts.sums.replaceChildren(...STAGES.map(name => measure(`Σ ${t(`memory.${name}`)}`, out(`sum.${name}`, result.sums[name], 3))), measure(t("memory.matching"), el("span", {}, out("matching", result.matching, 0), " / ", out("rows", used.rows, 0))), measure(t("memory.lead"), out("lead", result.lead, 0)));
}
