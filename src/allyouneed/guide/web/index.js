/** The front-end module of a notebook. */

import { render } from "./render.js";

// By these a notebook says which theme it has.
const THEME = { attributeFilter: ["class", "data-jp-theme-light", "data-vscode-theme-kind"] };
let watching = false;

function renderHere(given) {
  if (!watching) new MutationObserver(() => dispatchEvent(new Event("aun-theme"))).observe(document.body, THEME); // canvases are drawn anew
  watching = true;
  return render(given);
}

export default { render: renderHere };
