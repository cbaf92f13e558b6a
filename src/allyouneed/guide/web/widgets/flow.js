/** One head from end to end; a click on a cell takes it apart. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { matrixTable, measure, part } from "../lib/parts.js";
import { pieces } from "../lib/text.js";
import { tokenText } from "../lib/tokens.js";

const STEPS = ["q", "k", "v", "scores", "weights", "z"];
const SQUARE = ["scores", "weights"];

function build(kit) {
  const { t } = kit;
  const maps = Object.fromEntries(
    ["x", ...STEPS].map(name => [
      name,
      heatmap(kit, {
        label: t(`flow.step.${name}`), hint: "", key: `${name}.cell`, precision: 3, height: 24,
        reading: (r, c) => `${t(`flow.letter.${name}`)}[${token(kit, r)}, ${SQUARE.includes(name) ? token(kit, c) : c}]`,
        pick: (r, c) => name !== "x" && kit.put({ step: name, row: r, column: c }),
      }),
    ]),
  );
  const shapes = Object.fromEntries(["x", ...STEPS].map(name => [name, el("span", { class: "shape" })]));
  const box = name => el("div", { class: "flow-box", data: { step: name } }, el("h3", {}, t(`flow.step.${name}`), " ", shapes[name]), maps[name].node);
  const arrow = text => el("div", { class: "flow-arrow", "aria-hidden": "true" }, `${text} ↓`);
  const terms = bars(kit, { label: t("flow.terms"), signed: true });
  const sum = el("dl", { class: "measures" });
  const title = el("h3", {});
  return {
    node: el(
      "div",
      { class: "flow" },
      box("x"), arrow("× W"),
      el("div", { class: "triple" }, box("q"), box("k"), box("v")),
      arrow("Q · Kᵀ / √dₖ"),
      el("div", { class: "pair" }, box("scores"), box("weights")),
      arrow("× V"), box("z"),
      el("div", { class: "part expanded" }, title, terms.node, sum),
    ),
    draw(result) {
      const { steps, used, inputs } = result;
      const labels = result.tokens.map(one => tokenText(t, one));
      for (const [name, map] of Object.entries(maps)) {
        const [chosen, square] = [inputs.step === name, SQUARE.includes(name)];
        shapes[name].replaceChildren("[", kit.out(`shape.${name}.0`, result.shapes[name][0], 0), " × ", kit.out(`shape.${name}.1`, result.shapes[name][1], 0), "]");
        map.draw({
          cells: steps[name], rows: labels, columns: square ? labels : steps[name][0].map((_, at) => String(at)),
          span: name === "weights" ? 1 : Math.max(...steps[name].flat().map(value => Math.abs(value ?? 0)), 1e-9),
          signed: name !== "weights", digits: square ? 2 : undefined,
          row: chosen ? used.row : undefined, column: chosen && square ? used.column : undefined,
        });
        map.node.parentElement.classList.toggle("chosen", chosen);
      }
      title.textContent = t("flow.expanded", { cell: name(kit, result) });
      const reach = Math.max(...result.terms.map(term => Math.abs(term.value)), Math.abs(result.rest), 1e-9);
      terms.draw([
        ...result.terms.map(({ at, value }) => ({ label: term(kit, result, at), key: `term.${at}`, value, share: value / reach, digits: 4 })),
        ...(result.others > 0 ? [{ label: pieces(t, "flow.rest", { count: kit.out("rest.count", result.others, 0) }), key: "rest", value: result.rest, share: result.rest / reach, digits: 4 }] : []),
      ]);
      sum.replaceChildren(measure(t("flow.sum"), kit.out("sum", result.sum, 4)), measure(t("flow.cell"), kit.out("cell", result.cell, 4), result.turned && ["q", "k"].includes(inputs.step) ? t("flow.turned") : null));
    },
    tables: result => {
      const labels = result.tokens.map(one => tokenText(t, one));
      return [
        { caption: t("flow.terms"), columns: [t("flow.term"), t("flow.value")], rows: result.terms.map(({ at, value }) => [term(kit, result, at), { key: `table.term.${at}`, value, digits: 5 }]) },
        ...SQUARE.map(name => matrixTable(t(`flow.step.${name}`), name, result.steps[name], labels, labels)),
      ];
    },
  };
}

export const flow = {
  controls: [
    { field: "sentence", kind: "text", blank: result => result.sentence },
    { field: "step", kind: "choice" },
    { field: "row", kind: "slider" },
    { field: "column", kind: "slider" },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
  ],
  build,
};

function token({ t, result }, at) {
  return tokenText(t, result().tokens[at]);
}

function name(kit, { inputs, used }) {
  return `${kit.t(`flow.letter.${inputs.step}`)}[${token(kit, used.row)}, ${SQUARE.includes(inputs.step) ? token(kit, used.column) : used.column}]`;
}

/** What one product of the sum is made of. */
function term(kit, { inputs, used, count }, at) {
  const { t } = kit;
  switch (inputs.step) {
    case "scores": return t("flow.term.scores", { at });
    case "weights": return t("flow.term.weights");
    case "z": return t("flow.term.z", { token: token(kit, at), column: used.column });
    default: return at === count - 1 ? t("flow.term.bias") : t("flow.term.project", { at });
  }
}
