/** The soft lookup on "How are you". */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { measure, part } from "../lib/parts.js";
import { tokenText } from "../lib/tokens.js";

const BY_HAND = inputs => inputs.scores === "hand";

function build(kit) {
  const { t } = kit;
  const weights = bars(kit, { label: t("lookup.weights") });
  const sums = el("dl", { class: "measures" });
  const vectors = heatmap(kit, {
    label: t("lookup.vectors"),
    hint: t("lookup.hint"),
    key: "vector",
    height: 22,
    precision: 3,
    reading: (r, c) => t("lookup.component", { row: rowNames(kit, kit.result())[r], number: c }),
  });
  return {
    node: el(
      "div",
      { class: "lookup" },
      part(t("lookup.weights"), weights.node),
      sums,
      part(t("lookup.vectors"), vectors.node),
    ),
    draw: result => draw(kit, result, { weights, sums, vectors }),
    tables: result => tables(kit, result),
  };
}

export const lookup = {
  controls: [
    { field: "scores", kind: "choice" },
    { field: "how", kind: "slider", keyStep: 0.1, when: BY_HAND },
    { field: "are", kind: "slider", keyStep: 0.1, when: BY_HAND },
    { field: "you", kind: "slider", keyStep: 0.1, when: BY_HAND },
    { field: "temperature", kind: "slider", keyStep: 0.1 },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
  ],
  build,
};

function rowNames({ t }, { tokens }) {
  const words = tokens.map(token => tokenText(t, token));
  return [...words.map(word => `v(${word})`), ...words.map(word => `w · v(${word})`), t("lookup.mixed-short")];
}

function draw(kit, result, { weights, sums, vectors }) {
  const { t, out } = kit;
  weights.draw(
    result.tokens.map((token, at) => ({
      label: [tokenText(t, token), el("small", {}, `${t("lookup.score")} `, out(`score.${at}`, result.scores[at], 2))],
      key: `weight.${at}`,
      value: result.weights[at],
      share: result.weights[at],
      digits: 3,
      marked: true,
    })),
  );
  sums.replaceChildren(
    measure(t("lookup.sum"), out("sum", result.sum, 3)),
    measure(t("lookup.entropy"), out("entropy", result.entropy, 3)),
  );
  const cells = [...result.values, ...result.weighted, result.mixed];
  vectors.draw({
    cells,
    rows: rowNames(kit, result),
    columns: result.mixed.map((_, at) => String(at)),
    span: Math.max(...cells.flat().map(Math.abs)),
    signed: true,
  });
}

function tables(kit, result) {
  const { t } = kit;
  const names = rowNames(kit, result);
  const vectors = [...result.values, ...result.weighted, result.mixed];
  return [
    {
      caption: t("lookup.weights"),
      columns: [t("lookup.token"), t("lookup.score"), t("lookup.weight")],
      rows: result.tokens.map((token, at) => [
        tokenText(t, token),
        { key: `table.score.${at}`, value: result.scores[at], digits: 3 },
        { key: `table.weight.${at}`, value: result.weights[at], digits: 4 },
      ]),
    },
    {
      caption: t("lookup.vectors"),
      columns: ["", ...names],
      rows: result.mixed.map((_, c) => [String(c), ...vectors.map((vector, r) => ({ key: `table.vector.${r}.${c}`, value: vector[c], digits: 3 }))]),
    },
  ];
}
