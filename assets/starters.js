// One click asks a question of the library at random, of a category or of any.
const root = element.querySelector(".starters");
const paint = painter(root);

const draw = () => paint((el) => {
  const { categories, chosen } = props.value;
  const chips = [["", say("Surprise me")], ...categories.map((name) => [name, name])].map(([id, words]) => {
    const node = el(`start ${id}`, "button", "chip", words);
    node.type = "button";
    node.setAttribute("aria-pressed", String(chosen === id));
    // The second click of a double one would ask another question.
    node.onclick = ({ detail }) => { if (detail < 2) trigger("start", { category: id }); };
    return node;
  });
  const group = el("starters", "div", "chips", [el("lead", "span", "hint", say("Or start with")), ...chips]);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", say("Ask a question of the library, at random"));
  return [group];
});

watch("value", draw);
draw();
