// What is on show: the panel's value, and what has come since on the stream of a running round.
const LOST = say("The connection is lost. The page connects again by itself.");
const WAIT = 1000; // milliseconds
const LONGEST = 16_000;
let view = null;
let stream = null;
let lost = false;
let waiting; // for a broken connection
let patience = WAIT; // for the answer to a look, which may be lost too

const follow = () => {
  stream?.close();
  clearTimeout(waiting);
  stream = view?.running && view.events ? new EventSource(view.events) : null;
  if (!stream) return;
  const own = stream;
  own.onopen = () => {
    clearTimeout(waiting);
    if (lost) { lost = false; redraw(); }
  };
  own.onmessage = ({ data }) => {
    const { ahead, answers, more } = JSON.parse(data);
    const turn = view.turns.at(-1);
    view.ahead = ahead;
    turn.answers = answers ?? turn.answers.map((text, index) => text + more[index]);
    redraw();
  };
  own.addEventListener("end", ({ data }) => {
    own.close();
    clearTimeout(waiting);
    const { look, stopped } = JSON.parse(data);
    if (look) { trigger("look"); return; }
    view.running = false;
    view.turns.at(-1).stopped = stopped;
    redraw();
  });
  const complain = () => {
    if (own !== stream) return;
    lost = true;
    redraw();
    if (own.readyState !== EventSource.CLOSED) return; // the browser connects again by itself
    trigger("look"); // the answer opens another stream
    waiting = setTimeout(complain, patience);
    patience = Math.min(2 * patience, LONGEST);
  };
  own.onerror = () => { clearTimeout(waiting); waiting = setTimeout(complain, WAIT); };
};

const isOpen = () => view && !votedOf(view) && !view.error;
// What the page does where its server is away or was started again, see connection.js.
window.addEventListener("arena:lost", () => {
  stream?.close(); // it would ask ten times a second
  clearTimeout(waiting);
  lost = Boolean(isOpen());
  redraw();
});
window.addEventListener("arena:back", () => {
  lost = false;
  redraw();
  if (isOpen() && !view.stored) trigger("look"); // streams of before may have ended without a word
});
window.addEventListener("arena:keep", ({ detail }) => {
  if (isOpen()) Object.assign(detail, view.stored ? { stored: true } : { question: view.turns[0].prompt });
  if (why?.sent || (why && !isSame(why, view?.reasons ?? NOTHING))) {
    detail.reasons = { vote: why.vote, criteria: why.criteria, comment: why.comment };
  }
});

const take = (value) => {
  const before = view;
  patience = WAIT;
  view = value && {
    ...value, turns: value.turns.map((turn) => ({ ...turn, answers: [...turn.answers] })),
  };
  if (!view?.running) lost = false;
  noteVote(before);
  noteNewcomer();
  noteWhy(view);
  if (view?.reveal && !before?.reveal) window.dispatchEvent(new Event("arena:reveal"));
  followJudge();
  follow();
  redraw();
};
