/** The one front-end module that a notebook and the page share: it draws the figure that the model names. */

import { frame } from "./lib/figure.js";
import { causalMask } from "./widgets/causal-mask.js";
import { crossAttention } from "./widgets/cross-attention.js";
import { lookup } from "./widgets/lookup.js";
import { scaling } from "./widgets/scaling.js";
import { selfAttention } from "./widgets/self-attention.js";
import { sentences } from "./widgets/sentences.js";

const WIDGETS = { sentences, scaling, lookup, "self-attention": selfAttention, "causal-mask": causalMask, "cross-attention": crossAttention };

function render({ model, el }) {
  const host = el.tagName === "FIGURE" ? el : el.appendChild(document.createElement("figure"));
  // A notebook would take the arrow keys for itself; Escape is its way out of a cell.
  host.addEventListener("keydown", event => event.key !== "Escape" && event.stopPropagation());
  return frame({ model, host, widget: WIDGETS[model.get("name")] });
}

export default { render };
