// Formulas within Markdown: $…$, $$…$$, \(…\), \[…\], drawn by KaTeX once that is there.
const LONGEST = 4000; // characters; what is longer stays as it was written
const KEPT = 500; // drawn formulas: an answer that grows shows the same ones again and again
const ENDS = { "\\(": "\\)", "\\[": "\\]", "$$": "$$" };

const WORD = /[\p{L}\p{N}]/u;
const PROSE = /^\d[\d.,]*\s+\p{L}{2}|\p{L}{2}\s+\p{L}{2}/u;

// `$5 and $10` is money: a formula's dollars touch what they enclose, and no word outside.
const isFormula = (source, start, end) => {
  const inside = source.slice(start, end);
  return inside !== "" && inside.trim() === inside
    && !WORD.test(source[start - 2] ?? "") && !/[{\p{L}\p{N}]/u.test(source[end + 1] ?? "")
    && (inside.includes("\\") || !PROSE.test(inside));
};

const dollarEnd = (source, start, last) => {
  for (let at = start; at < last; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "$") return at;
  }
  return -1;
};

const inline = (state, silent) => {
  const { src, pos } = state;
  const two = src.slice(pos, pos + 2);
  const end = Object.hasOwn(ENDS, two) ? ENDS[two] : "$";
  if (end === "$" && src[pos] !== "$") return false;
  const start = pos + (end === "$" ? 1 : 2);
  const last = Math.min(state.posMax, start + LONGEST);
  let at;
  if (end === "$") {
    at = dollarEnd(src, start, last);
    if (at < 0 || !isFormula(src, start, at)) return false;
  } else {
    at = src.slice(start, last).indexOf(end);
    if (at < 0) return false;
    at += start;
  }
  if (!src.slice(start, at).trim()) return false;
  if (!silent) {
    const token = state.push("formula", "", 0);
    token.content = src.slice(start, at);
    token.markup = two[0] === "$" && end === "$" ? "$" : two;
  }
  state.pos = at + end.length;
  return true;
};

// A formula on lines of its own, without empty ones, as in TeX.
const block = (state, first, end, silent) => {
  const begin = state.bMarks[first] + state.tShift[first];
  const open = state.src.slice(begin, begin + 2);
  if (state.sCount[first] - state.blkIndent >= 4 || (open !== "$$" && open !== "\\[")) return false;
  const close = ENDS[open];
  const lines = [];
  for (let line = first; line < end; line++) {
    const from = line === first ? begin + 2 : state.bMarks[line] + state.tShift[line];
    const text = state.src.slice(from, Math.min(state.eMarks[line], begin + LONGEST));
    const at = text.indexOf(close);
    const stops = state.isEmpty(line) || state.sCount[line] < state.blkIndent
      || from > begin + LONGEST || (open === "\\[" && text.startsWith(open));
    if (line > first && stops) return false;
    lines.push(at < 0 ? text : text.slice(0, at));
    if (at < 0) continue;
    if (text.slice(at + 2).trim() || !lines.join("").trim()) return false;
    if (silent) return true;
    const token = state.push("formula", "", 0);
    token.block = true;
    token.content = lines.join("\n");
    token.markup = open;
    token.map = [first, line + 1];
    state.line = line + 1;
    return true;
  }
  return false;
};

export const formulas = (markdown) => {
  const { escapeHtml } = markdown.utils;
  markdown.inline.ruler.before("escape", "formula", inline);
  markdown.block.ruler.before("fence", "formula", block, {
    alt: ["paragraph", "blockquote", "list"],
  });
  markdown.renderer.rules.formula = (tokens, at) => {
    const { content, markup, block: alone } = tokens[at];
    const tag = alone ? "div" : "span";
    const kind = markup === "$$" || markup === "\\[" ? "formula display" : "formula";
    const written = `${markup}${content}${ENDS[markup] ?? markup}`;
    return `<${tag} class="${kind}">${escapeHtml(written)}</${tag}>`;
  };
};

const drawn = new Map();

// Nothing that a formula says may name an address or a class, or make the page large or slow.
const CAREFUL = { trust: false, strict: "ignore", maxExpand: 100, maxSize: 10 };
const PURE = {
  USE_PROFILES: { html: true, mathMl: true, svg: true },
  FORBID_TAGS: ["annotation", "img", "a", "form", "input", "button", "style"],
  FORBID_CONTENTS: ["annotation"],
  FORBID_ATTR: ["href", "xlink:href", "src", "id"],
  RETURN_DOM_FRAGMENT: true,
};

const draw = (written, displayMode) => {
  const open = written.startsWith("$") && !written.startsWith("$$") ? 1 : 2;
  const source = written.slice(open, -open);
  try {
    const html = window.katex.renderToString(source, { ...CAREFUL, displayMode });
    return window.DOMPurify.sanitize(html, PURE);
  } catch { // no formula, or one too deep for the stack: it stays as it was written
    return null;
  }
};

// Puts a drawn formula in place of its source, if it is one.
export const drawFormula = (node) => {
  const display = node.classList.contains("display");
  const key = `${display} ${node.textContent}`;
  if (!drawn.has(key)) {
    if (drawn.size >= KEPT) drawn.clear();
    drawn.set(key, draw(node.textContent, display));
  }
  const fragment = drawn.get(key);
  node.classList.add("drawn");
  if (fragment) node.replaceChildren(fragment.cloneNode(true));
};
