/** A page of one figure, with the answers that came along. */

import { BakedModel } from "./lib/model.js";
import { watchTheme } from "./lib/scheme.js";
import { render } from "./render.js";

const { state, baked } = JSON.parse(document.getElementById("data").textContent);
const { body, documentElement: root } = document;
const figure = document.querySelector("figure");

/** Takes over the theme of the notebook, by what the style sheet knows it by. */
function dress(notebook) {
  body.className = notebook.className;
  Object.assign(body.dataset, notebook.dataset);
  root.style.colorScheme = "";
  root.style.colorScheme = getComputedStyle(figure).colorScheme;
  dispatchEvent(new Event("aun-theme"));
}

// In a frame of the same origin the page is dressed as the notebook around it, and the frame becomes as high as the
// figure, so that nothing scrolls inside it.
if (frameElement) {
  const notebook = frameElement.ownerDocument.body;
  dress(notebook);
  watchTheme(notebook, () => dress(notebook));
  // VS Code scrolls by the turns of the wheel that it hears of, and of those in a frame it hears nothing.
  addEventListener("wheel", event => frameElement.dispatchEvent(new WheelEvent("wheel", event)), { passive: true });
  new ResizeObserver(() => (frameElement.style.height = `${body.offsetHeight}px`)).observe(body);
}
render({ model: new BakedModel(state, baked), el: figure });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("aun-theme")));
