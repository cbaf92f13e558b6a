/** Light or dark, as the notebook around is. */

// By these a notebook says which theme it has.
const THEME = { attributeFilter: ["class", "data-jp-theme-light", "data-vscode-theme-kind"] };

/** Calls `follow` whenever the notebook with this body changes its theme. */
export function watchTheme(body, follow) {
  new MutationObserver(follow).observe(body, THEME);
}
