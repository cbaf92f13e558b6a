/** The block that repeats, from below, with the size of what flows. */

import { el } from "../lib/dom.js";
import { heatmap } from "../lib/heatmap.js";
import { measure, part } from "../lib/parts.js";
import { keepFocus, walk } from "../lib/picks.js";
import { plot } from "../lib/plot.js";
import { pieces } from "../lib/text.js";
import { tokenText } from "../lib/tokens.js";

const FRESH = inputs => inputs.block !== "model";

function build(kit) {
  const { t } = kit;
  const parts = {
    column: el("div", { class: "block-column", role: "group", "aria-label": t("encoder-layer.boxes") }),
    times: el("p", { class: "block-times" }),
    facts: el("dl", { class: "measures" }),
    title: el("h3", {}),
    map: heatmap(kit, {
      label: t("encoder-layer.tensor"), hint: t("encoder-layer.tensor-help"), key: "cell", precision: 3, height: 16,
      reading: (r, c) => t("encoder-layer.cell", { token: tokenText(t, kit.result().tokens[r]), number: c }),
    }),
    curve: plot(kit, { label: t("encoder-layer.gradients"), hint: t("encoder-layer.gradients-help"), key: "gradient", name: t("encoder-layer.layer-name"), height: 160 }),
  };
  parts.grown = part(t("encoder-layer.gradients"), parts.curve.node);
  parts.column.addEventListener("keydown", event => walk([...parts.column.querySelectorAll("button")], event, { ArrowUp: -1, ArrowDown: 1 }));
  return {
    node: el(
      "div",
      { class: "encoder-layer" },
      el("div", { class: "block" }, el("div", {}, parts.column, parts.times), el("div", { class: "block-side" }, el("div", { class: "part" }, parts.title, parts.map.node), parts.facts)),
      parts.grown,
    ),
    draw: result => draw(kit, result, parts),
    tables: result => [
      {
        caption: t("encoder-layer.boxes"),
        columns: [t("encoder-layer.box"), t("encoder-layer.size"), t("encoder-layer.share")],
        rows: result.boxes.map((box, at) => [boxName(kit, result, box), { key: `table.size.${at}`, value: box.size, digits: 3 }, box.share === undefined ? "" : { key: `table.share.${at}`, value: box.share, digits: 3 }]),
      },
      {
        caption: t("encoder-layer.gradients"),
        columns: [t("encoder-layer.layer-name"), t("encoder-layer.block.post"), t("encoder-layer.block.pre")],
        rows: result.gradients.post.map((value, at) => [String(at), { key: `table.post.${at}`, value, digits: 5 }, { key: `table.pre.${at}`, value: result.gradients.pre[at], digits: 5 }]),
      },
    ],
  };
}

export const encoderLayer = {
  controls: [
    { field: "block", kind: "choice" },
    { field: "activation", kind: "choice", when: FRESH },
    { field: "layers", kind: "slider", when: FRESH },
    { field: "layer", kind: "slider" },
    { field: "sentence", kind: "text", blank: result => result.sentence },
  ],
  build,
};

/** What the loaded model loses without the chosen box. */
function missed({ t, out }, { loss }) {
  if (!loss) return [];
  return [
    measure(t("encoder-layer.loss"), out("loss.whole", loss.whole, 2), t("encoder-layer.loss-more")),
    measure(t("encoder-layer.loss-without"), out("loss.without", loss.without, 2), t("encoder-layer.loss-without-more")),
  ];
}

/** Which boxes the way around passes by: from the first of a sub-layer to its sum, a norm after the sum left out. */
function passes(boxes, at) {
  const to = boxes.findIndex((box, place) => place >= at && box.kind === "add");
  const from = boxes.findLastIndex((box, place) => place < to && box.kind === "add") + 1;
  const first = boxes[from].kind === "norm" && boxes[0].kind !== "norm" ? from + 1 : from;
  if (to < 0 || at < first) return "";
  if (at === to) return " joins";
  return at === first ? " leaves passed" : " passed";
}

function boxName({ t }, { norm, activation }, { kind }) {
  if (kind === "norm") return t(`encoder-layer.norm.${norm}`);
  return kind === "ffn" ? t("encoder-layer.ffn", { activation: t(`encoder-layer.activation.${activation}`) }) : t(`encoder-layer.kind.${kind}`);
}

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { boxes, used, widths, shape, entering } = result;
  const sized = (key, value) => el("span", { class: "flow-size" }, "‖x‖ ", out(key, value, 2));
  const box = (one, at) =>
    el(
      "button",
      { type: "button", class: `block-box${passes(boxes, at)}`, data: { kind: one.kind }, "aria-pressed": String(at + 1 === used.box), tabindex: at + 1 === used.box ? 0 : -1, on: { click: () => kit.set("box", at + 1) } },
      el("span", { class: "block-name" }, boxName(kit, result, one)),
      one.kind === "ffn" && el("span", { class: "block-widths" }, out("width.in", widths.d_model, 0), " → ", out("width.inner", widths.d_ff, 0), " → ", out("width.out", widths.d_model, 0)),
      one.share !== undefined && el("span", { class: "block-widths" }, pieces(t, "encoder-layer.share-is", { share: out(`share.${at}`, one.share, 2) })),
      sized(`size.${at}`, one.size),
      passes(boxes, at) && el("span", { class: "block-way", "aria-hidden": "true" }),
    );
  keepFocus(parts.column, () =>
    parts.column.replaceChildren(
      ...boxes.map((one, at) => box(one, at)).reverse(),
      el("div", { class: "block-entry" }, t("encoder-layer.entry"), " ", sized("size.entry", entering)),
    ),
  );
  parts.times.replaceChildren("× ", out("layers", widths.layers, 0));
  const chosen = boxes[used.box - 1];
  parts.title.replaceChildren(boxName(kit, result, chosen), " ", el("span", { class: "shape" }, "[", out("shape.0", shape[0], 0), " × ", out("shape.1", shape[1], 0), "]"));
  parts.map.draw({
    cells: result.cells, rows: result.tokens.map(token => tokenText(t, token)), columns: result.cells[0].map((_, at) => String(at)),
    span: Math.max(...result.cells.flat().map(Math.abs), 1e-9), signed: true,
  });
  parts.facts.replaceChildren(
    ...missed(kit, result),
    measure(t("encoder-layer.placement"), t(`encoder-layer.placement.${result.placement}`)),
    measure(t("encoder-layer.width"), out("width", widths.d_model, 0)),
    measure(t("encoder-layer.heads"), out("heads", widths.heads, 0)),
  );
  parts.grown.hidden = !FRESH(result.inputs);
  parts.curve.draw({
    xs: result.gradients.post.map((_, at) => at),
    series: ["post", "pre"].map(name => ({ name: t(`encoder-layer.block.${name}`), values: result.gradients[name] })),
    low: 0, digits: 4,
  });
}
