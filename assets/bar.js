// The bar with the vote lies at the lower edge of the window from the first word on: above it the
// panel takes what is left of the window, so that answers grow without moving it.
const BAR = 150; // CSS pixels; room for it at the least

// Gives a round that has come its place; whoever has just asked for it sees it from its beginning.
const makeRoom = (asked) => {
  if (!isShown()) return;
  const top = root.getBoundingClientRect().top;
  const hidden = top > window.innerHeight - BAR;
  const goes = asked ? top < 0 || top > window.innerHeight / 2 : hidden;
  root.style.minHeight = `calc(100dvh - ${goes ? 0 : Math.max(0, Math.round(top))}px)`;
  if (goes) root.scrollIntoView({ block: "start" });
};

// A press is aimed at what people saw. So a button, and its key, is deaf for a while after it has
// come; one that stays as it is hears on. The while begins with the frame that shows the button, and
// a press counts from the moment in which it began: the page may be busy before and between.
const DEAF = 400; // milliseconds
const ordering = { at: "order", key: "" }; // choosing answers from best to worst, by whatever press
const seen = new Map(); // by button: the moment of its first frame, Infinity before it
let downAt = -Infinity; // when the pointer went down last

const meet = (names) => {
  for (const name of [...seen.keys()]) if (!names.includes(name)) seen.delete(name);
  const fresh = names.filter((name) => !seen.has(name));
  if (!fresh.length) return;
  const moment = { at: Infinity };
  for (const name of fresh) seen.set(name, moment);
  requestAnimationFrame(() => setTimeout(() => { // what follows a frame comes after its painting
    moment.at = performance.now();
    setTimeout(() => redraw(), DEAF + 10); // a timer may be a little early
  }));
};

// What a button is, beyond its place: of this round and turn, for this deed.
const nameOf = ({ at, key }) => `${drawn} ${turns} ${at} ${key}`;
const hears = (name, at) => at - (seen.get(name)?.at ?? Infinity) >= DEAF;

const hearsEvent = (name, event) => hears(name, event.detail ? downAt : event.timeStamp);
document.addEventListener("pointerdown", (event) => { downAt = event.timeStamp; }, true);
