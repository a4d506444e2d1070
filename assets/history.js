// A visitor's own battles, asked for when the list is opened and after each reveal.
const root = element.querySelector(".history");
const paint = painter(root);

const row = (el, { href, question, choice, when }) => {
  const link = el(`${href} question`, "a", "", question || say("(no words)"));
  link.setAttribute("href", href);
  link.dir = "auto";
  return el(href, "li", "", [
    link, el(`${href} choice`, "span", "", choice), el(`${href} when`, "span", "hint", when),
  ]);
};

const inside = (el) => {
  if (!props.value) return [el("wait", "p", "hint", say("Looking…"))];
  const { rows, all } = props.value;
  if (!rows.length) {
    return [el("none", "p", "hint", say("None yet: they are listed once you know the names."))];
  }
  const link = el("all link", "a", "", say("All battles that you voted on, with filters"));
  link.setAttribute("href", all);
  return [
    el("rows", "ol", "found", rows.map((each) => row(el, each))), el("all", "p", "", [link]),
  ];
};

let list = null;
const draw = () => paint((el) => {
  list = el("list", "details", "", [el("name", "summary", "", say("Your battles")), ...inside(el)]);
  list.ontoggle = () => { if (list.open) trigger("look"); };
  return [list];
});

window.addEventListener("arena:reveal", () => { if (list?.open) trigger("look"); });
watch("value", draw);
draw();
