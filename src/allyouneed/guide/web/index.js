/** The front-end module of a notebook. */

import { render } from "./render.js";

export default { render };
