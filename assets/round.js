// Draws a round from `props.value` (see RoundView) and takes the vote. All text goes through
// textContent: Gradio evaluates what a template renders, so no answer may pass through one.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const root = element.querySelector(".round");
let groups = []; // the order made so far: places, best first, level ones together
let level = false; // the next place chosen is level with the last
let drawn = null; // what tells the round on show from others
let sent = false; // a ballot is on its way

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

const button = (label, key, act, className = "") => {
  const node = make("button", `choice ${className}`);
  node.type = "button";
  node.append(make("span", "", label), make("kbd", "", key));
  node.addEventListener("click", act);
  return node;
};

const placeOf = (index) => {
  const at = groups.findIndex((group) => group.includes(index));
  return at < 0 ? null : at + 1;
};

const submit = (ranks, both_bad = false) => {
  if (sent) return;
  sent = true;
  trigger("vote", { ranks, both_bad });
  setTimeout(() => { sent = false; }, 1500); // refused: let the visitor try again
};

const choose = (index) => {
  if (placeOf(index)) return;
  if (level && groups.length) groups[groups.length - 1].push(index);
  else groups.push([index]);
  level = false;
  draw();
};

const undo = () => {
  if (groups.length) {
    groups[groups.length - 1].pop();
    groups = groups.filter((group) => group.length);
  }
  level = false;
  draw();
};

const complete = (size) => groups.flat().length === size;
const ranksOf = (size) => Array.from({ length: size }, (_, index) => placeOf(index));

// What can be done now: [label, key name shown, keys accepted, action, class]
const actions = (view) => {
  if (view.reveal && view.stored) {
    return [["Next battle", "N", ["n"], () => trigger("next"), "primary"]];
  }
  if (view.reveal) {
    return [
      ["Next question", "N", ["n"], () => trigger("next"), "primary"],
      ["Same question, new models", "R", ["r"], () => trigger("again"), ""],
    ];
  }
  const all = Array(view.size).fill(1);
  const list = view.size === 2 ? [
    ["A is better", "A", ["a", "arrowleft"], () => submit([1, 2]), "primary"],
    ["Tie", "T", ["t"], () => submit(all), ""],
    ["Both are bad", "X", ["x"], () => submit(all, true), ""],
    ["B is better", "B", ["b", "arrowright"], () => submit([2, 1]), "primary"],
  ] : [
    ["Submit this order", "Enter", ["enter"],
      () => complete(view.size) && submit(ranksOf(view.size)),
      complete(view.size) ? "primary" : "waiting"],
    [level ? "Next one is level" : "Level with the last", "=", ["="],
      () => { level = groups.length > 0; draw(); }, level ? "on" : ""],
    ["Undo", "⌫", ["backspace"], undo, ""],
    ["All are bad", "X", ["x"], () => submit(all, true), ""],
  ];
  if (view.stored) list.push(["Skip", "S", ["s"], () => trigger("skip"), ""]);
  if (view.running) list.push(["Stop", "S", ["s"], () => trigger("stop"), ""]);
  return list;
};

const answerCard = (view, text, index) => {
  const card = make("article", "answer");
  const head = make("header", "", LETTERS[index]);
  const place = view.reveal ? view.reveal.ranks[index] : placeOf(index);
  if (view.reveal) head.append(make("strong", "name", view.reveal.models[index]));
  if (place && (view.size > 2 || view.reveal)) {
    head.append(make("span", `place place-${place}`, view.reveal?.both_bad ? "bad" : `place ${place}`));
  }
  card.append(head, make("div", "text", text || (view.running ? "…" : "(no words)")));
  if (view.size > 2 && !view.reveal) {
    card.classList.add("clickable");
    card.addEventListener("click", () => {
      if (!window.getSelection().toString()) choose(index);
    });
  }
  return card;
};

const revealNote = (view) => {
  const told = view.reveal;
  const note = make("section", "reveal");
  const how = {
    coupled: "Coupled: every model read the same noise.",
    independent: "Independent: each model had noise of its own.",
    unknown: "Imported: nobody knows their noise.",
  }[told.mode];
  const what = told.source === "identical"
    ? "The answers are identical: recorded as a tie, nobody needs to judge it."
    : told.early ? "Your vote is recorded, as cast before the answers had ended."
      : "Your vote is recorded.";
  note.append(make("p", "", `${what} ${how}`));
  const facts = make("dl");
  const later = told.commitment && "told once you have voted on the other battles drawn from it";
  const rows = [["Seed", told.seed ?? later], ["Nonce", told.nonce], ["Commitment", told.commitment],
    ["Battle", told.battle], ["Vote", told.vote]].filter(([, value]) => value);
  for (const [name, value] of rows) facts.append(make("dt", "", name), make("dd", "", value));
  note.append(facts);
  if (told.commitment) {
    note.append(make("p", "hint", "The commitment shown before your vote is the SHA-256 of the nonce "
      + "followed by the seed (8 bytes, little-endian). The battle replays from its seed."));
  }
  return note;
};

const draw = () => {
  const view = props.value;
  if (!view) { root.replaceChildren(); return; }
  const shown = `${view.commitment} ${view.turns[0].prompt}`;
  if (shown !== drawn) {
    drawn = shown;
    groups = []; level = false; sent = false;
    document.activeElement?.blur(); // so that the keys vote instead of writing
  }
  if (view.reveal) sent = false;
  const nodes = [];
  for (const turn of view.turns) {
    if (turn.system) nodes.push(make("p", "system", `System prompt: ${turn.system}`));
    nodes.push(make("p", "question", turn.prompt));
    const answers = make("div", `answers of-${view.size}`);
    turn.answers.forEach((text, index) => answers.append(answerCard(view, text, index)));
    nodes.push(answers);
  }
  if (view.error) nodes.push(make("p", "broken", view.error));
  else {
    if (view.reveal) nodes.push(revealNote(view));
    else if (view.size > 2) {
      nodes.push(make("p", "hint", "Click the answers from best to worst, or press their numbers "
        + `1–${view.size} in that order. Press = between two of them to make them level.`));
    }
    const bar = make("div", "ballot");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", view.reveal ? "What next" : "Your vote");
    for (const [label, key, , act, className] of actions(view)) {
      bar.append(button(label, key, act, className));
    }
    nodes.push(bar);
    if (!view.reveal && view.commitment) nodes.push(make("p", "commitment", `Commitment ${view.commitment}`));
  }
  root.replaceChildren(...nodes);
};

document.addEventListener("keydown", (event) => {
  const view = props.value;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable=true], button");
  const shown = element.offsetParent !== null;
  if (!view || view.error || !shown || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.repeat || (typing && !(event.target.matches("button") && event.key !== "Enter"))) return;
  const key = event.key.toLowerCase();
  const number = Number(key);
  if (!view.reveal && view.size > 2 && number >= 1 && number <= view.size) {
    choose(number - 1);
    event.preventDefault();
    return;
  }
  const action = actions(view).find(([, , keys]) => keys.includes(key));
  if (action) {
    event.preventDefault();
    action[3]();
  }
});

watch("value", draw);
draw();
