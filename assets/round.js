// Draws a round (see RoundView) and takes the vote.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const root = element.querySelector(".round");
const paint = painter(root);
let drawn = null; // the identity of the round on show
let turns = 0; // how many turns of it are on show
const reading = readingSwitch("coupled-arena-texts", "formatted");
root.tabIndex = -1;
root.setAttribute("role", "region");
root.setAttribute("aria-label", say("Answers and your vote"));

const answerCard = (el, view, number, text, index) => {
  const turn = view.turns[number];
  const key = `${number} ${index}`;
  const vote = votedOf(view);
  const place = vote?.ranks[index] ?? placeOf(index);
  const head = [el(`${key} letter`, "span", "", LETTERS[index])];
  if (view.reveal) head.push(el(`${key} name`, "strong", "name", view.reveal.models[index]));
  head.push(stateNode(el, key, view, turn, index));
  if (place && (view.size > 2 || view.reveal)) {
    const [words, kind] = vote?.both_bad ? [say("bad"), "bad"] : [say("place {place}", { place }), place];
    head.push(el(`${key} place`, "span", `place place-${kind}`, words));
  }
  const orders = view.size > 2 && !vote && !view.judging;
  if (orders && !place) head.push(pickButton(el, key, index));
  const formats = text !== "" && reading.formats();
  const words = text || (view.running ? "…" : say("(no words)"));
  const growing = view.running && number === view.turns.length - 1;
  const card = el(key, "article", orders ? "answer clickable" : "answer", [
    el(`${key} head`, "header", "", head),
    textNode(el, `${key} text`, "text", words, { formats, growing }),
  ]);
  card.onclick = orders ? (event) => {
    if (!window.getSelection().toString() && hearsEvent(nameOf(ordering), event)) choose(index);
  } : null;
  return card;
};

// `name` is what it hears by, see `meet`; `act` is null where it does nothing for now.
const button = (el, key, name, label, shortcuts, className, act, count) => {
  const face = [el(`${key} label`, "span", "", label)];
  if (count !== undefined) face.push(el(`${key} count`, "span", "count", `(${count})`));
  if (keysOn) {
    face.push(...shortcuts.map((each) => el(`${key} key ${each}`, "kbd", "", each === "Backspace" ? "⌫" : each)));
  }
  for (const extra of face.slice(1)) extra.setAttribute("aria-hidden", "true");
  const node = el(key, "button", className, face);
  node.type = "button";
  node.onclick = (event) => {
    event.stopPropagation();
    if (event.detail) root.focus({ preventScroll: true }); // by mouse: Enter is not to press it again
    if (act && hearsEvent(name, event)) act();
  };
  if (keysOn) node.setAttribute("aria-keyshortcuts", shortcuts.join(" "));
  else node.removeAttribute("aria-keyshortcuts");
  return node;
};

const pickButton = (el, key, index) => {
  const act = () => choose(index);
  const node = button(el, `${key} pick`, nameOf(ordering), say("Next best"), [LETTERS[index]], "pick", act);
  node.setAttribute("aria-label", say("{letter} is next best", { letter: LETTERS[index] }));
  node.setAttribute("aria-disabled", String(!hears(nameOf(ordering), performance.now())));
  return node;
};

const actionButton = (el, { at, label, key, act, look, off, count, digit }, kind) => {
  const name = nameOf({ at, key });
  const waits = off || !hears(name, performance.now());
  const shown = `${kind} at-${at} ${off ? "" : look}${waits ? " waiting" : ""}`.trim();
  const keys = digit ? [key, digit] : [key];
  const node = button(el, `do ${at} ${key}`, name, label, keys, shown, off ? null : act, count);
  node.setAttribute("aria-disabled", String(waits)); // `disabled` would drop the focus
  return node;
};

const ballot = (el, view) => {
  const buttons = actions(view).filter(({ aside }) => !aside)
    .map((each) => actionButton(el, each, "choice"));
  const group = el("ballot", "div", view.stored ? "ballot stored" : "ballot", buttons);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", view.reveal || view.counted ? say("What next") : say("Your vote"));
  const says = saidOf(view);
  const hint = hintOf(view, says);
  const words = el("said", "p", "said", says || hint);
  words.setAttribute("role", "status");
  const line = lost && !view.reveal && !view.counted ? [el("lost", "p", "broken", LOST), words] : [words];
  const deaf = actions(view).some((each) => !hears(nameOf(each), performance.now()));
  // What is said stands where no button is: beside Stop, or in place of the vote that was cast.
  const beside = view.last && !votedOf(view) ? "back" : actions(view).some(({ at }) => at === "stop") ? "beside" : "";
  const state = votedOf(view) || view.judging ? "voted" : `open ${hint ? "beside hinting" : beside}`;
  return el("bar", "div", `bar ${state}${deaf ? " deaf" : ""}`, [...line, group]);
};

const saidOf = (view) => {
  if (view.judging) return judgeInWords(view);
  const vote = voteInWords(view);
  if (votedOf(view)) return vote;
  return `${view.unjudged ?? ""} ${vote} ${sameWords(view)}`.trim();
};

// The place in the queue, as sent last: it may move many times a second, and is read aloud.
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

// A hint on answers with the same words, or of the wait for any.
const sameWords = (view) => {
  const ahead = calmPlace(view.ahead);
  if (ahead !== null) return ahead ? say("Waiting: {ahead} ahead of you.", { ahead }) : say("Waiting: you are next.");
  if (isWordless(view)) return view.running || lost ? "" : say("Nothing was written: ask once more.");
  if (!allAlike(view)) {
    return alike(view).map(listed).map((answers) => (view.running
      ? say("{answers} have the same words so far: they share the better of their places.", { answers })
      : say("{answers} have the same words: they share the better of their places.", { answers })
    )).join(" ");
  }
  return view.running ? say("The same so far: you can vote from the first difference on.")
    : say("These answers have the same words, so none is better: vote a tie, or ask a follow-up.");
};

const foot = (el, view) => {
  if (view.error) return [el("broken", "p", "broken", view.error)];
  const nodes = whyNodes(el, view);
  if (view.reveal && !view.stored) nodes.push(...divergence(el, view, view.turns.length - 1));
  if (view.reveal) nodes.push(...judgedNodes(el, view), proof(el, view.reveal));
  else if (view.counted) nodes.push(el("then", "p", "hint", view.counted.then));
  return [...nodes, ballot(el, view)];
};

const divergence = (el, view, number) =>
  divergenceNodes(el, view.reveal.battle, number, view.turns[number].answers);

const turnNodes = (el, view, turn, number) => {
  const formats = reading.formats();
  const nodes = turn.system ? [el(`${number} system`, "div", "system", [
    el(`${number} system name`, "span", "", say("System prompt: ")),
    textNode(el, `${number} system text`, "words", turn.system, { formats }),
  ])] : [];
  const cards = turn.answers.map((text, index) => answerCard(el, view, number, text, index));
  nodes.push(textNode(el, `${number} question`, "question", turn.prompt, { formats }));
  const newest = number === view.turns.length - 1 ? " newest" : "";
  nodes.push(el(`${number} answers`, "div", `answers of-${view.size}${newest}`, cards));
  if (view.reveal && !view.stored && !newest) nodes.push(...divergence(el, view, number));
  return nodes;
};

const draw = () => {
  if (!view) {
    paint(() => []);
    watchResult();
    root.style.minHeight = "";
    return;
  }
  const shown = `${view.commitment} ${view.turns[0].prompt}`;
  const fresh = shown !== drawn;
  const continued = !fresh && view.turns.length > turns;
  if (fresh) { forgetOrder(); unmark(); }
  if (votedOf(view)) sent = false;
  drawn = shown;
  turns = view.turns.length;
  meet([...actions(view), ordering, ...(why ? [whyAction()] : [])].map(nameOf));
  paint((el) => [
    roundHead(el, view, { tools: [...differenceButton(el, view), ...(view.error ? [] : judgeButton(el, view))], switches: [reading.node(el), keySwitch(el), ...staySwitch(el, view)] }),
    ...differenceNote(el),
    ...resultNodes(el, view, resultTools(el, view)),
    ...view.turns.flatMap((turn, number) => turnNodes(el, view, turn, number)),
    ...foot(el, view),
  ]);
  if (markWords()) redraw(); // how many there are
  watchResult();
  showResult();
  if (fresh && view.resumed) makeRoom(false);
  if (view.resumed || !(fresh || continued)) return;
  if (fresh) makeRoom(takeFocus(view.turns[0].prompt));
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
const accept = () => { if (!takeReason(props.value)) take(props.value); };
watch("value", accept);
accept();
