// Saves the result of a gate as a picture, which stands nowhere on the page.
const place = element.querySelector(".gate-picture");
const button = document.createElement("button");
button.type = "button";
button.textContent = say("Save as picture");

const linked = ({ figure, address }) => {
  const link = new URL(address, window.location.origin + window.location.pathname).href;
  return JSON.parse(JSON.stringify(figure).replaceAll('"{link}"', () => JSON.stringify(link)));
};

button.addEventListener("click", () => {
  if (!props.value?.figure || !window.Plotly) return; // it comes with the first figure of the page
  const figure = linked(props.value);
  const { width, height, meta } = figure.layout;
  window.Plotly.downloadImage(figure, { format: "png", filename: meta.file, width, height, scale: 3 });
});

const show = () => { button.hidden = !props.value?.figure; };
watch("value", show);
place.append(button);
show();
