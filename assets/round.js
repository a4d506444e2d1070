// Draws a round (see RoundView) and takes the vote.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const root = element.querySelector(".round");
const paint = painter(root);
let drawn = null; // what tells the round on show from others
let turns = 0; // how many turns of it are on show
root.tabIndex = -1;
root.setAttribute("role", "region");
root.setAttribute("aria-label", "Answers and your vote");

const named = (group) => {
  const letters = group.map((index) => LETTERS[index]);
  return `${letters.slice(0, -1).join(", ")} and ${letters.at(-1)}`;
};

const answerCard = (el, view, turn, text, index) => {
  const key = `${turn} ${index}`;
  const place = view.reveal ? view.reveal.ranks[index] : placeOf(index);
  const head = [el(`${key} letter`, "span", "", LETTERS[index])];
  if (view.reveal) head.push(el(`${key} name`, "strong", "name", view.reveal.models[index]));
  if (place && (view.size > 2 || view.reveal)) {
    const said = view.reveal?.both_bad ? "bad" : `place ${place}`;
    head.push(el(`${key} place`, "span", `place place-${place}`, said));
  }
  const orders = view.size > 2 && !view.reveal;
  if (orders && !place) head.push(pickButton(el, key, index));
  const card = el(key, "article", orders ? "answer clickable" : "answer", [
    el(`${key} head`, "header", "", head),
    el(`${key} text`, "div", "text", text || (view.running ? "…" : "(no words)")),
  ]);
  card.onclick = orders ? () => { if (!window.getSelection().toString()) choose(index); } : null;
  return card;
};

const button = (el, key, label, shortcut, className, act) => {
  const face = [el(`${key} label`, "span", "", label)];
  if (keysOn) face.push(el(`${key} key`, "kbd", "", shortcut === "Backspace" ? "⌫" : shortcut));
  face[1]?.setAttribute("aria-hidden", "true");
  const node = el(key, "button", className, face);
  node.type = "button";
  node.onclick = (event) => {
    event.stopPropagation();
    if (event.detail) root.focus({ preventScroll: true }); // by mouse: Enter is not to press it again
    act?.();
  };
  if (keysOn) node.setAttribute("aria-keyshortcuts", shortcut);
  else node.removeAttribute("aria-keyshortcuts");
  return node;
};

const pickButton = (el, key, index) => {
  const act = () => choose(index);
  const node = button(el, `${key} pick`, "Next best", `${index + 1}`, "pick", act);
  node.setAttribute("aria-label", `${LETTERS[index]} is next best`);
  return node;
};

const ballot = (el, view) => {
  const buttons = actions(view).map(({ label, key, act, look, off }) => {
    const name = `do ${key}${view.reveal ? " next" : ""}`;
    const shown = `choice ${off ? "waiting" : look}`.trim();
    const node = button(el, name, label, key, shown, off ? null : act);
    node.setAttribute("aria-disabled", String(off)); // `disabled` would drop the focus
    return node;
  });
  const bar = el("ballot", "div", "ballot", buttons);
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", view.reveal ? "What next" : "Your vote");
  return bar;
};

const ORDER = "Choose the answers from best to worst. Between two of them, “Level with the last” "
  + "puts both on one place.";

// The place in the queue, as told last: it may move many times a second, and is read aloud.
const CALM = 3000; // milliseconds
let place = null;
let placedAt = 0;
let replaced;
const calmPlace = (ahead) => {
  clearTimeout(replaced);
  const wait = placedAt + CALM - performance.now();
  if (ahead === place) return place;
  if (ahead === null || place === null || wait <= 0) {
    [place, placedAt] = [ahead, performance.now()];
  } else {
    replaced = setTimeout(() => { if (!pressed) draw(); }, wait);
  }
  return place;
};

// What the visitor is told of answers with the same words, or of the wait for any.
const sameWords = (view) => {
  const ahead = calmPlace(view.ahead);
  if (ahead !== null) return ahead ? `Waiting: ${ahead} ahead of you.` : "Waiting: you are next.";
  if (isWordless(view)) return view.running ? "" : "Nothing was written: ask once more.";
  if (!allAlike(view)) {
    return alike(view).map((group) => `${named(group)} have the same words`
      + `${view.running ? " so far" : ""}: they share the better of their places.`).join(" ");
  }
  return view.running ? "The same so far: you can vote from the first difference on."
    : "These answers have the same words, so none is better: vote a tie, or ask a follow-up.";
};

const revealNote = (el, told) => {
  const how = {
    coupled: "Coupled: every model read the same noise.",
    independent: "Independent: each model had noise of its own.",
    unknown: "Imported: nobody knows their noise.",
  }[told.mode];
  const what = told.source === "identical"
    ? "The answers are identical: recorded as a tie, nobody needs to judge it."
    : told.early ? "Your vote is recorded, as cast before the answers had ended."
      : "Your vote is recorded.";
  const lines = [el("told", "p", "", `${what} ${how}`)];
  if (told.source !== "identical" && told.same.length) {
    const words = told.same.map((group) => `${named(group)} had the same words when you voted, so `
      + "they share a place, the better one you gave.").join(" ");
    lines.push(el("told same", "p", "", words));
  }
  const later = told.commitment && "told once you have voted on the other battles drawn from it";
  const rows = [["Seed", told.seed ?? later], ["Nonce", told.nonce], ["Commitment", told.commitment],
    ["Battle", told.battle], ["Vote", told.vote]].filter(([, value]) => value);
  lines.push(el("facts", "dl", "", rows.flatMap(([name, value]) => [
    el(`fact ${name}`, "dt", "", name), el(`fact ${name} is`, "dd", "", value),
  ])));
  if (told.commitment) {
    lines.push(el("facts hint", "p", "hint", "The commitment shown before your vote is the SHA-256 "
      + "of the nonce followed by the seed (8 bytes, little-endian). The battle replays from its "
      + "seed."));
  }
  return el("reveal", "section", "reveal", lines);
};

const foot = (el, view) => {
  if (view.error) return [el("broken", "p", "broken", view.error)];
  const nodes = [];
  if (view.reveal) nodes.push(revealNote(el, view.reveal));
  else {
    if (view.size > 2) nodes.push(el("hint", "p", "hint", ORDER));
    const same = el("same", "p", "same", sameWords(view));
    same.setAttribute("role", "status");
    nodes.push(same);
    if (lost) nodes.push(el("lost", "p", "broken", LOST));
  }
  nodes.push(ballot(el, view), keySwitch(el));
  if (!view.reveal && view.commitment) {
    nodes.push(el("commitment", "p", "commitment", `Commitment ${view.commitment}`));
  }
  return nodes;
};

const turnNodes = (el, view, turn, number) => {
  const nodes = turn.system
    ? [el(`${number} system`, "p", "system", `System prompt: ${turn.system}`)] : [];
  const cards = turn.answers.map((text, index) => answerCard(el, view, number, text, index));
  nodes.push(el(`${number} question`, "p", "question", turn.prompt));
  nodes.push(el(`${number} answers`, "div", `answers of-${view.size}`, cards));
  return nodes;
};

const draw = () => {
  if (!view) { paint(() => []); return; }
  const shown = `${view.commitment} ${view.turns[0].prompt}`;
  const fresh = shown !== drawn;
  const continued = !fresh && view.turns.length > turns;
  if (fresh) forgetOrder();
  if (view.reveal) sent = false;
  drawn = shown;
  turns = view.turns.length;
  paint((el) => [
    ...view.turns.flatMap((turn, number) => turnNodes(el, view, turn, number)),
    ...foot(el, view),
  ]);
  if (view.resumed || !(fresh || continued)) return;
  if (fresh) takeFocus(view.turns[0].prompt);
  else if (!isWriting(document.activeElement)) root.focus({ preventScroll: true });
  emptyBox(fresh ? "#question textarea" : "#follow-up textarea", view.turns.at(-1).prompt);
};

// While something here is pressed the page holds still, so that the pointer is let go where it was
// pressed. A touch sends its click some milliseconds after it.
let pressed = false;
let release;
root.addEventListener("pointerdown", () => { pressed = true; clearTimeout(release); });
for (const end of ["pointerup", "pointercancel", "blur"]) {
  window.addEventListener(end, () => {
    if (!pressed) return;
    clearTimeout(release);
    release = setTimeout(() => { pressed = false; draw(); }, 50);
  });
}

const redraw = () => { if (!pressed) draw(); };
watch("value", () => take(props.value));
take(props.value);
