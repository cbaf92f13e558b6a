/** Runs before the first paint: a theme that the reader chose is there from the start. */
const theme = localStorage.getItem("aun-theme");
if (theme) document.documentElement.dataset.theme = theme;
