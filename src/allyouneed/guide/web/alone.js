/** A page of one figure, with the answers that came along. */

import { BakedModel } from "./lib/model.js";
import { render } from "./render.js";

const { state, baked } = JSON.parse(document.getElementById("data").textContent);
const model = new BakedModel(state, baked);
render({ model, el: document.querySelector("figure") });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("aun-theme")));

// In a frame of the same origin the frame becomes as high as the figure, so that nothing scrolls inside it.
const { body } = document;
if (frameElement) new ResizeObserver(() => (frameElement.style.height = `${body.offsetHeight}px`)).observe(body);
