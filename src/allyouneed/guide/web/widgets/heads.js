/** Every head of a layer: what it looks at, what it is good for, and what it costs to lose it. */

import { bars } from "../lib/bars.js";
import { ramp, step } from "../lib/colour.js";
import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { cited, formula, matrixTable, measure, part, told } from "../lib/parts.js";
import { keepFocus, walk } from "../lib/picks.js";
import { plot } from "../lib/plot.js";
import { pieces } from "../lib/text.js";
import { tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const parts = {
    grid: el("div", { class: "heads-grid", role: "group", "aria-label": t("heads.grid") }),
    note: el("p", { class: "hint" }),
    title: el("h3", {}),
    map: heatmap(kit, {
      label: t("heads.map"), hint: t("heads.map-help"), key: "cell", precision: 3,
      reading: (r, c) => t("heads.cell", { row: tokenText(t, kit.result().names[r]), column: tokenText(t, kit.result().names[c]) }),
    }),
    strip: el("div", { class: "head-strip" }),
    sizes: el("dl", { class: "measures" }),
    losses: bars(kit, { label: t("heads.losses") }),
    loss: el("p", {}),
    roles: el("div", {}),
    joining: bars(kit, { label: t("heads.joining") }),
    missing: el("p", {}),
    curve: plot(kit, { label: t("heads.trained"), hint: t("heads.trained-help"), key: "trained", name: t("heads.trained-name"), height: 170 }),
    scores: el("div", { class: "table", tabindex: 0, role: "region", "aria-label": t("heads.trained") }),
    made: el("p", { class: "hint" }),
  };
  parts.grid.addEventListener("keydown", event => walk([...parts.grid.querySelectorAll("button")], event, { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }));
  return {
    node: el(
      "div",
      { class: "heads" },
      part(t("heads.cut"), parts.strip, parts.sizes),
      part(t("heads.grid"), parts.grid, parts.note),
      el("div", { class: "pair" }, el("div", { class: "part" }, parts.title, parts.map.node), part(t("heads.losses"), parts.losses.node, parts.loss)),
      el(
        "div",
        { class: "pair" },
        part(t("heads.joining"), parts.joining.node, parts.missing, el("p", { class: "hint" }, t("heads.joining-note"))),
        part(t("heads.roles"), parts.roles),
      ),
      part(t("heads.trained"), el("div", { class: "pair" }, parts.curve.node, parts.scores), parts.made),
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const heads = {
  controls: [
    { field: "sentence", kind: "text", blank: result => result.sentence },
    { field: "h", kind: "slider" },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
    { field: "joined", kind: "slider" },
    { field: "out", kind: "slider" },
    { field: "recut", kind: "onoff" },
  ],
  build,
};

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { cells, used, names, inputs, paper } = result;
  parts.strip.replaceChildren(...Array.from({ length: inputs.h }, (_, at) => el("span", {}, String(at))));
  parts.sizes.replaceChildren(
    measure(t("heads.width"), out("width", paper.width, 0), told(kit, "heads.width-more", { d: paper.d_model, h: inputs.h })),
    measure(t("heads.parameters"), out("parameters", paper.parameters, 0), formula(t("heads.parameters-more"))),
    measure(t("heads.operations"), out("operations", result.operations, 0), t("heads.operations-more")),
    measure(t("heads.own"), el("span", {}, out("own.heads", result.own.heads, 0), " × ", out("own.width", result.own.width, 0)), pieces(t, "heads.own-more", { d: out("own.d", result.own.d_model, 0), groups: out("own.groups", result.groups, 0) })),
  );
  keepFocus(parts.grid, () => parts.grid.replaceChildren(...groups(kit, result, ramp(parts.grid, "--paper", "--attention"))));
  parts.note.textContent = t(inputs.recut ? (result.recut ? "heads.recut-note" : "heads.recut-refused") : "heads.grid-note");
  parts.title.textContent = t("heads.one", { number: used.head });
  const labels = names.map(name => tokenText(t, name));
  parts.map.draw({ cells: cells[used.head], rows: labels, columns: labels, span: 1, digits: 2 });
  const { whole, added, now } = result.loss;
  const reach = Math.max(...added.map(Math.abs), 1e-9);
  parts.losses.draw(
    added.map((value, at) => ({
      label: t("heads.without", { number: at }),
      key: `loss.${at}`, value, share: Math.max(value, 0) / reach, digits: 3, marked: at === used.out,
      pick: () => kit.set("out", at === used.out ? -1 : at),
    })),
  );
  parts.loss.replaceChildren(...pieces(t, "heads.loss", { now: el("b", {}, out("loss.now", now, 3)), whole: out("loss.whole", whole, 3) }));
  parts.roles.replaceChildren(roleTable(kit, result));
  join(kit, result, parts);
  compareTrained(kit, result, parts);
}

/** The heads' parts of the layer's output, added one after another. */
function join(kit, { joining, used }, parts) {
  const { t, out } = kit;
  const longest = Math.max(...joining.sizes, 1e-9);
  parts.joining.draw(
    joining.sizes.map((value, at) => ({
      label: t("heads.number", { number: at }), key: `size.${at}`, value, share: value / longest, digits: 2, marked: at < used.joined,
      pick: () => kit.set("joined", at + 1),
    })),
  );
  parts.missing.replaceChildren(...pieces(t, "heads.joining-missing", { count: out("joined", used.joined, 0), share: el("b", {}, out("missing", joining.missing, 1)) }));
}

/** Models that were trained with each h, beside those of the paper. */
function compareTrained(kit, { trained, inputs }, parts) {
  const { t } = kit;
  const { heads, loss, made } = trained;
  parts.curve.node.hidden = !made;
  parts.made.replaceChildren(...(made ? told(kit, "heads.trained-note", { updates: made.updates, seeds: made.seeds }) : [t("heads.untrained")]));
  if (made) parts.curve.draw({ xs: heads, logX: true, ticks: heads, digits: 3, at: heads.indexOf(inputs.h), series: [{ name: t("heads.trained-loss"), values: loss }], always: true });
  const { columns, rows } = trainedTable(kit, trained, "trained");
  const cell = content => (content?.key ? kit.out(content.key, content.value, content.digits) : content);
  const row = ([h, ...rest]) => el("tr", {}, el("th", { scope: "row" }, h), rest.map(one => el("td", {}, cell(one))));
  parts.scores.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, columns.map(name => el("th", { scope: "col" }, name)))), el("tbody", {}, rows.map(row))));
}

function trainedTable(kit, { heads, loss, bleu, cited: papers }, prefix) {
  const { t } = kit;
  const counts = [...new Set([...heads, ...papers.map(one => one.heads)])].sort((a, b) => a - b);
  const ours = (name, values, h, digits) => (heads.includes(h) ? { key: `${prefix}.${name}.${h}`, value: values[heads.indexOf(h)], digits } : "–");
  const paper = h => {
    const one = papers.find(found => found.heads === h);
    return one ? cited(kit, one.value, one.source, 1) : "–";
  };
  return {
    caption: t("heads.trained"),
    columns: ["h", t("heads.trained-loss"), t("heads.trained-bleu"), t("heads.trained-paper")],
    rows: counts.map(h => [String(h), ours("loss", loss, h, 3), ours("bleu", bleu, h, 1), paper(h)]),
  };
}

/** The small pictures; those whose heads share keys and values stand in one bracket. */
function groups(kit, result, colours) {
  const count = result.recut ? result.cells.length : result.groups;
  const each = result.cells.length / count;
  return Array.from({ length: count }, (_, group) =>
    el(
      "div",
      { class: each > 1 ? "head-group shared" : "head-group", "aria-label": each > 1 ? kit.t("heads.group", { number: group }) : null, role: each > 1 ? "group" : null },
      result.cells.slice(group * each, (group + 1) * each).map((_, at) => small(kit, result, group * each + at, colours)),
      each > 1 && el("p", { class: "hint" }, kit.t("heads.group", { number: group })),
    ),
  );
}

function small(kit, { cells, named, roles, used }, at, colours) {
  const role = named[at];
  return el(
    "button",
    { type: "button", class: "head-small", "aria-pressed": String(at === used.head), tabindex: at === used.head ? 0 : -1, on: { click: () => kit.set("head", at) } },
    picture(cells[at], colours),
    el("span", {}, kit.t("heads.number", { number: at })),
    role && el("small", {}, `${kit.t(`heads.role.${role}`)} `, kit.out(`named.${at}`, roles[at][role], 2)),
  );
}

function picture(rows, colours) {
  const canvas = el("canvas", { "aria-hidden": "true", width: rows[0].length, height: rows.length });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, place) => image.data.set([...colours[step(value)], 255], 4 * place));
  pen.putImageData(image, 0, 0);
  return canvas;
}

function roleTable({ t, out, put }, { best }) {
  const row = ({ role, layer, head, value }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, t(`heads.role.${role}`)),
      el("td", {}, out(`best.${role}`, value, 2)),
      el("td", {}, el("button", { type: "button", on: { click: () => put({ layer, head, recut: false }) } }, pieces(t, "heads.place", { layer: out(`best.${role}.layer`, layer, 0), head: out(`best.${role}.head`, head, 0) }))),
    );
  return el("div", { class: "table", tabindex: 0, role: "region", "aria-label": t("heads.roles") }, el("table", {}, el("tbody", {}, best.map(row))));
}

function tables(kit, result) {
  const { t } = kit;
  const labels = result.names.map(name => tokenText(t, name));
  return [
    {
      caption: t("heads.losses"),
      columns: [t("heads.head-name"), t("heads.loss-name")],
      rows: result.loss.without.map((value, at) => [String(at), { key: `table.loss.${at}`, value, digits: 4 }]),
    },
    {
      caption: t("heads.joining"),
      columns: [t("heads.head-name"), t("heads.size-name")],
      rows: result.joining.sizes.map((value, at) => [String(at), { key: `table.size.${at}`, value, digits: 4 }]),
    },
    trainedTable(kit, result.trained, "table.trained"),
    ...result.cells.map((cells, at) => matrixTable(t("heads.one", { number: at }), `head.${at}`, cells, labels, labels)),
  ];
}
