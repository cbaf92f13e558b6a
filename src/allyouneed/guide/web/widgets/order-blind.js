/** Two orders of the same words, with positions and without. */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { measure, part } from "../lib/parts.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const orders = el("div", { class: "orders" });
  const differences = bars(kit, { label: t("order-blind.differences") });
  const verdict = el("p", {});
  const facts = el("dl", { class: "measures" });
  return {
    node: el("div", { class: "order-blind" }, orders, part(t("order-blind.differences"), differences.node, verdict), facts),
    draw(result) {
      orders.replaceChildren(...[result.tokens, result.others].map(row => el("div", { class: "tokens" }, row.map(token => tokenChip(t, token)))));
      const reach = Math.max(result.with, 1e-9);
      differences.draw(
        result.tokens.map((token, at) => ({ label: tokenText(t, token), key: `difference.${at}`, value: result.differences[at], share: result.differences[at] / reach, digits: 3, marked: true })),
      );
      verdict.className = result.largest < 1e-4 ? "holds" : "fails";
      verdict.textContent = t(result.largest < 1e-4 ? "order-blind.same" : "order-blind.differ");
      facts.replaceChildren(
        measure(t("order-blind.without"), kit.out("without", result.without, 3)),
        measure(t("order-blind.with"), kit.out("with", result.with, 3)),
      );
    },
    tables: result => [
      {
        caption: t("order-blind.differences"),
        columns: [t("order-blind.token"), t("order-blind.difference")],
        rows: result.tokens.map((token, at) => [tokenText(t, token), { key: `table.difference.${at}`, value: result.differences[at], digits: 6 }]),
      },
    ],
  };
}

export const orderBlind = {
  controls: [
    { field: "first", kind: "text", blank: () => "cat fat" },
    { field: "second", kind: "text", blank: () => "fat cat" },
    { field: "positions", kind: "onoff" },
  ],
  build,
};
