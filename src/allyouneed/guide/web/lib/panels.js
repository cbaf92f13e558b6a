/** What the buttons below a figure open: its table, its picture as a file, its address, its notebook cell, its code. */

import { el, freshId } from "./dom.js";
import { formatHash } from "./hash.js";
import { notebookCell } from "./notebook.js";
import { savePng, saveSvg } from "./picture.js";

const MOST_ON_PAPER = 20; // columns of a table

/** -> { node, open(name), refresh() } for the figure. */
export function panels(kit, figure) {
  const place = el("div", { class: "panel", id: freshId("panel"), hidden: true });
  const makers = {
    table: () => figure.body.tables(kit.result()).flatMap(table => tableNode(kit, table)),
    picture: () => pictureNodes(kit, figure.picture),
    ...(figure.model.get("unlisted") ? {} : placed(kit, figure.model)),
    code: () => codeNodes(kit, figure.model),
  };
  let current = null;
  const buttons = Object.fromEntries(
    Object.keys(makers).map(name => [
      name,
      el("button", { type: "button", "aria-expanded": "false", "aria-controls": place.id, data: { panel: name }, on: { click: () => toggle(name) } }, kit.t(`frame.${name}`)),
    ]),
  );
  async function toggle(name) {
    current = current === name ? null : name;
    for (const [other, button] of Object.entries(buttons)) button.setAttribute("aria-expanded", String(other === current));
    place.hidden = current === null;
    await fill();
  }
  async function fill() {
    const asked = current;
    if (asked === null || !kit.result()) return;
    const nodes = await makers[asked]();
    if (asked === current) place.replaceChildren(...nodes);
  }
  const reset = el("button", { type: "button", data: { panel: "reset" }, on: { click: () => figure.reset() } }, kit.t("frame.reset"));
  return {
    node: el("div", { class: "tools" }, el("div", { class: "buttons" }, Object.values(buttons), reset), place),
    open: name => current === name || toggle(name),
    refresh: () => current !== "code" && current !== "picture" && fill(),
  };
}

/** What only a figure of the guide has: an address, and a cell that shows it anew. */
function placed(kit, model) {
  return {
    link: () => copyNodes(kit, "frame.link-note", address(model)),
    cell: () => copyNodes(kit, "frame.cell-note", notebookCell(kit.name, kit.inputs(), model.get("fields"), kit.lang)),
  };
}

/** The page's address with this figure's state. A notebook has no address of its own: there it is the address's end. */
function address(model) {
  const hash = formatHash(model.get("place") ?? model.get("name"), model.get("inputs"), model.get("fields"));
  const base = model.get("place") ? location.origin + location.pathname : "";
  return `${base}?lang=${model.get("lang")}${hash}`;
}

function tableNode(kit, { caption, columns, rows }) {
  const cell = content => (content !== null && typeof content === "object" && !(content instanceof Node) ? kit.out(content.key, content.value, content.digits) : content);
  const wide = columns.length > MOST_ON_PAPER;
  const table = el(
    "div",
    { class: wide ? "table wide" : "table", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, columns.map(name => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.map(([head, ...rest]) => el("tr", {}, el("th", { scope: "row" }, head), rest.map(value => el("td", {}, cell(value)))))),
    ),
  );
  return wide ? [table, el("p", { class: "on-paper" }, kit.t("frame.table-wide", { caption }))] : table;
}

function pictureNodes(kit, picture) {
  const button = (format, save) => el("button", { type: "button", data: { format }, on: { click: () => save(picture, kit.name) } }, kit.t(`frame.picture-${format}`));
  return [el("div", { class: "buttons" }, button("svg", saveSvg), button("png", savePng))];
}

function copyNodes(kit, note, content) {
  const box = el("textarea", { readonly: true, rows: content.split("\n").length, "aria-label": kit.t(note) });
  box.value = content;
  const told = el("span", { role: "status" });
  const copy = async () => {
    box.select();
    await navigator.clipboard.writeText(content).catch(() => document.execCommand("copy"));
    told.textContent = kit.t("frame.copied");
  };
  return [el("p", {}, kit.t(note)), box, el("button", { type: "button", on: { click: copy } }, kit.t("frame.copy")), told];
}

async function codeNodes(kit, model) {
  const parts = await (model.code ? model.code() : model.get("code"));
  return [
    el("p", {}, kit.t("frame.code-note")),
    ...parts.map(({ name, module, line, source }, at) =>
      el(
        "details",
        { open: at === 0 },
        el("summary", {}, el("code", {}, `${module}.${name}`), ` :${line}`),
        el("pre", { tabindex: 0, "aria-label": name }, el("code", {}, source)),
      ),
    ),
  ];
}
