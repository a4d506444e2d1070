// Draws the figures of a report: in the reader's colours, on paper always in those of light pages.
const PAPER = 660; // pixels, within the margins of A4 and of Letter
const dark = matchMedia("(prefers-color-scheme: dark)");
const print = matchMedia("print");
const figures = [...document.querySelectorAll("figure")].map((figure) => ({
  place: figure.querySelector(".plot"),
  text: figure.querySelector("script").textContent,
}));

const draw = (onPaper) => {
  for (const { place, text } of figures) {
    const { light, dark: night } = JSON.parse(text); // again each time: plotly changes what it gets
    const { data, layout } = dark.matches && !onPaper ? night : light;
    const width = onPaper ? PAPER : place.parentElement.clientWidth;
    Plotly.react(place, data, { ...layout, width }, { displayModeBar: false, doubleClick: false });
  }
};

let settled;
const later = () => {
  clearTimeout(settled);
  settled = setTimeout(() => draw(print.matches), 150);
};

draw(print.matches);
addEventListener("resize", later);
dark.addEventListener("change", later);
addEventListener("beforeprint", () => draw(true));
addEventListener("afterprint", () => draw(false));
print.addEventListener("change", () => draw(print.matches));
