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
// To plotly a finger that moves the page, which cancels its pointer, clicks when it is lifted.
let moved = false;
const follow = ({ event, points }) => {
  if (moved) return;
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
  const words = settings.length ? say("Settings: {settings}.", { settings: settings.join(" · ") }) : "";
  element.querySelector(".settings").textContent = words;
});

// A screen reader says what a figure shows, and not its hundred marks; the tables have the numbers.
const name = () => {
  const shown = graph();
  const label = shown?.layout?.meta?.name;
  if (!label || shown.ariaLabel === label) return;
  shown.setAttribute("role", "img");
  shown.ariaLabel = label;
};

const figure = document.getElementById(element.querySelector(".save").dataset.figure);

// Where a matrix is wider than the window and moves sideways, its rows' names stay at the edge, short
// ones, so that cells have room beside them.
const SHORT = 16; // characters, or so many more that no two names are the same
const names = document.createElement("div");
let held = ""; // what the names were made of
let edge = 0; // from where on they stay
names.className = "row-names";
names.ariaHidden = "true";

// Models of one family differ at the end of their names.
const shortened = (text, most) => (text.length > most
  ? `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}` : text);

const nameAt = ({ text, y }, most) => {
  const line = document.createElement("span");
  line.textContent = shortened(text, most);
  line.style.top = `${y}px`;
  return line;
};

const draw = (rows) => {
  const different = (most) => new Set(rows.map(({ text }) => shortened(text, most))).size;
  const all = new Set(rows.map(({ text }) => text)).size;
  let most = SHORT;
  while (different(most) < all) most += 2;
  names.style.width = `${most + 2}ch`;
  names.replaceChildren(...rows.map((row) => nameAt(row, most)));
};

const stay = () => { names.classList.toggle("staying", figure.scrollLeft > edge); };

const holdNames = () => {
  const frame = graph()?.querySelector(".svg-container");
  const texts = [...(frame?.querySelectorAll(".yaxislayer-above text") ?? [])];
  if (!texts.length || figure.scrollWidth <= figure.clientWidth) { names.remove(); return; }
  const { left, top } = frame.getBoundingClientRect();
  const boxes = texts.map((text) => text.getBoundingClientRect());
  const rows = boxes.map((box, at) => ({ text: texts[at].textContent, y: (box.top + box.bottom) / 2 - top }));
  if (names.parentNode === frame && held === JSON.stringify(rows)) return;
  held = JSON.stringify(rows);
  draw(rows);
  frame.append(names);
  edge = Math.max(...boxes.map((box) => box.right)) - left - names.offsetWidth;
  names.style.marginLeft = `${edge}px`;
  stay();
};

const look = () => {
  name();
  holdNames();
  const shown = graph();
  // It may have been made for the theme that the page had before.
  if (shown?.layout) window.dispatchEvent(new CustomEvent("arena:drawn", { detail: shown }));
};
if (figure) {
  new MutationObserver(look).observe(figure, { childList: true, subtree: true });
  new ResizeObserver(holdNames).observe(figure);
  figure.addEventListener("scroll", stay, { passive: true });
  figure.addEventListener("pointerdown", () => { moved = false; }, true);
  figure.addEventListener("pointercancel", () => { moved = true; }, true);
}
look();
figure?.addEventListener("pointerover", () => {
  const shown = graph();
  figure.classList.toggle("leads", Boolean(shown?.layout?.meta?.leads));
  if (!shown?.on || shown.leading) return;
  shown.leading = true;
  shown.on("plotly_click", follow);
});
