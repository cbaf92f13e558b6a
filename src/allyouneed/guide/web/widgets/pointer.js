/** A network that points at the corners of a hull. */

import { bars } from "../lib/bars.js";
import { el, freshId, svg } from "../lib/dom.js";
import { action, cited, measure, part, told } from "../lib/parts.js";
import { pieces } from "../lib/text.js";

const [SIZE, STEP, REACH] = [400, 0.05, 0.06];
const NAME = [17, 13]; // the room of a name, in the units of SIZE

function build(kit) {
  const { t } = kit;
  const help = freshId("help");
  const parts = {
    board: svg("svg", { class: "board", viewBox: `-10 -10 ${SIZE + 20} ${SIZE + 20}`, tabindex: 0, role: "application", "aria-label": t("pointer.board"), "aria-describedby": help }),
    said: el("p", { class: "reading", "aria-live": "polite" }),
    verdict: el("p", {}),
    chances: bars(kit, { label: t("pointer.chances") }),
    title: el("h3", {}),
    facts: el("dl", { class: "measures" }),
    papers: el("dl", { class: "measures" }),
    run: el("button", { type: "button", class: "play" }, t("pointer.run")),
    buttons: el("div", { class: "buttons" }),
    cursor: null,
    timer: null,
  };
  const random = action(kit, "seed", t("pointer.random"), () => kit.put({ points: "", seed: (kit.inputs().seed + 1) % 10000, step: 1 }));
  parts.buttons.append(parts.run, random);
  parts.run.addEventListener("click", () => run(kit, parts));
  listen(kit, parts);
  return {
    node: el(
      "div",
      { class: "pointer" },
      el("div", { class: "pair" }, el("div", { class: "part" }, parts.board, parts.buttons, el("p", { class: "hint", id: help }, t("pointer.help")), parts.said), el("div", { class: "part" }, parts.title, parts.chances.node, parts.verdict)),
      parts.facts,
      part(t("pointer.papers"), parts.papers),
    ),
    draw: result => draw(kit, result, parts),
    tables: result => [
      { caption: t("pointer.points"), columns: [t("pointer.point"), "x", "y", t("pointer.chance")], rows: result.points.map(([x, y], at) => [String(at + 1), { key: `table.x.${at}`, value: x, digits: 3 }, { key: `table.y.${at}`, value: y, digits: 3 }, { key: `table.chance.${at}`, value: result.chances[at], digits: 4 }]) },
    ],
  };
}

export const pointer = {
  controls: [
    { field: "network", kind: "choice" },
    { field: "step", kind: "slider" },
    { field: "n", kind: "slider", when: inputs => !inputs.points },
    { field: "shuffle", kind: "onoff" },
    { field: "trial", kind: "onoff" },
  ],
  build,
};

function text(points) {
  return points.map(point => point.map(part => Number(part.toFixed(3))).join(",")).join(" ");
}

/** Sends other points; a figure with fewer than three says so itself. */
function send(kit, points) {
  kit.put({ points: text(points), step: 1, shuffle: false });
}

/** Step by step to the end; at once where the reader wants no motion. */
function run(kit, parts) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return kit.set("step", kit.result().limits.step);
  const beat = () => {
    const { used, limits, inputs } = kit.result();
    if (used.step >= limits.step || !parts.run.isConnected) return clearInterval(parts.timer);
    if (inputs.step === kit.inputs().step) kit.set("step", used.step + 1); // otherwise its numbers are on their way
    return undefined;
  };
  clearInterval(parts.timer);
  kit.set("step", 1);
  parts.timer = setInterval(beat, 600);
  return undefined;
}

function nearest(points, place) {
  const far = ([x, y]) => Math.hypot(x - place[0], y - place[1]);
  const at = points.reduce((best, point, index) => (far(point) < far(points[best]) ? index : best), 0);
  return points.length && far(points[at]) < REACH ? at : -1;
}

/** Points are added, moved and removed by pointer; by keys a cursor moves, Space adds, Delete removes, Enter runs. */
function listen(kit, parts) {
  const points = () => kit.result().points.map(point => [...point]);
  const clamp = value => Math.min(Math.max(value, 0), 1);
  const place = event => {
    const matrix = parts.board.getScreenCTM().inverse();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    return [clamp(at.x / SIZE), clamp(1 - at.y / SIZE)];
  };
  let held = -1;
  parts.board.addEventListener("pointerdown", event => {
    if (kit.result()) held = nearest(points(), place(event));
  });
  parts.board.addEventListener("pointerup", event => {
    if (!kit.result() || event.button) return;
    const [all, to] = [points(), place(event)];
    if (held < 0) send(kit, [...all, to]);
    else if (nearest([all[held]], to) === 0) kit.set("step", kit.result().used.step);
    else send(kit, all.map((point, at) => (at === held ? to : point)));
    held = -1;
  });
  parts.board.addEventListener("dblclick", event => {
    const at = nearest(points(), place(event));
    if (at >= 0) send(kit, points().filter((_, other) => other !== at));
  });
  parts.board.addEventListener("keydown", event => {
    if (!kit.result()) return;
    parts.cursor ??= [0.5, 0.5];
    const move = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }[event.key];
    const at = nearest(points(), parts.cursor);
    if (move) parts.cursor = parts.cursor.map((part, axis) => clamp(part + move[axis]));
    else if (event.key === " ") send(kit, [...points(), parts.cursor]);
    else if (event.key === "Delete" || event.key === "Backspace") at >= 0 && send(kit, points().filter((_, other) => other !== at));
    else if (event.key === "Enter") parts.run.click();
    else if (event.key === "Escape") parts.board.blur();
    else return;
    event.preventDefault();
    drawCursor(kit, parts);
  });
}

/** The points whose names have room beside them: where two would lie on each other, the first in `order` has its. */
function withRoom(points, order) {
  const named = new Set();
  const apart = (index, other) => points[index].some((part, axis) => Math.abs(part - points[other][axis]) * SIZE > NAME[axis]);
  for (const index of order) if ([...named].every(other => other === index || apart(index, other))) named.add(index);
  return named;
}

function drawCursor(kit, parts) {
  parts.board.querySelector(".board-cursor")?.remove();
  if (!parts.cursor) return;
  const [x, y] = [parts.cursor[0] * SIZE, (1 - parts.cursor[1]) * SIZE];
  parts.board.append(svg("path", { class: "board-cursor", d: `M ${x - 9} ${y} H ${x + 9} M ${x} ${y - 9} V ${y + 9}` }));
  parts.said.replaceChildren(...pieces(kit.t, "pointer.cursor", { x: kit.out("cursor.x", parts.cursor[0], 2), y: kit.out("cursor.y", parts.cursor[1], 2) }));
}

function draw(kit, result, parts) {
  const { t, out } = kit;
  const { points, indices, chances, used, hull } = result;
  const at = index => `${points[index][0] * SIZE} ${(1 - points[index][1]) * SIZE}`;
  const made = indices.slice(0, used.step);
  const closed = used.step > indices.length;
  const names = withRoom(points, [...hull, ...points.keys()]);
  parts.board.replaceChildren(
    svg("rect", { class: "board-paper", x: 0, y: 0, width: SIZE, height: SIZE }),
    svg("path", { class: "board-hull", d: `M ${hull.map(at).join(" L ")} Z`, fill: "none" }),
    ...(made.length ? [svg("path", { class: "board-made", d: `M ${made.map(at).join(" L ")}${closed ? " Z" : ""}`, fill: "none" })] : []),
    ...points.flatMap((point, index) => {
      const [x, y] = [point[0] * SIZE, (1 - point[1]) * SIZE];
      return [
        svg("circle", { class: "board-halo", cx: x, cy: y, r: 6 + 26 * Math.sqrt(chances[index]), "fill-opacity": 0.12 + 0.4 * chances[index] }),
        svg("circle", { class: `board-point${made.includes(index) ? " made" : ""}`, cx: x, cy: y, r: 5 }),
        ...(names.has(index) ? [svg("text", { class: "board-name", x: x + 8, y: y - 7, "font-size": 13 }, String(index + 1))] : []),
      ];
    }),
  );
  drawCursor(kit, parts);
  parts.title.replaceChildren(...told(kit, "pointer.step-name", { step: used.step }));
  const order = chances.map((_, index) => index).sort((a, b) => chances[b] - chances[a]).slice(0, 8);
  const chosen = indices[used.step - 1] ?? points.length;
  parts.chances.draw(order.map(index => ({ label: index === points.length ? t("pointer.end") : t("pointer.number", { number: index + 1 }), key: `chance.${index}`, value: chances[index], share: chances[index], digits: 3, marked: index === chosen })));
  parts.verdict.className = result.exact ? "holds" : "fails";
  parts.verdict.textContent = t(result.exact ? "pointer.right" : result.valid ? "pointer.wrong" : "pointer.crossed");
  parts.facts.replaceChildren(
    measure(t("pointer.area"), el("span", {}, out("area", result.area, 1), "%")),
    measure(t("pointer.count"), out("count", result.count, 0)),
    measure(t("pointer.sum"), out("sum", result.sum, 3)),
    ...(result.trial ? [measure(t("pointer.exact"), el("span", {}, out("trial.exact", result.trial.exact, 0), "%"), told(kit, "pointer.tried", { count: result.tried })), measure(t("pointer.mean-area"), el("span", {}, out("trial.area", result.trial.area, 1), "%"))] : []),
  );
  parts.papers.replaceChildren(...result.cited.map(({ network, value, source }) => measure(t(`pointer.network.${network}`), el("span", {}, cited(kit, value, source, 1), "%"))));
}
