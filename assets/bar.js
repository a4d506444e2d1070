// The bar with the vote lies at the lower edge of the window from the first word on: above it the
// panel takes what is left of the window, so that answers grow without moving it.
const BAR = 120; // CSS pixels; room for it at the least

// Gives a round that has come its place; whoever has just asked for it sees it from its beginning.
const makeRoom = (asked) => {
  if (!isShown()) return;
  const top = root.getBoundingClientRect().top;
  const hidden = top > window.innerHeight - BAR;
  const goes = asked ? top < 0 || top > window.innerHeight / 2 : hidden;
  root.style.minHeight = `calc(100dvh - ${goes ? 0 : Math.max(0, Math.round(top))}px)`;
  if (goes) root.scrollIntoView({ block: "start" });
};
