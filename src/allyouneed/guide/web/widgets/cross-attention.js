/** The decoder writes a translation word by word, and looks back at the source. */

import { drawArcs } from "../lib/arcs.js";
import { bars } from "../lib/bars.js";
import { el, svg } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { part, pooledNote } from "../lib/parts.js";
import { player } from "../lib/player.js";
import { pieces } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const parts = {
    source: el("div", { class: "tokens" }),
    target: el("div", { class: "tokens" }),
    arcs: svg("svg", { class: "arcs", "aria-hidden": "true" }),
    next: bars(kit, { label: t("cross-attention.next") }),
    whole: el("p", { class: "whole" }),
    map: heatmap(kit, {
      label: t("cross-attention.map"),
      hint: t("cross-attention.map-help"),
      key: "map",
      precision: 3,
      height: 30,
      reading: (r, c) => t("cross-attention.cell", { row: label(kit, "target", r), column: label(kit, "source", c) }),
      pick: r => kit.set("step", r * kit.result().factor + 1),
    }),
    pooled: el("p", { class: "hint" }),
  };
  const caption = text => el("p", { class: "caption" }, text);
  parts.stage = el("div", { class: "stage" }, caption(t("cross-attention.source-row")), parts.source, parts.arcs, parts.target, caption(t("cross-attention.target-row")));
  const resized = new ResizeObserver(() => parts.aim?.());
  resized.observe(parts.stage);
  return {
    node: el(
      "div",
      { class: "cross-attention" },
      player(kit),
      parts.stage,
      el(
        "div",
        { class: "pair" },
        part(t("cross-attention.next"), parts.next.node),
        part(t("cross-attention.map"), parts.map.node, parts.pooled),
      ),
      parts.whole,
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const crossAttention = {
  controls: [
    { field: "source", kind: "text", blank: result => result.source_text },
    { field: "step", kind: "slider" },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
    { field: "choose", kind: "choice" },
    { field: "seed", kind: "draw", when: inputs => inputs.choose === "sample" },
  ],
  build,
};

function label({ t, result }, side, at) {
  return tokenText(t, result()[side][at * result().factor]);
}

function draw(kit, result, parts) {
  const { t } = kit;
  const { step } = result.used;
  parts.source.replaceChildren(...result.source.map(token => tokenChip(t, token)));
  parts.target.replaceChildren(...result.target.slice(0, step).map(token => tokenChip(t, token)));
  const now = parts.target.lastElementChild;
  now.setAttribute("aria-current", "step");
  parts.aim = () => drawArcs(parts.arcs, parts.stage, [...parts.source.children], now, result.look);
  parts.aim();
  const chosen = result.target[step - 1];
  parts.next.draw(
    result.next.map(({ p, ...token }, at) => ({
      label: tokenChip(t, token),
      key: `next.${at}`,
      value: p,
      share: p,
      digits: 3,
      marked: token.text === chosen.text && token.kind === chosen.kind,
    })),
  );
  parts.map.draw({
    cells: result.cells,
    rows: result.cells.map((_, at) => label(kit, "target", at)),
    columns: result.cells[0].map((_, at) => label(kit, "source", at)),
    span: 1,
    digits: 2,
    row: Math.floor((step - 1) / result.factor),
  });
  parts.pooled.replaceChildren(...pooledNote(kit, result));
  parts.whole.replaceChildren(el("span", {}, `${t("cross-attention.translation")}: `), el("q", {}, result.translation));
  if (!result.finished) parts.whole.append(" ", ...pieces(t, "cross-attention.unfinished", { count: kit.out("count", result.limits.step, 0) }));
}

function tables({ t, result }) {
  const { source, target, look, next, cells, factor, used } = result();
  return [
    {
      caption: t("cross-attention.look", { step: used.step }),
      columns: [t("cross-attention.token"), t("cross-attention.weight")],
      rows: source.map((token, at) => [tokenText(t, token), { key: `table.look.${at}`, value: look[at], digits: 4 }]),
    },
    {
      caption: t("cross-attention.next"),
      columns: [t("cross-attention.token"), t("cross-attention.probability")],
      rows: next.map(({ p, ...token }, at) => [tokenText(t, token), { key: `table.next.${at}`, value: p, digits: 4 }]),
    },
    {
      caption: t("cross-attention.map"),
      columns: ["", ...cells[0].map((_, at) => tokenText(t, source[at * factor]))],
      rows: cells.map((row, r) => [tokenText(t, target[r * factor]), ...row.map((value, c) => ({ key: `table.map.${r}.${c}`, value, digits: 3 }))]),
    },
  ];
}
