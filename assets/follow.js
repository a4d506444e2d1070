// What is on show: the panel's value, and what has come since on the stream of a running round.
const LOST = "The connection is lost. If no more words come, reload the page.";
const RETRY = 1000; // milliseconds
let view = null;
let stream = null;
let lost = false;

const follow = () => {
  stream?.close();
  stream = view?.running && view.events ? new EventSource(view.events) : null;
  if (!stream) return;
  const own = stream;
  own.onmessage = ({ data }) => {
    const { answers, more } = JSON.parse(data);
    const turn = view.turns.at(-1);
    turn.answers = answers ?? turn.answers.map((text, index) => text + more[index]);
    lost = false;
    redraw();
  };
  own.addEventListener("end", ({ data }) => {
    own.close();
    if (JSON.parse(data).look) { trigger("look"); return; }
    view.running = false;
    redraw();
  });
  own.onerror = () => { // the browser connects again, unless it was refused
    if (own.readyState !== EventSource.CLOSED || own !== stream) return;
    lost = true;
    redraw();
    setTimeout(() => { if (own === stream) trigger("look"); }, RETRY);
  };
};

const take = (value) => {
  view = value && {
    ...value, turns: value.turns.map((turn) => ({ ...turn, answers: [...turn.answers] })),
  };
  lost = false;
  follow();
  redraw();
};
