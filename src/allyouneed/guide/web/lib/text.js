/** Texts by key, and numbers as a language writes them. */

export function translator(strings) {
  return (key, params = {}) => (strings[key] ?? key).replace(/\{(\w+)\}/g, (place, name) => params[name] ?? place);
}

/** A text whose places are filled with elements: -> the pieces, in order. */
export function pieces(t, key, nodes) {
  return t(key).split(/\{(\w+)\}/).map((part, at) => (at % 2 ? nodes[part].cloneNode(true) : part));
}

/** The label of an input: the figure's own word for it, the common one, or its name. */
export function fieldLabel(t, widget, field) {
  for (const key of [`${widget}.${field}`, `field.${field}`]) if (t(key) !== key) return t(key);
  return field;
}

/** A refusal or note in the reader's language; inputs are called what their controls are called. */
export function sentence(t, widget, { key, params = {} }) {
  return t(key, "field" in params ? { ...params, field: fieldLabel(t, widget, params.field) } : params);
}

/** null is minus infinity; a zero that is exact has no decimals, so that it differs from a small number. */
export function number(lang, value, digits) {
  if (value === null) return "−∞";
  const decimals = Number.isInteger(value) && (value === 0 || digits === 0) ? 0 : digits;
  const places = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const format = new Intl.NumberFormat(lang, { ...places, signDisplay: "negative" });
  return format.format(value).replace("-", "−");
}

/** A mantissa and its power of ten: -> what stands on the line, and the exponent above it. */
export function power(lang, [mantissa, exponent]) {
  return [mantissa === 1 ? "10" : `${number(lang, mantissa, 1)} × 10`, number(lang, exponent, 0)];
}
