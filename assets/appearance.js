// Light or dark, as the visitor chose; else as the system prefers, which is all that Gradio knows. The
// page stays as it is: figures are drawn again with the colours of the other theme.
const THEME = "coupled-arena-theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const NAMES = { system: say("system"), light: say("light"), dark: say("dark") };
const button = element.querySelector(".theme-switch");
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
let theme = remembered(THEME) in NEXT ? remembered(THEME) : "system";

const name = () => {
  button.ariaLabel = say("Theme: {theme}. Press for: {next}.", { theme: NAMES[theme], next: NAMES[NEXT[theme]] });
  button.title = button.ariaLabel;
  for (const icon of button.children) icon.toggleAttribute("hidden", icon.dataset.theme !== theme);
};

// A figure knows the colours that it has by those that it gets on paper, see figures.js.
const recolour = (shown) => {
  const { meta } = shown.layout ?? {};
  const wanted = COLOURS[document.body.classList.contains("dark") ? "dark" : "light"];
  const present = meta?.paper?.map(([here]) => here);
  if (!present || present[0] === wanted[0]) return;
  const pattern = present.map((colour) => colour.replace(/[.()]/g, "\\$&")).join("|");
  const swap = (text) =>
    text.replace(new RegExp(pattern, "g"), (colour) => wanted[present.indexOf(colour)]);
  const { data, layout } = JSON.parse(swap(JSON.stringify({ data: shown.data, layout: shown.layout })));
  layout.meta = { ...meta, paper: meta.paper.map(([, paper], at) => [wanted[at], paper]) };
  window.Plotly.react(shown, data, layout, { displayModeBar: false, doubleClick: false });
};
const recolourAll = () => document.querySelectorAll(".js-plotly-plot").forEach(recolour);

const apply = () => {
  const dark = theme === "system" ? preferred.matches : theme === "dark";
  document.body.classList.toggle("dark", dark);
};

button.addEventListener("click", () => {
  theme = NEXT[theme];
  remembered(THEME, theme);
  name();
  apply();
});
preferred.addEventListener("change", apply);
window.addEventListener("arena:drawn", ({ detail }) => recolour(detail));
let wasDark = document.body.classList.contains("dark");
new MutationObserver(() => {
  apply();
  const dark = document.body.classList.contains("dark");
  if (dark !== wasDark) recolourAll();
  wasDark = dark;
}).observe(document.body, { attributeFilter: ["class"] });
name();
apply();
