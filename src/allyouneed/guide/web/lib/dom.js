/** Small builders for elements. Text only ever goes in as text. */

export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "vars") for (const [key, size] of Object.entries(value)) node.style.setProperty(key, size);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter(child => child != null && child !== false));
  return node;
}

/** Has a node the keyboard? Some notebooks keep an output in a tree of its own, whose focus the document does not name. */
export function focused(node) {
  return node.getRootNode().activeElement === node;
}

const COUNT = Symbol.for("aun-count");

/** An id that no other element of the page has. In a notebook each output has a module of its own: all count together. */
export function freshId(stem) {
  globalThis[COUNT] = (globalThis[COUNT] ?? 0) + 1;
  return `aun-${stem}-${globalThis[COUNT]}`;
}
