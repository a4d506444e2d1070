// Draws named answers; their common beginning is dimmed and the first divergence stands out, where
// texts are shown as they were written.
const root = element.querySelector(".comparison");
const paint = painter(root);
let view = null;
const reading = readingSwitch("coupled-arena-compared-texts", "exact");

const card = (el, answer, index, growing) => {
  const text = dividedText(el, `${index} text`, answer, { formats: reading.formats(), growing });
  return el(index, "article", "answer", [el(`${index} model`, "header", "", answer.model), text]);
};

// Here nothing is stored, whatever a judge says.
const judgeNodes = (el, view) => {
  if (view.running || !view.judge) return [];
  if (view.judge.none) return [el("no judge", "p", "hint", view.judge.none)];
  if (view.judged) {
    const named = (place) => view.answers[place].model;
    const more = [say("Comparisons are not stored: neither answers nor verdicts.")];
    const formats = reading.formats();
    return [judgementNode(el, "judged", view.judged, named, { more, formats })];
  }
  const node = el("judge", "button", "decide", say("Ask the judge {name}", { name: view.judge.name }));
  node.type = "button";
  node.onclick = () => trigger("judge");
  return [node];
};

const draw = () => paint((el) => {
  if (!view) return [];
  const cards = view.answers.map((answer, index) => card(el, answer, index, view.running));
  return [
    el("note", "p", "hint", view.note),
    el("answers", "div", `answers of-${cards.length}`, cards),
    ...view.running ? [] : divergenceNodes(el, view.id, 0, view.answers.map(textOf)),
    ...judgeNodes(el, view),
    reading.node(el),
  ];
});
const redraw = draw;

// What an earlier comparison showed last may come late, and comes once more when it has ended.
const accept = () => {
  const { value } = props;
  if (takeReason(value) || value?.begun < view?.begun) return;
  view = value;
  draw();
};
watch("value", accept);
accept();
