// How this visitor reads: texts formatted, or exactly as they were written.
const FORMATTED = say(
  "Formatted texts: tables, code, formulas (off: exactly as they were written)",
);
let texts = null; // what formats them (texts.js), once it is there; until then they are exact

const readingSwitch = (storedAs, usual) => {
  let formatted = (remembered(storedAs) ?? usual) === "formatted";
  const node = (el) => {
    const box = el("reading switch", "input");
    box.type = "checkbox";
    box.checked = formatted;
    box.onchange = () => {
      formatted = box.checked;
      remembered(storedAs, formatted ? "formatted" : "exact");
      redraw();
    };
    return el("reading", "label", "reading", [box, el("reading words", "span", "", FORMATTED)]);
  };
  return { node, formats: () => formatted && texts !== null };
};

// A long text stands in pieces, so that a browser lays out those in sight alone: a line of a million
// characters takes it seconds. They end where lines end, unless a line is longer than a piece.
const PIECE = 10_000; // characters
const inPieces = new WeakMap(); // what each element shows

const piecesOf = (text) => {
  const pieces = [];
  for (let at = 0, end; at < text.length; at = end) {
    end = at + PIECE;
    const line = end < text.length ? text.lastIndexOf("\n", end - 1) + 1 : 0;
    if (line > at) end = line;
    else if (text.codePointAt(end - 1) > 0xffff) end += 1;
    pieces.push(text.slice(at, end));
  }
  return pieces;
};

const writeExactly = (node, text) => {
  if (text.length <= PIECE) {
    if (inPieces.delete(node)) node.replaceChildren();
    writeText(node, text);
    return;
  }
  if (inPieces.get(node) === text) return;
  if (!inPieces.has(node)) node.replaceChildren();
  inPieces.set(node, text);
  const pieces = piecesOf(text);
  pieces.forEach((piece, at) => {
    const own = node.children[at] ?? node.appendChild(document.createElement("div"));
    own.className = "piece";
    writeText(own, piece);
  });
  for (const left of [...node.children].slice(pieces.length)) left.remove();
};

// Returns the element of a text; one that is still growing is drawn where it has grown.
const textNode = (el, key, className, text, { formats, growing = false }) => {
  if (formats) {
    const write = (node) => texts.write(node, text, growing, writeExactly);
    return el(`${key} formatted`, "div", `${className} formatted`, write);
  }
  const node = el(`${key} exact`, "div", `${className} exact`, (own) => writeExactly(own, text));
  node.dir = "auto";
  return node;
};

// When the page has nothing else to do. If it does not come, texts stay exact. The whole address: a
// browser takes that of compiled scripts for the page's.
(window.requestIdleCallback ?? setTimeout)(() => {
  import(new URL(TEXTS, document.baseURI).href).then((loaded) => {
    texts = loaded;
    texts.listen(() => redraw());
    redraw();
  }, () => {});
});
