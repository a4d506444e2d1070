// Draws named answers; their common beginning is dimmed and the first divergence stands out.
const root = element.querySelector(".comparison");

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

const draw = () => {
  const view = props.value;
  if (!view) { root.replaceChildren(); return; }
  const cards = view.answers.map((answer) => {
    const card = make("article", "answer");
    const text = make("div", "text");
    text.append(make("span", "common", answer.common), make("mark", "", answer.divergence),
      make("span", "", answer.rest));
    card.append(make("header", "", answer.model), text);
    return card;
  });
  const answers = make("div", `answers of-${cards.length}`);
  answers.append(...cards);
  root.replaceChildren(make("p", "hint", view.note), answers);
};

watch("value", draw);
draw();
