/** A button that goes through the steps of a figure by itself, and stops. */

import { el } from "./dom.js";

const BEAT = 800; // milliseconds a step

/** It moves the input `step`, and is hidden where the reader wants no motion; the step slider stays. */
export function player(kit) {
  const button = el("button", { type: "button", class: "play", "aria-pressed": "false" }, kit.t("frame.play"));
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.setAttribute("aria-pressed", "false");
    button.textContent = kit.t("frame.play");
  };
  const beat = () => {
    const { used, limits, inputs } = kit.result();
    if (used.step >= limits.step || !button.isConnected) stop();
    else if (inputs.step === kit.inputs().step) kit.set("step", used.step + 1); // otherwise its numbers are on their way
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    if (!kit.result()) return undefined;
    if (kit.result().used.step >= kit.result().limits.step) kit.set("step", 1);
    timer = setInterval(beat, BEAT);
    button.setAttribute("aria-pressed", "true");
    button.textContent = kit.t("frame.stop");
    return undefined;
  });
  return button;
}
