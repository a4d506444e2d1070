// A vote that can still be undone: what is said of it, and for how long. The server's clock counts;
// this one only says when to look.
let until = 0; // when the time is over, in milliseconds of this page
let ticking;
let asking; // milliseconds until the server is asked once more how the vote is
let undone = null; // the vote that was taken back last, while its round is on show
let lastUntil = 0; // when the time of the vote on the battle before is over
let lastKnown = null; // which vote that is
let takenBack = null; // the vote on the battle before, while it is being taken back

const listed = (places) => {
  const letters = places.map((index) => LETTERS[index]);
  return letters.length > 1 ? say("{one} and {other}", {
    one: letters.slice(0, -1).join(", "), other: letters.at(-1),
  }) : letters[0];
};

const THEN = say(", then ");
const inWords = ({ ranks, both_bad }) => {
  if (both_bad) return ranks.length > 2 ? say("all are bad") : say("both are bad");
  if (Math.max(...ranks) === 1) return say("a tie");
  if (ranks.length === 2) return say("{name} is better", { name: LETTERS[ranks.indexOf(1)] });
  const places = [...new Set(ranks)].sort((a, b) => a - b);
  const groups = places.map((place) => ranks.flatMap((rank, at) => (rank === place ? [at] : [])));
  return `${groups.map(listed).join(THEN)}`;
};

const namesInWords = ({ models }) => {
  const names = models.map((model, index) => say("{letter} is {model}", { letter: LETTERS[index], model }));
  return `${names.join(", ")}.`;
};

// The vote, whether or not it counts yet and the names are told.
const votedOf = (view) => view?.reveal ?? view?.recorded ?? view?.counted;

// What became of the vote, in the line that is read aloud: it changes with the vote, never with the
// seconds.
const voteInWords = (view) => {
  const reveal = view.reveal;
  if (reveal) {
    if (reveal.source === null) return say("The judge has decided. {names}", { names: namesInWords(reveal) });
    const what = reveal.source === "identical" ? say("Identical answers: a tie.")
      : say("Counted: {vote}.", { vote: inWords(reveal) });
    return `${what} ${namesInWords(reveal)}`;
  }
  if (view.counted) return say("Counted: {vote}.", { vote: inWords(view.counted) });
  if (view.recorded) {
    const vote = inWords(view.recorded);
    return view.recorded.early ? say("Recorded: {vote}. Answers stopped.", { vote })
      : say("Recorded: {vote}.", { vote });
  }
  if (undone) {
    return undone.early ? say("Undone. Vote again. The answers stay stopped.") : say("Undone. Vote again.");
  }
  return lastLeft(view) ? say("Recorded before: {vote}.", { vote: inWords(view.last) }) : "";
};

const secondsTo = (moment) => Math.max(0, Math.ceil((moment - performance.now()) / 1000));
const secondsLeft = () => secondsTo(until);
const lastLeft = (view) => (view?.last && !votedOf(view) ? secondsTo(lastUntil) : 0);

const countDown = () => {
  clearTimeout(ticking);
  if (lastLeft(view)) ticking = setTimeout(() => { redraw(); countDown(); }, (lastUntil - performance.now()) % 1000 || 1000);
  if (!view?.recorded) return;
  const left = until - performance.now();
  if (left > 0) {
    ticking = setTimeout(() => { redraw(); countDown(); }, left % 1000 || 1000);
  } else {
    trigger("look");
    ticking = setTimeout(countDown, asking);
    asking = Math.min(2 * asking, LONGEST);
  }
};

const sameTexts = (one, other) => JSON.stringify(one.turns) === JSON.stringify(other.turns);

// Takes note of a view that has come, and of the one before.
const noteVote = (before) => {
  const same = before && view && before.commitment === view.commitment
    && before.turns.length === view.turns.length
    && (!view.stored || sameTexts(before, view)); // imports have no commitment
  if (votedOf(view) || !same) undone = null;
  else if (before.recorded) undone = before.recorded;
  if (takenBack && view && !votedOf(view) && !same) undone = takenBack;
  takenBack = null;
  if (view?.last?.vote !== lastKnown) {
    lastKnown = view?.last?.vote;
    lastUntil = performance.now() + 1000 * (view?.last?.left ?? 0);
  }
  if (view?.recorded) {
    namesWanted = false;
    until = performance.now() + 1000 * view.recorded.left;
    asking = WAIT;
  }
  countDown();
};

// Where no name is told, a vote goes on to the next battle. It can be undone from there, or its reasons
// given, for which a visitor goes back. They may also choose to stay after each vote.
const STAYS = "coupled-arena-stay";
let stays = remembered(STAYS) === "on";
const goesOn = () => Boolean(view?.blind && view.stored && !stays);

const staySwitch = (el, view) => {
  if (!view.blind || !view.stored) return [];
  const box = el("stay switch", "input");
  box.type = "checkbox";
  box.checked = !stays;
  box.onchange = () => {
    stays = !box.checked;
    remembered(STAYS, stays ? "on" : "off");
  };
  const words = say("A vote goes on to the next battle (off: the battle stays, for your reasons)");
  return [el("stay", "label", "keys stay", [box, el("stay words", "span", "", words)])];
};

const lookingBack = (view) => {
  if (!view.last) return [];
  const back = (undo) => () => {
    takenBack = undo ? view.last : null;
    trigger("back", { undo });
  };
  const why = action("why", say("Say why"), "W", back(false));
  if (!lastLeft(view)) return [why];
  const also = view.size === 2 ? "Backspace" : null; // of an order that key takes back the last place
  return [{ ...action("undo", say("Undo"), "U", back(true)), also, count: lastLeft(view) }, why];
};

// There is nothing to wait for, either: the next battle lets the vote count.
const undoing = (view) => [
  { ...action("undo", say("Undo"), "U", () => trigger("undo")), also: "Backspace", count: secondsLeft() },
  view.blind ? action("next", say("Next battle"), "N", () => trigger("next"), "primary")
    : { ...action("names", say("Show the names now"), "N", () => { namesWanted = true; trigger("names"); }, "primary"), also: "Enter" },
];
