/** Python that shows a figure in a notebook. */

export function notebookCell(name, inputs, fields, lang) {
  const changed = Object.entries(inputs).filter(([field, value]) => value !== fields[field]?.default);
  const given = changed.map(([field, value]) => `, ${field}=${literal(value)}`).join("");
  return `import allyouneed as ayn\n\nayn.widget(${literal(name)}, lang=${literal(lang)}${given})`;
}

/** JSON's strings and numbers are Python's too. */
function literal(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}
