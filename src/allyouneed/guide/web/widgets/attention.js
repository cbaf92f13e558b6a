/** What a model looked at in one text: any side, layer and head. Which row is looked along changes no number. */

import { drawArcs } from "../lib/arcs.js";
import { el, svg } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { matrixTable, part, pooledNote } from "../lib/parts.js";
import { picks } from "../lib/picks.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const parts = { row: 0, columns: el("div", { class: "tokens" }), arcs: svg("svg", { class: "arcs", "aria-hidden": "true" }), pooled: el("p", { class: "hint" }) };
  const choose = at => {
    parts.row = at;
    draw(kit, kit.result(), parts);
  };
  parts.rows = picks(kit, { label: t("attention.rows"), pick: choose });
  parts.map = heatmap(kit, {
    label: t("attention.map"),
    hint: t("attention.map-help"),
    key: "cell",
    precision: 3,
    height: 30,
    reading: (r, c) => t("attention.cell", { row: tokenText(t, names(kit.result(), "rows")[r]), column: tokenText(t, names(kit.result(), "columns")[c]) }),
    pick: choose,
  });
  const caption = text => el("p", { class: "caption" }, text);
  parts.stage = el("div", { class: "stage" }, caption(t("attention.columns")), parts.columns, parts.arcs, parts.rows.node, caption(t("attention.rows")));
  new ResizeObserver(() => parts.aim?.()).observe(parts.stage);
  return {
    node: el("div", { class: "attention" }, parts.stage, part(t("attention.map"), parts.map.node, parts.pooled)),
    draw: result => draw(kit, result, parts),
    tables: result => [matrixTable(t("attention.map"), "cell", result.cells, ...["rows", "columns"].map(side => names(result, side).map(token => tokenText(t, token))))],
  };
}

export const attention = {
  controls: [
    { field: "side", kind: "choice" },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
  ],
  build,
};

/** The tokens beside the cells; several that share a cell are called by their first. */
function names({ cells, factor, ...result }, side) {
  return result[side].filter((_, at) => at % factor === 0);
}

function draw(kit, result, parts) {
  const { t } = kit;
  const { cells } = result;
  const [rows, columns] = [names(result, "rows"), names(result, "columns")];
  parts.row = Math.min(parts.row, cells.length - 1);
  parts.columns.replaceChildren(...columns.map(token => tokenChip(t, token)));
  parts.rows.draw(rows.map(token => ({ token })), parts.row);
  parts.aim = () => drawArcs(parts.arcs, parts.stage, [...parts.columns.children], parts.rows.node.children[parts.row], cells[parts.row]);
  parts.aim();
  const labels = tokens => tokens.map(token => tokenText(t, token));
  parts.map.draw({ cells, rows: labels(rows), columns: labels(columns), span: 1, digits: 2, row: parts.row });
  parts.pooled.replaceChildren(...pooledNote(kit, result));
}
