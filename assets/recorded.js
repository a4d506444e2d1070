// A vote that can still be undone: what is said of it, and for how long. The server's clock counts;
// this one only says when to look.
let until = 0; // when the time is over, in milliseconds of this page
let ticking;
let asking; // milliseconds until the server is asked once more how the vote is
let undone = null; // the vote that was taken back last, while its round is on show

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
  return !undone ? "" : undone.early ? say("Undone. Vote again. The answers stay stopped.")
    : say("Undone. Vote again.");
};

const secondsLeft = () => Math.max(0, Math.ceil((until - performance.now()) / 1000));

const countDown = () => {
  clearTimeout(ticking);
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
  if (!view?.recorded) return;
  namesWanted = false;
  until = performance.now() + 1000 * view.recorded.left;
  asking = WAIT;
  countDown();
};

// Where no name is told there is nothing to wait for: the next battle lets the vote count.
const undoing = (view) => [
  { ...action("undo", say("Undo"), "U", () => trigger("undo")), also: "Backspace", count: secondsLeft() },
  view.blind ? action("next", say("Next battle"), "N", () => trigger("next"), "primary")
    : { ...action("names", say("Show the names now"), "N", () => { namesWanted = true; trigger("names"); }, "primary"), also: "Enter" },
];
