/** Who may look at whom in the decoder. */

import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { formula, measure, part, pooledNote } from "../lib/parts.js";
import { pieces } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

const DIGITS = { scores: 1, masked: 1, weights: 2 };

function build(kit) {
  const { t } = kit;
  const title = el("h3", {});
  const pooled = el("p", { class: "hint" });
  const matrix = heatmap(kit, {
    label: t("causal-mask.title"),
    hint: t("causal-mask.hint"),
    key: "cell",
    precision: 3,
    reading: (r, c) => t("causal-mask.cell", { row: names(kit, kit.result())[r], column: names(kit, kit.result())[c] }),
  });
  const leak = el("div", { class: "part leak" });
  const facts = el("dl", { class: "measures" });
  const empty = el("dl", { class: "measures" });
  return {
    node: el("div", { class: "causal-mask" }, el("div", { class: "part" }, title, matrix.node, pooled), facts, leak, part(t("causal-mask.empty"), empty)),
    draw(result) {
      title.textContent = pictureName(kit, result);
      pooled.replaceChildren(...pooledNote(kit, result));
      matrix.draw(picture(kit, result));
      facts.replaceChildren(
        measure(t("causal-mask.masked"), kit.out("masked", result.masked, 0)),
        measure(t("causal-mask.own"), ownMask(kit, result.own_mask)),
      );
      empty.replaceChildren(
        measure(t("causal-mask.empty-infinite"), el("span", {}, kit.out("empty.undefined", result.empty.undefined, 0), " / ", kit.out("empty.size", result.empty.size, 0)), formula(t("causal-mask.empty-infinite-more"))),
        measure(t("causal-mask.empty-large"), kit.out("empty.even", result.empty.even, 3), t("causal-mask.empty-large-more")),
        measure(t("causal-mask.empty-ours"), kit.out("empty.ours", result.empty.ours, 3), t("causal-mask.empty-ours-more")),
      );
      leak.replaceChildren(...leakTest(kit, result.leak));
    },
    tables: result => tables(kit, result),
  };
}

export const causalMask = {
  controls: [
    { field: "sentence", kind: "text", blank: result => result.sentence },
    { field: "source", kind: "text", blank: result => result.source, when: (_, result) => result?.source !== "" },
    { field: "mask", kind: "choice" },
    { field: "window", kind: "slider", when: inputs => inputs.mask === "window" },
    { field: "pads", kind: "slider", when: inputs => inputs.mask === "padding" },
    { field: "prefix", kind: "slider", when: inputs => inputs.mask === "prefix" },
    { field: "stage", kind: "choice" },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
  ],
  build,
};

/** One name a row; pooled rows are called by the first token of their block. */
function names({ t }, { tokens, factor }) {
  return tokens.filter((_, at) => at % factor === 0).map(token => tokenText(t, token));
}

/** The mask by its name, in the reader's words where there are some. */
function ownMask({ t }, name) {
  const key = `causal-mask.own-${name}`;
  return t(key) === key ? formula(name) : t(key);
}

function pictureName({ t }, { inputs }) {
  return t("causal-mask.picture", { stage: t(`causal-mask.stage.${inputs.stage}`) });
}

function picture(kit, result) {
  const labels = names(kit, result);
  const weights = result.inputs.stage === "weights";
  return {
    cells: result.cells,
    rows: labels,
    columns: labels,
    span: weights ? 1 : Math.max(...result.cells.flat().map(value => Math.abs(value ?? 0)), 1e-9),
    signed: !weights,
    digits: DIGITS[result.inputs.stage],
    side: result.row_sums.map((value, at) => ({ key: `row-sum.${at}`, value, digits: 2 })),
  };
}

function leakTest({ t, out }, { from, to, moved }) {
  const words = { from: tokenChip(t, from), to: tokenChip(t, to) };
  return [
    el("h3", {}, t("causal-mask.leak")),
    el("p", {}, pieces(t, "causal-mask.leak-text", words), " ", el("b", {}, out("leak", moved, 4))),
    el("p", { class: moved === 0 ? "holds" : "fails" }, t(moved === 0 ? "causal-mask.sealed" : "causal-mask.leaks")),
  ];
}

function tables(kit, result) {
  const labels = names(kit, result);
  const sum = result.row_sums.length ? [kit.t("causal-mask.row-sum")] : [];
  return [
    {
      caption: pictureName(kit, result),
      columns: ["", ...labels, ...sum],
      rows: result.cells.map((row, r) => [
        labels[r],
        ...row.map((value, c) => ({ key: `table.cell.${r}.${c}`, value, digits: 3 })),
        ...(sum.length ? [{ key: `table.row-sum.${r}`, value: result.row_sums[r], digits: 3 }] : []),
      ]),
    },
  ];
}
