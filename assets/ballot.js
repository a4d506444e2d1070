// What a visitor can do with a round now, and the order of answers that they have made so far.
let groups = []; // places, best first, level ones together
let level = false; // the next place chosen is level with the last
let sent = false; // a ballot is on its way

const forgetOrder = () => { groups = []; level = false; sent = false; };

const placeOf = (index) => {
  const at = groups.findIndex((group) => group.includes(index));
  return at < 0 ? null : at + 1;
};

const choose = (index) => {
  if (placeOf(index)) return;
  if (level && groups.length) groups[groups.length - 1].push(index);
  else groups.push([index]);
  level = false;
  draw();
};

const undo = () => {
  groups.at(-1)?.pop();
  groups = groups.filter((group) => group.length);
  level = false;
  draw();
};

const submit = (ranks, both_bad = false) => {
  if (sent) return;
  sent = true;
  namesWanted = true; // unless the vote can be undone first
  trigger("vote", { ranks, both_bad, go_on: goesOn() });
  setTimeout(() => { // refused: let the visitor try again, on what there is now
    if (!sent) return;
    sent = false;
    trigger("look");
  }, 1500);
};

// Answers with the same words in all turns, by index, where there is more than one of them.
const alike = (view) => {
  const groups = new Map();
  for (let index = 0; index < view.size; index++) {
    const words = JSON.stringify(view.turns.map((turn) => turn.answers[index]));
    groups.set(words, [...(groups.get(words) ?? []), index]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
};

const allAlike = (view) => alike(view)[0]?.length === view.size;
const isWordless = (view) => !view.turns.some((turn) => turn.answers.some((text) => text));

// Equal answers share the better of their places.
const ranksOf = (view) => {
  const places = Array.from({ length: view.size }, (_, index) => placeOf(index));
  for (const group of alike(view)) {
    const best = Math.min(...group.map((index) => places[index]));
    for (const index of group) places[index] = best;
  }
  const taken = [...new Set(places)].sort((a, b) => a - b);
  return places.map((place) => taken.indexOf(place) + 1);
};

// `at` is the button's place in the bar: no other button of a round ever stands there.
const action = (at, label, key, act, look = "", off = false) => ({ at, label, key, act, look, off });

const afterwards = (view) => (view.stored ? [
  action("next", say("Next battle"), "N", () => trigger("next"), "primary"),
] : [
  action("next", say("Next question"), "N", () => trigger("next"), "primary"),
  action("again", say("Same question, new models"), "R", () => trigger("again")),
]);

const choices = (view) => {
  const all = Array(view.size).fill(1);
  const waits = isWordless(view) || (view.running && allAlike(view));
  const bad = () => submit(all, true);
  if (view.size === 2) {
    const same = allAlike(view);
    return [
      action("first", say("A is better"), "A", () => submit([1, 2]), "primary", same),
      action("second", say("Tie"), "T", () => submit(all), "", waits),
      action("third", say("Both are bad"), "X", bad, "", waits),
      action("fourth", say("B is better"), "B", () => submit([2, 1]), "primary", same),
    ].map((each, at) => ({ ...each, also: String(at + 1), digit: String(at + 1) }));
  }
  const complete = groups.flat().length === view.size;
  const turnLevel = () => { level = groups.length > 0; draw(); };
  return [
    action("first", say("Submit this order"), "Enter", () => submit(ranksOf(view)), "primary", waits || !complete),
    action("second", level ? say("Next one is level") : say("Level with the last"), "=", turnLevel, level ? "on" : ""),
    action("third", say("Undo"), "Backspace", undo),
    action("fourth", say("All are bad"), "X", bad, "", waits),
  ];
};

const actions = (view) => {
  if (view.reveal || view.counted) return afterwards(view);
  if (view.recorded) return undoing(view);
  if (view.judging) return deciding();
  const list = choices(view);
  if (view.judge?.decides) list.push(decides(view));
  if (view.stored) list.push(action("stop", say("Skip"), "S", () => trigger("skip")));
  list.push(...lookingBack(view));
  if (view.running) list.push(action("stop", say("Stop"), "S", () => trigger("stop")));
  return list;
};
