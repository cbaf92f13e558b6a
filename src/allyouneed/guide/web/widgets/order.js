/** Does the order of the inputs matter? */

import { bars } from "../lib/bars.js";
import { el } from "../lib/dom.js";
import { measure, part, told } from "../lib/parts.js";

function build(kit) {
  const { t } = kit;
  const given = el("div", { class: "orders" });
  const facts = el("dl", { class: "measures" });
  const groups = el("div", { class: "pair" });
  const made = el("p", { class: "hint" });
  return {
    node: el("div", { class: "order" }, part(t("order.given"), given), facts, part(t("order.perplexities"), groups, made)),
    draw(result) {
      const line = (numbers, key) => el("div", { class: "tokens" }, numbers.map((value, at) => el("span", { class: "token" }, kit.out(`${key}.${at}`, value, 2))));
      given.replaceChildren(...result.given.map((numbers, at) => el("div", { class: "given" }, el("p", { class: "caption" }, t(["order.one", "order.other"][at])), line(numbers, `given.${at}`), el("p", { class: "caption" }, t("order.sorted")), line(result.sorted[at], `sorted.${at}`))));
      facts.replaceChildren(
        measure(t("order.set"), kit.out("set", result.set, 6), t("order.set-more")),
        measure(t("order.sequence"), kit.out("sequence", result.sequence, 3), t("order.sequence-more")),
      );
      const found = Object.entries(result.perplexities);
      made.replaceChildren(...(result.made ? told(kit, "order.made", { updates: result.made.updates, seeds: result.made.seeds }) : [t("order.none")]));
      groups.replaceChildren(...found.map(([model, orders]) => group(kit, model, orders)));
    },
    tables: result => [
      { caption: t("order.given"), columns: [t("order.place"), ...[1, 2].flatMap(at => [t("order.nth", { at }), t("order.nth-sorted", { at })])], rows: result.given[0].map((_, place) => [String(place + 1), ...result.given.flatMap((numbers, at) => [{ key: `table.given.${at}.${place}`, value: numbers[place], digits: 2 }, { key: `table.sorted.${at}.${place}`, value: result.sorted[at][place], digits: 2 }])]) },
      { caption: t("order.differences"), columns: [t("order.reader"), t("order.difference")], rows: [[t("order.set"), { key: "table.set", value: result.set, digits: 8 }], [t("order.sequence"), { key: "table.sequence", value: result.sequence, digits: 6 }]] },
      ...Object.entries(result.perplexities).map(([model, orders]) => ({ caption: model, columns: [t("order.order-name"), t("order.perplexity")], rows: Object.entries(orders).map(([order, value]) => [t(`order.${order.replaceAll(" ", "-")}`), { key: `table.${model}.${order}`, value, digits: 2 }]) })),
    ],
  };
}

export const order = {
  controls: [
    { field: "numbers", kind: "text", blank: () => "0.62 0.11 0.87 0.35 0.5 0.93 0.2 0.74 0.05 0.41" },
    { field: "shuffle", kind: "draw" },
  ],
  build,
};

function group(kit, model, orders) {
  const list = bars(kit, { label: model });
  const most = Math.max(...Object.values(orders));
  list.draw(Object.entries(orders).map(([order, value]) => ({ label: kit.t(`order.${order.replaceAll(" ", "-")}`), key: `perplexity.${model}.${order}`, value, share: value / most, digits: 1, marked: order === "natural" })));
  return part(model, list.node);
}
