// Saves the figure above: as a picture, on white whatever the page looks like, or its numbers.
const LINE = 16; // pixels of a line above a figure

const graph = () =>
  document.querySelector(`#${element.querySelector(".save").dataset.figure} .js-plotly-plot`);

const onPaper = ({ data, layout }) => {
  let text = JSON.stringify({ data, layout });
  for (const [here, there] of layout.meta.paper) {
    text = text.replaceAll(JSON.stringify(here), JSON.stringify(there));
    text = text.replaceAll(`color:${here}`, `color:${there}`); // within plotly's markup
  }
  const figure = JSON.parse(text);
  figure.layout.paper_bgcolor = "#fff";
  const settings = figure.layout.meta.method ?? [];
  const { subtitle } = figure.layout.title;
  subtitle.text = [subtitle.text, ...settings].filter(Boolean).join("<br>");
  figure.layout.margin.t += LINE * settings.length;
  return figure;
};

const saveNumbers = ({ file, csv }) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
  link.download = `${file}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

element.addEventListener("click", (event) => {
  const kind = event.target.dataset?.kind;
  const shown = graph();
  if (!kind || !shown) return;
  const { meta } = shown.layout;
  if (kind === "csv") { saveNumbers(meta); return; }
  const { width, height } = shown.querySelector(".main-svg").getBoundingClientRect();
  window.Plotly.downloadImage(onPaper(shown), {
    format: kind,
    filename: meta.file,
    width: Math.max(width, 480),
    height: height + LINE * (meta.method ?? []).length,
    scale: kind === "png" ? 3 : 1,
  });
});

// Where a figure's marks lead: plotly tells a click once it was asked to, which is before the first.
const follow = ({ event, points }) => {
  const { leads } = graph().layout.meta;
  const address = points.map(({ x, y }) => {
    const row = leads?.[Math.round(y)];
    return Array.isArray(row) ? row[Math.round(x)] : row;
  }).find(Boolean);
  if (!address) return;
  if (event.ctrlKey || event.metaKey) window.open(address);
  else window.dispatchEvent(new CustomEvent("arena:go", { detail: address }));
};

const reading = element.querySelector("details");
reading.addEventListener("toggle", () => {
  const settings = graph()?.layout.meta?.method ?? [];
  const said = settings.length ? say("Settings: {settings}.", { settings: settings.join(" · ") }) : "";
  element.querySelector(".settings").textContent = said;
});

// A screen reader says what a figure shows, and not its hundred marks; the tables have the numbers.
const name = () => {
  const shown = graph();
  const said = shown?.layout?.meta?.name;
  if (!said || shown.ariaLabel === said) return;
  shown.setAttribute("role", "img");
  shown.ariaLabel = said;
};

const figure = document.getElementById(element.querySelector(".save").dataset.figure);
if (figure) new MutationObserver(name).observe(figure, { childList: true, subtree: true });
name();
figure?.addEventListener("pointerover", () => {
  const shown = graph();
  figure.classList.toggle("leads", Boolean(shown?.layout?.meta?.leads));
  if (!shown?.on || shown.leading) return;
  shown.leading = true;
  shown.on("plotly_click", follow);
});
