/** Deep links: `#s5.scaling?d_k=512&scale=0&lang=en` names a figure, what differs from its defaults, and a language. */

export function parseHash(hash) {
  const [, place = "", query = ""] = /^#?([^?]*)\??(.*)$/.exec(hash) ?? [];
  const values = Object.fromEntries(new URLSearchParams(query));
  const { lang = null, ...given } = values;
  return { place, given, lang };
}

export function formatHash(place, inputs, fields) {
  const changed = Object.entries(inputs).filter(([name, value]) => value !== fields[name]?.default);
  const query = new URLSearchParams(changed.map(([name, value]) => [name, value === true ? 1 : value === false ? 0 : value]));
  return changed.length ? `#${place}?${query}` : `#${place}`;
}

/** Brings what a link says within what the figure allows: -> the inputs, and a note for each value that was changed. */
export function clamp(given, fields) {
  const inputs = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.default]));
  const notes = [];
  for (const [name, text] of Object.entries(given)) {
    if (!(name in fields)) {
      notes.push({ key: "note.unknown", params: { field: name } });
      continue;
    }
    const value = within(text, fields[name]);
    const params = { field: name, used: String(value ?? fields[name].default) };
    if (value === undefined) notes.push({ key: "note.unusable", params });
    else if (differs(value, text)) notes.push({ key: "note.clamped", params: { ...params, given: text } });
    if (value !== undefined) inputs[name] = value;
  }
  return { inputs, notes };
}

function differs(value, text) {
  return typeof value === "number" ? value !== Number(text) : typeof value === "string" && value !== text;
}

/** The allowed value nearest to a text, or undefined where there is none. */
function within(text, field) {
  if (field.type === "boolean") return { 0: false, false: false, 1: true, true: true }[text];
  if (field.type === "string") {
    if (field.choices) return field.choices.includes(text) ? text : undefined;
    return text.slice(0, field.longest);
  }
  const wanted = text.trim() === "" ? NaN : Number(text);
  if (Number.isNaN(wanted)) return undefined;
  if (field.choices) return field.choices.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
  const whole = field.type === "integer" ? Math.round(wanted) : wanted;
  return Math.min(Math.max(whole, field.min), field.max);
}
