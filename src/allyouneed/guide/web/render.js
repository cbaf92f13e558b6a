/** Draws the figure that the model names. */

import { frame } from "./lib/figure.js";
import { alignment } from "./widgets/alignment.js";
import { attention } from "./widgets/attention.js";
import { bottleneck } from "./widgets/bottleneck.js";
import { causalMask } from "./widgets/causal-mask.js";
import { code } from "./widgets/code.js";
import { cost } from "./widgets/cost.js";
import { crossAttention } from "./widgets/cross-attention.js";
import { encoderLayer } from "./widgets/encoder-layer.js";
import { families } from "./widgets/families.js";
import { flow } from "./widgets/flow.js";
import { heads } from "./widgets/heads.js";
import { lengthQuality } from "./widgets/length-quality.js";
import { library } from "./widgets/library.js";
import { lookup } from "./widgets/lookup.js";
import { meme } from "./widgets/meme.js";
import { memory } from "./widgets/memory.js";
import { order } from "./widgets/order.js";
import { orderBlind } from "./widgets/order-blind.js";
import { pathLength } from "./widgets/path-length.js";
import { pointer } from "./widgets/pointer.js";
import { positions } from "./widgets/positions.js";
import { results } from "./widgets/results.js";
import { reversal } from "./widgets/reversal.js";
import { scaling } from "./widgets/scaling.js";
import { selfAttention } from "./widgets/self-attention.js";
import { sentences } from "./widgets/sentences.js";

const WIDGETS = {
  alignment,
  attention, // of a sentence that was looked at in Python: no figure of the guide
  bottleneck,
  "causal-mask": causalMask,
  code,
  cost,
  "cross-attention": crossAttention,
  "encoder-layer": encoderLayer,
  families,
  flow,
  heads,
  "length-quality": lengthQuality,
  library,
  lookup,
  meme,
  memory,
  order,
  "order-blind": orderBlind,
  "path-length": pathLength,
  pointer,
  positions,
  results,
  reversal,
  scaling,
  "self-attention": selfAttention,
  sentences,
  matrix: selfAttention, // the same figure on another sentence
  block: encoderLayer, // and this one as the block is built today
};

export function render({ model, el }) {
  const host = el.tagName === "FIGURE" ? el : el.appendChild(document.createElement("figure"));
  // A notebook would take the arrow keys for itself; Escape is its way out of a cell.
  host.addEventListener("keydown", event => event.key !== "Escape" && event.stopPropagation());
  return frame({ model, host, widget: WIDGETS[model.get("name")] });
}
