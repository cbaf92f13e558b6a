/** How well a translation is as its source grows. */

import { el } from "../lib/dom.js";
import { measure, part } from "../lib/parts.js";
import { plot } from "../lib/plot.js";

const KINDS = ["vector", "search"];

function build(kit) {
  const { t } = kit;
  const curve = plot(kit, { label: t("length-quality.curve"), hint: t("length-quality.hint"), key: "quality", name: t("length-quality.words") });
  const facts = el("dl", { class: "measures" });
  return {
    node: el("div", { class: "length-quality" }, part(t("length-quality.curve"), curve.node, facts, el("p", { class: "hint" }, t("length-quality.note")))),
    draw(result) {
      curve.draw({ xs: result.lengths, series: KINDS.map(kind => ({ name: t(`length-quality.${kind}`), values: result.curves[kind] })), low: 0, high: 100, digits: 1, ticks: result.lengths });
      facts.replaceChildren(...KINDS.flatMap(kind => Object.entries(result.extremes[kind]).map(([name, value]) => measure(t(`length-quality.${name}`, { model: t(`length-quality.${kind}`) }), kit.out(`${name}.${kind}`, value, 1)))));
    },
    tables: result => [
      {
        caption: t("length-quality.curve"),
        columns: [t("length-quality.words"), t("length-quality.count"), ...KINDS.map(kind => t(`length-quality.${kind}`))],
        rows: result.lengths.map((length, at) => [String(length), { key: `table.count.${at}`, value: result.counts[at], digits: 0 }, ...KINDS.map(kind => (result.curves[kind][at] === null ? "–" : { key: `table.${kind}.${at}`, value: result.curves[kind][at], digits: 2 }))]),
      },
    ],
  };
}

export const lengthQuality = {
  controls: [
    { field: "metric", kind: "choice" },
    { field: "sentences", kind: "slider" },
    { field: "seed", kind: "draw" },
  ],
  build,
};
