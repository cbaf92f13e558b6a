/** Sentences and their probabilities, and the steps that one of them is the product of. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { action, measure, part } from "../lib/parts.js";
import { picks } from "../lib/picks.js";
import { swap } from "../lib/swap.js";
import { pieces } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

const DIGITS = { p: 3, log2: 1, perplexity: 1 };

function build(kit) {
  const { t } = kit;
  const parts = {
    bars: bars(kit, { label: t("sentences.bars") }),
    axis: el("div", { class: "axis" }),
    axisName: el("p", { class: "hint" }),
    reason: el("p", { class: "reason", "aria-live": "polite" }),
    steps: el("p", { class: "hint" }),
    top: bars(kit, { label: t("sentences.top") }),
    place: el("h3", {}),
    rank: el("p", { class: "hint" }),
    totals: el("dl", { class: "measures" }),
    foreign: el("p", { class: "hint" }, t("sentences.foreign")),
  };
  const show = at => kit.result() && alternatives(kit, parts, at ?? kit.result().used.token - 1);
  const rewrite = words => {
    const { inputs, used } = kit.result();
    const lines = inputs.sentences.split("\n");
    lines[used.selected - 1] = words.join(" ");
    kit.put({ sentences: lines.join("\n"), token: 0 });
  };
  const stretch = () => kit.put({ sentences: kit.result().apart.join("\n"), selected: 1, token: 0 });
  const speak = () => {
    const { sentences, reader } = kit.result().other;
    kit.put({ sentences: sentences.join("\n"), reader, selected: 1, token: 0 });
  };
  parts.other = action(kit, "sentences", "", speak, { class: "speak" });
  parts.words = swap(kit, { label: t("sentences.swap"), field: "sentences", swapped: rewrite });
  parts.tokens = picks(kit, { label: t("sentences.steps"), pick: at => kit.set("token", at + 1), look: show });
  return {
    node: el(
      "div",
      { class: "sentences" },
      part(t("sentences.bars"), parts.bars.node, parts.axis, parts.axisName, parts.reason),
      part(t("sentences.swap"), parts.words.node, el("p", { class: "hint" }, t("sentences.swap-help")), el("div", { class: "buttons" }, action(kit, "sentences", t("sentences.stretch"), stretch, { class: "stretch" }), parts.other), parts.foreign),
      part(t("sentences.steps"), parts.tokens.node, parts.steps),
      el("div", { class: "part" }, parts.place, parts.top.node, parts.rank),
      parts.totals,
    ),
    draw: result => draw(kit, result, parts),
    tables: result => tables(kit, result),
  };
}

export const sentences = {
  controls: [
    { field: "sentences", kind: "lines" },
    { field: "unit", kind: "choice" },
    { field: "reader", kind: "choice" },
    { field: "order", kind: "slider", when: inputs => inputs.reader === "counts" },
  ],
  build,
};

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { unit } = result.inputs;
  const { selected, token } = result.used;
  parts.bars.draw(
    result.lines.map(({ text, value, share }, at) => ({
      label: text,
      key: `sentence.${at}`,
      value,
      share,
      digits: DIGITS[unit],
      marked: at === selected - 1,
      pick: () => kit.put({ selected: at + 1, token: 0 }),
      look: () => reason(kit, parts, at),
    })),
  );
  parts.axis.replaceChildren(...result.ticks.map((value, at) => out(`tick.${at}`, value, 0)));
  parts.axisName.textContent = t(`sentences.axis.${unit}`);
  parts.words.draw(result.lines[selected - 1].text);
  parts.other.textContent = t(`sentences.examples-${result.other.language}`);
  parts.foreign.hidden = !result.foreign;
  parts.steps.textContent = t(`sentences.notes.${unit}`);
  reason(kit, parts, selected - 1);
  parts.tokens.draw(
    result.steps.map((step, at) => ({
      token: "kind" in step ? step : { text: "", kind: "next" },
      share: step.surprise ?? 0,
      notes: "kind" in step ? [out(`step.${at}`, step.value, DIGITS[unit]), out(`running.${at}`, step.running, DIGITS[unit])] : [],
    })),
    token - 1,
  );
  alternatives(kit, parts, token - 1);
  parts.totals.replaceChildren(
    measure(t("sentences.unit.p"), out("total.p", result.total.p, 3)),
    measure(t("sentences.unit.log2"), out("total.log2", result.total.log2, 1)),
    measure(t("sentences.unit.perplexity"), out("total.perplexity", result.total.perplexity, 1)),
    measure(t("sentences.count"), out("total.tokens", result.total.tokens, 0)),
  );
}

/** Why a sentence has no more than it has: its least likely step. */
function reason({ t, out, result }, parts, at) {
  const { token, before, p, bits } = result().lines[at].reason;
  parts.reason.replaceChildren(
    ...pieces(t, "sentences.reason", {
      token: tokenChip(t, token),
      before: tokenChip(t, before),
      p: out("reason.p", p, 3),
      bits: out("reason.bits", bits, 1),
    }),
  );
}

/** What could stand at one place of the selected sentence, and how far down the list the token is that does. */
function alternatives({ t, out, result }, parts, at) {
  const step = result().steps[at];
  parts.place.replaceChildren(...pieces(t, step.before ? "sentences.after" : "sentences.first", { before: el("q", {}, step.before) }));
  const here = token => token.text === step.text && token.kind === step.kind;
  const row = ({ p, share, ...token }, key) => ({ label: tokenChip(t, token), key, value: p, share, digits: 3, marked: here(token) });
  parts.top.draw([
    ...step.top.map((token, place) => row(token, `top.${place}`)),
    ...(step.rank > step.top.length ? [row(step, "top.here")] : []),
  ]);
  const rank = () => pieces(t, "sentences.rank", { token: tokenChip(t, step), rank: out("rank", step.rank, 0) });
  parts.rank.replaceChildren(...("rank" in step ? rank() : []));
}

function tables({ t }, result) {
  const unit = t(`sentences.unit.${result.inputs.unit}`);
  const digits = DIGITS[result.inputs.unit];
  const steps = result.steps.filter(step => "kind" in step);
  return [
    {
      caption: t("sentences.bars"),
      columns: [t("sentences.sentence"), unit, t("sentences.cheapest"), t("sentences.unit.p")],
      rows: result.lines.map(({ text, value, reason }, at) => [
        text,
        { key: `table.sentence.${at}`, value, digits },
        tokenText(t, reason.token),
        { key: `table.reason.${at}`, value: reason.p, digits: 4 },
      ]),
    },
    {
      caption: t("sentences.steps"),
      columns: [t("sentences.token-name"), unit, t("sentences.running"), t("sentences.rank-name")],
      rows: steps.map((step, at) => [
        tokenText(t, step),
        { key: `table.step.${at}`, value: step.value, digits },
        { key: `table.running.${at}`, value: step.running, digits },
        { key: `table.rank.${at}`, value: step.rank, digits: 0 },
      ]),
    },
    {
      caption: t("sentences.top"),
      columns: [t("sentences.token-name"), t("sentences.unit.p")],
      rows: result.steps[result.used.token - 1].top.map(({ p, ...token }, at) => [tokenText(t, token), { key: `table.top.${at}`, value: p, digits: 4 }]),
    },
  ];
}
