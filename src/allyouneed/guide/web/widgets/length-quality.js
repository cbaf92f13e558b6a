/** How well a translation is as its source grows. */

import { el } from "../lib/dom.js";
import { action, cited, measure, part, told } from "../lib/parts.js";
import { plot } from "../lib/plot.js";

const KINDS = ["vector", "search"];
const LINES = { vector: 1, search: 0 };
const SOURCE = "bahdanau2015:table 1";

function build(kit) {
  const { t } = kit;
  const parts = {
    curve: plot(kit, { label: t("length-quality.curve"), hint: t("length-quality.hint"), key: "quality", name: t("length-quality.words") }),
    facts: el("dl", { class: "measures" }),
    paper: el("p", { class: "hint" }),
    runner: runner(kit),
  };
  return {
    node: el("div", { class: "length-quality" }, parts.runner.node, part(t("length-quality.curve"), parts.curve.node, parts.paper, parts.facts, el("p", { class: "hint" }, t("length-quality.note")))),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const lengthQuality = {
  controls: [
    { field: "metric", kind: "choice" },
    { field: "sentences", kind: "slider" },
    { field: "paper", kind: "onoff", when: inputs => inputs.metric === "bleu" },
  ],
  build,
};

/** Translates other sentences, one length after another. It can be stopped, and then what was there comes back. */
function runner(kit) {
  const { t } = kit;
  const button = action(kit, "seed", t("length-quality.seed"), () => (before ? stop(before) : start()), { data: { field: "seed" } });
  const bar = el("progress", { "aria-label": t("length-quality.progress-name") });
  const line = el("span", { class: "hint" });
  const status = el("span", { class: "run-progress", role: "status", hidden: true }, bar, line);
  let before = null; // the inputs to return to while it runs
  const start = () => {
    before = kit.inputs();
    button.textContent = t("length-quality.stop");
    status.hidden = false;
    kit.put({ seed: before.seed + 1, bins: 1 });
  };
  const stop = inputs => {
    before = null;
    button.textContent = t("length-quality.seed");
    status.hidden = true;
    if (inputs) kit.put(inputs);
  };
  return {
    node: el("div", { class: "runner" }, button, status),
    follow({ progress }) {
      if (!before) return;
      [bar.max, bar.value] = [progress.all, progress.done];
      line.replaceChildren(...told(kit, "length-quality.progress", progress));
      if (progress.done < progress.all) kit.set("bins", progress.done + 1);
      else stop();
    },
  };
}

function draw(kit, result, { curve, facts, paper, runner }) {
  const { t, out } = kit;
  const name = kind => t(`length-quality.${kind}`);
  const published = KINDS.map(kind => result.paper[kind]).filter(Boolean);
  curve.draw({
    xs: result.lengths, series: KINDS.map(kind => ({ name: name(kind), values: result.curves[kind], line: LINES[kind] })), low: 0, high: 100, digits: 1, ticks: result.lengths,
    levels: published.map(({ bleu }) => bleu),
  });
  paper.replaceChildren(...(published.length ? [t("length-quality.published"), " ", ...published.flatMap(({ name, bleu }) => [`${name} `, cited(kit, bleu, SOURCE, 2), " "])] : []));
  facts.replaceChildren(...KINDS.flatMap(kind => Object.entries(result.extremes[kind]).map(([which, value]) => measure(t(`length-quality.${which}`, { model: name(kind) }), out(`${which}.${kind}`, value, 1)))));
  runner.follow(result);
}

function tables({ t }, result) {
  return [
    {
      caption: t("length-quality.curve"),
      columns: [t("length-quality.words"), t("length-quality.count"), ...KINDS.map(kind => t(`length-quality.${kind}`))],
      rows: result.lengths.map((length, at) => [String(length), { key: `table.count.${at}`, value: result.counts[at], digits: 0 }, ...KINDS.map(kind => (result.curves[kind][at] === null ? "–" : { key: `table.${kind}.${at}`, value: result.curves[kind][at], digits: 2 }))]),
    },
  ];
}
