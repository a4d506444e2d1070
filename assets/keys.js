// Keys vote where nobody writes: with the focus on nothing or in this panel, unless switched off.
const WRITING = "textarea, select, [contenteditable=true], input:not([type=checkbox], [type=radio])";
const QUIET = 2000; // milliseconds after typing in which a key still belongs to what was typed
const STORED_AS = "coupled-arena-keys";
let typedIn = null; // the box that was typed in last
let typedAt = -Infinity;

const isWriting = (node) => Boolean(node?.matches?.(WRITING));
const noteTyping = (box, at) => { typedIn = box; typedAt = at; };
const isShown = () => element.offsetParent !== null;

let keysOn = remembered(STORED_AS) !== "off";

const keySwitch = (el) => {
  const box = el("keys switch", "input");
  box.type = "checkbox";
  box.checked = keysOn;
  box.onchange = () => {
    keysOn = box.checked;
    remembered(STORED_AS, keysOn ? "on" : "off");
    draw();
  };
  const words = say("The keys on the buttons vote, too. While you write in a box, they do not (Esc leaves the box)");
  return el("keys", "label", "keys", [box, el("keys words", "span", "", words)]);
};

// A new question has been asked: the focus moves here, but from a box in which somebody writes on.
// Returns whether it is here then.
const takeFocus = (asked) => {
  const box = document.activeElement;
  if (!isShown()) return false;
  if (isWriting(box)) {
    const words = (box.value ?? "").trim();
    if (words && words !== asked.trim()) return false;
    noteTyping(box, performance.now());
  }
  root.focus({ preventScroll: true });
  return true;
};

// Empties the box that a question was sent from, once it is on show. What somebody has gone on to
// write, or wrote without sending it, stays. Here and at once: no key is struck meanwhile.
const emptyBox = (selector, sent) => {
  const box = document.querySelector(selector);
  if (!box?.value.trim().startsWith(sent.trim())) return;
  box.value = box.value.trimStart().slice(sent.trim().length).trimStart();
  box.dispatchEvent(new Event("input", { bubbles: true }));
};

const meansUs = (event) => {
  const modified = event.ctrlKey || event.metaKey || event.altKey
    || (event.shiftKey && event.key !== "="); // some keyboards need Shift to write it
  const composing = event.isComposing || event.keyCode === 229;
  if (modified || composing || event.repeat || event.defaultPrevented) return false;
  const pressesControl = event.target !== root && [" ", "Enter"].includes(event.key);
  if (root.contains(event.target)) return !pressesControl;
  return event.target === document.body || event.target === document.documentElement;
};

// Which answer a key names: by the letter on its card, or by its number.
const answerOf = (key) => {
  const index = key.length === 1 ? LETTERS.indexOf(key.toUpperCase()) : -1;
  return index < 0 ? Number(key) - 1 : index;
};

document.addEventListener("pointerdown", () => { typedAt = -Infinity; }, true);

document.addEventListener("keydown", (event) => {
  if (!view || !isShown()) return;
  if (isWriting(event.target)) {
    noteTyping(event.target, event.timeStamp);
    if (event.key === "Escape" && !event.isComposing && event.target.matches("textarea")) {
      typedAt = -Infinity;
      root.focus();
    }
    return;
  }
  if (!keysOn || view.error || !meansUs(event)) return;
  const index = answerOf(event.key);
  const open = !votedOf(view) && !view.judging;
  const place = open && view.size > 2 && index >= 0 && index < view.size;
  const struck = event.key.toLowerCase();
  const found = actions(view)
    .find(({ key, also }) => [key, also].some((name) => name?.toLowerCase() === struck));
  if (event.timeStamp - typedAt < QUIET) { // the rest of a sentence goes where it began
    if (event.key.length > 1) return;
    typedAt = event.timeStamp;
    if (typedIn?.offsetParent) typedIn.focus({ preventScroll: true });
  } else if (place) {
    event.preventDefault();
    if (hears(nameOf(ordering), event.timeStamp)) choose(index);
  } else if (found) {
    event.preventDefault();
    if (!found.off && hears(nameOf(found), event.timeStamp)) found.act();
  }
});
