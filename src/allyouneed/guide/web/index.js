/** The front-end module of a notebook. */

import { watchTheme } from "./lib/scheme.js";
import { render } from "./render.js";

let watching = false;

function renderHere(given) {
  if (!watching) watchTheme(document.body, () => dispatchEvent(new Event("aun-theme"))); // canvases are drawn anew
  watching = true;
  return render(given);
}

export default { render: renderHere };
