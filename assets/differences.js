// The words that only one of a turn's answers has, marked at a click. The browser marks ranges of the
// texts as they stand: nothing is drawn anew, and texts may be formatted or exact.
const ONLY_HERE = "only-here"; // its look is in texts.css
const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)?/gu;
const DIFFERS = { timeout: 300, maxEditLength: 20_000 }; // milliseconds, and words, of two texts
const UNREAD = ".katex-mathml, .code-head, .address"; // what a formatted text has beside its words
const marksWords = "Highlight" in window && Boolean(window.CSS?.highlights);
let differs = false; // whether they are marked
let library = null; // "coming" or "here", once it was asked for
let marked = null; // of what texts, with what ranges
let counts = []; // how many words only each answer of the newest turn has

const wantLibrary = () => {
  if (library) return;
  library = "coming";
  const node = document.createElement("script");
  node.src = new URL("vendor/diff/diff.min.js", new URL(TEXTS, document.baseURI)).href;
  node.onload = () => { library = "here"; redraw(); };
  node.onerror = () => { library = null; differs = false; redraw(); };
  document.head.append(node);
};

const wordsIn = (node) => {
  const words = [];
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (text.parentElement.closest(UNREAD)) continue;
    for (const found of text.data.matchAll(WORD)) {
      const end = found.index + found[0].length;
      words.push({ text, start: found.index, end, word: found[0].toLowerCase() });
    }
  }
  return words;
};

// Notes which words two texts share, in one order; of very different long ones, in any order.
const pairUp = (one, other) => {
  const [here, there] = [one, other].map((words) => words.map(({ word }) => word));
  const parts = window.Diff.diffArrays(here, there, DIFFERS);
  if (!parts) {
    const both = new Set(here).intersection?.(new Set(there)) ?? new Set(here.filter((word) => there.includes(word)));
    for (const each of [...one, ...other]) if (both.has(each.word)) each.shared = true;
    return;
  }
  let [at, then] = [0, 0];
  for (const { count, added, removed } of parts) {
    for (let n = 0; n < count; n++) {
      if (!added && !removed) one[at].shared = other[then].shared = true;
      if (!added) at += 1;
      if (!removed) then += 1;
    }
  }
};

// Words beside each other make one range, with what is between them.
const rangesOf = (words) => {
  const ranges = [];
  let last = null;
  for (const each of words) {
    if (each.shared) { last = null; continue; }
    if (last?.endContainer === each.text) last.setEnd(each.text, each.end);
    else {
      last = new Range();
      last.setStart(each.text, each.start);
      last.setEnd(each.text, each.end);
      ranges.push(last);
    }
  }
  return ranges;
};

const unmark = () => {
  if (!marked) return;
  window.CSS.highlights.delete(ONLY_HERE);
  [marked, counts] = [null, []];
};

// Marks what is on show now; returns whether that has changed.
const markWords = () => {
  const shown = differs && view && !view.running && library === "here";
  if (!shown) { const had = Boolean(marked); unmark(); return had; }
  const turns = [...root.querySelectorAll(".answers")].map((turn) => [...turn.querySelectorAll(".text")]);
  const said = JSON.stringify(turns.map((nodes) => nodes.map((node) => node.textContent)));
  if (marked?.said === said && marked.ranges.every((range) => !range.collapsed)) return false;
  const ranges = [];
  for (const nodes of turns) {
    const texts = nodes.map(wordsIn);
    texts.forEach((one, at) => texts.slice(at + 1).forEach((other) => pairUp(one, other)));
    counts = texts.map((words) => words.filter(({ shared }) => !shared).length);
    for (const words of texts) ranges.push(...rangesOf(words));
  }
  marked = { said, ranges };
  window.CSS.highlights.set(ONLY_HERE, new window.Highlight(...ranges));
  return true;
};

// What it marks follows from the texts alone, so that it may be pressed before the vote. It has its
// room from the beginning: on a narrow page it takes a line, and would push the answers down.
const differenceButton = (el, view) => {
  if (!marksWords || view.error) return [];
  const ended = !view.running && !allAlike(view) && !isWordless(view);
  const node = el("differences", "button", ended ? "tool" : "tool later", say("Differences"));
  node.type = "button";
  node.title = say("Marks the words that only one answer has.");
  node.setAttribute("aria-pressed", String(differs));
  node.onclick = (event) => {
    event.stopPropagation();
    differs = !differs;
    if (differs) wantLibrary();
    redraw();
  };
  return [node];
};

const differenceNote = (el) => {
  const known = differs && counts.length;
  const words = known ? say("Underlined: words that only this answer has ({counts}).", {
    counts: counts.map((n, at) => `${LETTERS[at]}: ${n}`).join(", "),
  }) : "";
  const node = el("differences note", "p", words ? "hint" : "hint nothing", words);
  node.setAttribute("aria-live", "polite"); // `status` is what became of the vote
  return [node];
};
