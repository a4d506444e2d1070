// Light or dark, as the visitor chose; else as the system prefers, which is all that Gradio knows.
const THEME = "coupled-arena-theme";
const chooser = element.querySelector("select");
let theme = remembered(THEME);

const apply = () => {
  if (["light", "dark"].includes(theme)) document.body.classList.toggle("dark", theme === "dark");
};

if (["light", "dark"].includes(theme)) chooser.value = theme;
chooser.addEventListener("change", () => {
  theme = chooser.value;
  remembered(THEME, theme);
  if (remembered(THEME) === theme) window.location.reload(); // figures are drawn for one theme
  else apply();
});
apply();
new MutationObserver(apply).observe(document.body, { attributeFilter: ["class"] });
