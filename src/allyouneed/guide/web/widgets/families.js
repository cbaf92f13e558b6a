/** One sentence, three families. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { matrixTable } from "../lib/parts.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

const FAMILIES = ["encoder", "decoder", "both"];

function build(kit) {
  const { t } = kit;
  const columns = FAMILIES.map(name => {
    const map = heatmap(kit, {
      label: t("families.mask"), hint: t("families.mask-help"), key: `${name}.mask`, height: 15, precision: 0,
      reading: (r, c) => t("families.cell", { row: label(kit, name, r, "row"), column: label(kit, name, c, "column") }),
    });
    const top = name === "both" ? null : bars(kit, { label: t(`families.answer.${name}`) });
    const said = el("p", { class: "whole" });
    const read = el("div", { class: "tokens small" });
    const model = el("p", { class: "hint" });
    return { name, map, top, said, read, model, node: el("div", { class: "family", data: { family: name } }, el("h3", {}, t(`families.name.${name}`)), el("p", {}, t(`families.goal.${name}`)), read, map.node, el("h3", {}, t(`families.answer.${name}`)), top?.node, said, model) };
  });
  return {
    node: el("div", { class: "families" }, columns.map(column => column.node)),
    draw(result) {
      for (const { name, map, top, said, read, model } of columns) {
        const family = result[name];
        const rows = family.written ?? family.read;
        const names = [...family.read, ...(family.written ?? [])];
        read.replaceChildren(...family.read.map(token => tokenChip(t, token)));
        map.draw({ cells: family.mask, rows: rows.map(token => tokenText(t, token)), columns: names.map(token => tokenText(t, token)), span: 1 });
        top?.draw(family.top.map(({ p, ...token }, at) => ({ label: tokenChip(t, token), key: `${name}.top.${at}`, value: p, share: p, digits: 3, marked: at === 0 })));
        said.replaceChildren(...(family.translation ? [el("q", {}, family.translation)] : []));
        model.textContent = family.name;
      }
    },
    tables: result => [
      ...["encoder", "decoder"].map(name => ({ caption: t(`families.answer.${name}`), columns: [t("families.token"), t("families.probability")], rows: result[name].top.map(({ p, ...token }, at) => [tokenText(t, token), { key: `table.${name}.${at}`, value: p, digits: 4 }]) })),
      ...FAMILIES.map(name => {
        const { read, written, mask } = result[name];
        return matrixTable(t("families.mask"), `${name}.mask`, mask, (written ?? read).map(token => tokenText(t, token)), [...read, ...(written ?? [])].map(token => tokenText(t, token)), 0);
      }),
    ],
  };
}

export const families = {
  controls: [
    { field: "sentence", kind: "text", blank: result => result.sentence },
    { field: "word", kind: "text", blank: () => "sat" },
  ],
  build,
};

function label({ t, result }, name, at, side) {
  const { read, written } = result()[name];
  const names = side === "row" ? written ?? read : [...read, ...(written ?? [])];
  return tokenText(t, names[at]);
}
