/** The source read backwards. */

import { bars } from "../lib/bars.js";
import { el, svg } from "../lib/dom.js";
import { cited, measure, part } from "../lib/parts.js";
import { pieces } from "../lib/text.js";

const [LINE, BELOW, PAD] = [58, 42, 26]; // the line stands LINE from the top, with room for an arc
const WIDE = 640; // of the drawing until it is on the page
const NAMED = 22; // pixels between two words with room for their names

function build(kit) {
  const { t } = kit;
  const chain = svg("svg", { class: "chain", role: "img", "aria-label": t("reversal.chain") });
  const steps = bars(kit, { label: t("reversal.distances") });
  const facts = el("dl", { class: "measures" });
  const compared = el("div", { class: "compared" });
  new ResizeObserver(() => kit.result() && drawChain(kit, chain, kit.result())).observe(chain);
  return {
    node: el("div", { class: "reversal" }, part(t("reversal.chain"), chain), facts, part(t("reversal.distances"), steps.node), part(t("reversal.measured"), compared)),
    draw(result) {
      drawChain(kit, chain, result);
      facts.replaceChildren(
        measure(t("reversal.first"), steppedOut(kit, "first", result.first, 0)),
        measure(t("reversal.path"), steppedOut(kit, "path", result.path, 0)),
        measure(t("reversal.mean"), steppedOut(kit, "mean", result.mean, 1)),
      );
      steps.draw(result.distances.map((value, at) => ({ label: `x${at + 1} → y${at + 1}`, key: `distance.${at}`, value, share: value / result.longest, digits: 0, marked: at + 1 === result.used.word, pick: () => kit.set("word", at + 1) })));
      compared.replaceChildren(...["plain", "reversed"].map(way => measuredOf(kit, result, way)));
    },
    tables: result => [
      { caption: t("reversal.distances"), columns: [t("reversal.word-name"), t("reversal.steps")], rows: result.distances.map((value, at) => [`x${at + 1} → y${at + 1}`, { key: `table.distance.${at}`, value, digits: 0 }]) },
      { caption: t("reversal.measured"), columns: ["", t("reversal.perplexity"), "BLEU", t("reversal.gradient")], rows: ["plain", "reversed"].map(way => [t(`reversal.way.${way}`), { key: `table.perplexity.${way}`, value: result.measured[way].perplexity, digits: 3 }, { key: `table.bleu.${way}`, value: result.measured[way].bleu, digits: 2 }, { key: `table.gradient.${way}`, value: result.measured[way].gradient, digits: 5 }]) },
    ],
  };
}

export const reversal = {
  controls: [
    { field: "n", kind: "slider" },
    { field: "way", kind: "choice" },
    { field: "word", kind: "slider" },
    { field: "order", kind: "choice" },
  ],
  build,
};

/** What was measured of one model. */
function measuredOf(kit, { measured, paper }, way) {
  const { t, out } = kit;
  return el(
    "dl",
    { class: "measures" },
    measure(t(`reversal.perplexity-${way}`), out(`perplexity.${way}`, measured[way].perplexity, 2), published(kit, paper[way]?.perplexity)),
    measure(t(`reversal.bleu-${way}`), out(`bleu.${way}`, measured[way].bleu, 1), published(kit, paper[way]?.bleu)),
    measure(t(`reversal.gradient-${way}`), out(`gradient.${way}`, measured[way].gradient, 2)),
  );
}

/** A number of steps, or one step. */
function steppedOut(kit, key, value, digits) {
  return pieces(kit.t, value === 1 ? "reversal.counted-one" : "reversal.counted", { steps: kit.out(key, value, digits) });
}

/** The paper's number for the same, where it has one. */
function published(kit, value) {
  return value === undefined ? null : [kit.t("reversal.paper"), " ", cited(kit, value, "sutskever2014:section 3.3", 1)];
}

/** The chain of states, with the way of the chosen word drawn over it. */
function drawChain(kit, chain, { inputs, used }) {
  const { n, way } = inputs;
  const word = used.word;
  const source = way === "reversed" ? Array.from({ length: n }, (_, at) => n - at) : Array.from({ length: n }, (_, at) => at + 1);
  const names = [...source.map(at => `x${at}`), ...Array.from({ length: n }, (_, at) => `y${at + 1}`)];
  const wide = chain.clientWidth || WIDE;
  const gap = (wide - 2 * PAD) / (2 * n - 1);
  const [x, y] = [at => PAD + at * gap, LINE];
  chain.setAttribute("viewBox", `0 0 ${wide} ${LINE + BELOW}`);
  const [from, to] = [source.indexOf(word), n + word - 1];
  const size = Math.min(15, gap * 0.42);
  const path = way === "attention" ? `M ${x(from)} ${y - size} C ${x(from)} ${y - LINE}, ${x(to)} ${y - LINE}, ${x(to)} ${y - size}` : `M ${x(from)} ${y} H ${x(to)}`;
  const node = (name, at) => {
    const chosen = at === from || at === to;
    const passed = way !== "attention" && at > from && at < to;
    return [
      svg("circle", { class: `chain-node ${at < n ? "read" : "written"}${chosen ? " chosen" : ""}${passed ? " passed" : ""}`, cx: x(at), cy: y, r: size }),
      (chosen || gap >= NAMED) && svg("text", { class: "chain-name", x: x(at), y: y + size + 18, "text-anchor": gap >= NAMED ? "middle" : at === from ? "end" : "start", "font-size": 14 }, name),
    ];
  };
  chain.replaceChildren(
    svg("line", { class: "chain-line", x1: x(0), x2: x(2 * n - 1), y1: y, y2: y }),
    svg("path", { class: `chain-path${chain.dataset.path === path ? "" : " drawn"}`, d: path, fill: "none", pathLength: 1 }),
    ...names.flatMap(node).filter(Boolean),
  );
  chain.dataset.path = path;
}
