/** Where each word of a sentence looks while a model reads it. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { formula, measure, part, pooledNote } from "../lib/parts.js";
import { picks } from "../lib/picks.js";
import { pieces } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

const NAMED = 0.07; // of the mixture: a smaller part has no room for its name

function build(kit) {
  const { t } = kit;
  const parts = {
    tokens: picks(kit, { label: t("self-attention.tokens"), pick: at => kit.set("token", at + 1) }),
    title: el("h3", {}),
    mixture: el("div", { class: "mixture" }),
    facts: el("dl", { class: "measures" }),
    pooled: el("p", { class: "hint" }),
    near: bars(kit, { label: t("self-attention.nearest") }),
    map: heatmap(kit, {
      label: t("self-attention.map"),
      hint: t("self-attention.map-help"),
      key: "cell",
      precision: 3,
      reading: (r, c) => t("self-attention.cell", { row: label(kit, r), column: label(kit, c) }),
      pick: r => kit.set("token", r * kit.result().factor + 1),
    }),
  };
  return {
    node: el(
      "div",
      { class: "self-attention" },
      el("div", { class: "part" }, parts.title, parts.tokens.node, el("p", { class: "hint" }, t("self-attention.tokens-help"))),
      part(t("self-attention.mixture"), parts.mixture),
      parts.facts,
      el("div", { class: "pair" }, part(t("self-attention.map"), parts.map.node, parts.pooled), part(t("self-attention.nearest"), parts.near.node, el("p", { class: "hint" }, t("self-attention.nearest-help")))),
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const selfAttention = {
  controls: [
    { field: "sentence", kind: "text", blank: result => result.sentence },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
    { field: "words", kind: "onoff" },
  ],
  build,
};

/** The name of a row or column; a pooled one is called by the first token of its block. */
function label({ t, result }, at) {
  return tokenText(t, result().tokens[at * result().factor]);
}

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { tokens, look, used, cells, factor } = result;
  const chosen = tokens[used.token - 1];
  parts.title.replaceChildren(...pieces(t, "self-attention.look", { token: tokenChip(t, chosen) }));
  parts.tokens.draw(
    tokens.map((token, at) => ({ token, share: look[at], notes: [out(`weight.${at}`, look[at], 2)] })),
    used.token - 1,
  );
  parts.mixture.replaceChildren(
    ...tokens.map((token, at) =>
      el(
        "span",
        { class: look[at] < NAMED ? "share narrow" : "share", vars: { "--share": look[at] } },
        el("span", { class: "token-name" }, tokenText(t, token)),
        out(`share.${at}`, look[at], 2),
      ),
    ),
  );
  parts.facts.replaceChildren(
    measure(t("self-attention.sum"), out("sum", result.sum, 3)),
    measure(t("self-attention.mask"), ...mask(kit, result)),
    ...reordered(kit, result),
  );
  const names = cells.map((_, at) => label(kit, at));
  parts.map.draw({ cells, rows: names, columns: names, span: 1, digits: 2, row: Math.floor((used.token - 1) / factor) });
  parts.pooled.replaceChildren(...pooledNote(kit, result));
  parts.near.draw(result.nearest.map(({ cosine, ...token }, at) => ({ label: tokenChip(t, token), key: `nearest.${at}`, value: cosine, share: Math.max(cosine, 0), digits: 2, marked: at === 0 })));
}

/** How far the outputs move when the words are turned round. */
function reordered({ t, out }, { reordered }) {
  if (!reordered) return [];
  return [
    measure(t("self-attention.reordered"), out("reordered.without", reordered.without, 3), formula(t("self-attention.reordered-more"))),
    measure(t("self-attention.reordered-with"), out("reordered.with", reordered.with, 3)),
  ];
}

/** Whether the layer hides anything, and what follows. */
function mask({ t }, { mask }) {
  return mask === "none" ? [t("self-attention.mask-none"), t("self-attention.both-ways")] : [t("self-attention.mask-there"), t("self-attention.hidden")];
}

function tables(kit, result) {
  const { t } = kit;
  const { tokens, look, cells, used } = result;
  return [
    {
      caption: t("self-attention.look-of", { token: tokenText(t, tokens[used.token - 1]) }),
      columns: [t("self-attention.token"), t("self-attention.weight")],
      rows: tokens.map((token, at) => [tokenText(t, token), { key: `table.weight.${at}`, value: look[at], digits: 4 }]),
    },
    {
      caption: t("self-attention.map"),
      columns: ["", ...cells.map((_, at) => label(kit, at))],
      rows: cells.map((row, r) => [label(kit, r), ...row.map((value, c) => ({ key: `table.cell.${r}.${c}`, value, digits: 3 }))]),
    },
  ];
}
