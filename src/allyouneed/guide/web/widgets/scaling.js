/** Why the scores are divided by √d_k. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { measure, part } from "../lib/parts.js";
import { pieces } from "../lib/text.js";

const MEASURES = [["max", 3], ["entropy", 3], ["jacobian", 3]];

function build(kit) {
  const { t } = kit;
  const scores = bars(kit, { label: t("scaling.scores"), signed: true });
  const weights = bars(kit, { label: t("scaling.weights") });
  const measures = el("dl", { class: "measures" });
  const strip = heatmap(kit, {
    label: t("scaling.strip"),
    hint: t("scaling.strip-help"),
    key: "strip",
    height: 18,
    precision: 3,
    reading: (r, c) => t("scaling.strip-cell", { width: kit.result().widths[c], number: r + 1 }),
    pick: (_, c) => kit.set("d_k", kit.result().widths[c]),
  });
  return {
    node: el(
      "div",
      { class: "scaling" },
      el("div", { class: "pair" }, part(t("scaling.scores"), scores.node), part(t("scaling.weights"), weights.node)),
      measures,
      part(t("scaling.strip"), strip.node),
    ),
    draw: result => draw(kit, result, { scores, weights, measures, strip }),
    tables: result => tables(kit, result),
  };
}

export const scaling = {
  controls: [
    { field: "d_k", kind: "slider" },
    { field: "n", kind: "slider" },
    { field: "scale", kind: "onoff" },
    { field: "seed", kind: "draw" },
  ],
  build,
};

function draw({ t, out }, result, { scores, weights, measures, strip }) {
  const reach = Math.max(...result.scores.map(Math.abs));
  const label = at => t("scaling.key", { number: at + 1 });
  const best = Math.max(...result.weights);
  scores.draw(result.scores.map((value, at) => ({ label: label(at), key: `score.${at}`, value, share: value / reach, digits: 2 })));
  weights.draw(
    result.weights.map((value, at) => ({ label: label(at), key: `weight.${at}`, value, share: value, digits: 3, marked: value === best })),
  );
  const typical = () => pieces(t, "scaling.typical", { repeats: out("repeats", result.repeats, 0) });
  measures.replaceChildren(
    ...MEASURES.map(([name, digits]) =>
      measure(t(`scaling.${name}`), out(name, result.measures[name], digits), [...typical(), " ", out(`typical.${name}`, result.typical[name], digits)]),
    ),
    measure(t("scaling.variance"), out("variance", result.variance, 1), [
      "dₖ = ",
      out("d_k", result.inputs.d_k, 0),
      " · ",
      ...pieces(t, "scaling.products", { products: out("products", result.products, 0) }),
    ]),
  );
  strip.draw({
    cells: result.strip,
    rows: result.weights.map((_, at) => String(at + 1)),
    columns: result.widths.map(String),
    span: 1,
    column: result.widths.indexOf(result.inputs.d_k),
  });
}

function tables({ t }, result) {
  const measured = MEASURES.map(([name, digits]) => [
    t(`scaling.${name}`),
    { key: `table.${name}`, value: result.measures[name], digits },
    { key: `table.typical.${name}`, value: result.typical[name], digits },
  ]);
  return [
    {
      caption: t("scaling.weights"),
      columns: ["", t("scaling.scores"), t("scaling.weights")],
      rows: result.weights.map((value, at) => [
        t("scaling.key", { number: at + 1 }),
        { key: `table.score.${at}`, value: result.scores[at], digits: 3 },
        { key: `table.weight.${at}`, value, digits: 4 },
      ]),
    },
    { caption: t("scaling.measure"), columns: ["", t("scaling.this"), t("scaling.typical", { repeats: result.repeats })], rows: measured },
    {
      caption: t("scaling.strip"),
      columns: ["dₖ", ...result.widths.map(String)],
      rows: result.strip.map((row, at) => [t("scaling.key", { number: at + 1 }), ...row.map((value, c) => ({ key: `table.strip.${at}.${c}`, value, digits: 3 }))]),
    },
  ];
}
