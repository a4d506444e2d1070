// Saves the figure above: as a picture, on white whatever the page looks like, or its numbers.
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
  const { height } = shown.querySelector(".main-svg").getBoundingClientRect();
  if (kind === "csv") { saveNumbers(meta); return; }
  window.Plotly.downloadImage(onPaper(shown), {
    format: kind,
    filename: meta.file,
    width: Math.max(shown.offsetWidth, 480),
    height,
    scale: kind === "png" ? 3 : 1,
  });
});
