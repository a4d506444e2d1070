// Draws named answers; their common beginning is dimmed and the first divergence stands out.
const root = element.querySelector(".comparison");
const paint = painter(root);

const card = (el, answer, index) => {
  const text = el(`${index} text`, "div", "text", [
    el(`${index} common`, "span", "common", answer.common),
    el(`${index} divergence`, "mark", "", answer.divergence),
    el(`${index} rest`, "span", "", answer.rest),
  ]);
  return el(index, "article", "answer", [el(`${index} model`, "header", "", answer.model), text]);
};

const draw = () => paint((el) => {
  const view = props.value;
  if (!view) return [];
  const cards = view.answers.map((answer, index) => card(el, answer, index));
  const answers = el("answers", "div", `answers of-${cards.length}`, cards);
  return [el("note", "p", "hint", view.note), answers];
});

watch("value", draw);
draw();
