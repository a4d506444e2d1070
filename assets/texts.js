// Turns a text into what its Markdown means: lists, tables, code, formulas. What models write is
// hostile: no markup of theirs is kept, and nothing is asked of the network.
// A text is split into blocks, each drawn again only when its own source has changed.
import { drawFormula, formulas } from "./formulas.js";

const LONGEST_TEXT = 200_000; // characters; what is longer is shown as it was written
const LONGEST_BLOCK = 20_000;
const MOST_COLOURED = 10_000; // characters of code in a text: so many take .2 s to put into the page
const PATIENCE = 2000; // milliseconds that colouring may take
const DEEPEST = 40; // levels of lists and quotations
const AT_ONCE = 25; // milliseconds of drawing, after which the page gets its turn
const SHARE = 8; // a text that grows is drawn again after so many times what that took
const SAFE_LINK = /^(?:https?|mailto):/i;

const loaded = (node, address, name) => new Promise((done, failed) => {
  node[name] = new URL(address, import.meta.url).href;
  node.onload = done;
  node.onerror = () => failed(new Error(`${address} did not come`));
  document.head.append(node);
});
const script = (address) => loaded(document.createElement("script"), address, "src");
const style = (address) =>
  loaded(Object.assign(document.createElement("link"), { rel: "stylesheet" }), address, "href");

const listeners = [];
let version = 0; // of what texts are drawn with

// Have a function called when there is more to draw of texts that were written.
export const listen = (listener) => { listeners.push(listener); };

let announced;
const announce = (wait = 16) => {
  clearTimeout(announced);
  announced = setTimeout(() => { version += 1; for (const listener of listeners) listener(); }, wait);
};

// Returns a function that tells whether a library is there, and loads it when first asked.
const onDemand = (load) => {
  let state = "absent";
  return () => {
    if (state === "absent") {
      state = "coming";
      load().then(() => { state = "here"; announce(); }, () => { state = "lost"; });
    }
    return state === "here";
  };
};
const hasFormulas = onDemand(() => Promise.all([
  script("vendor/katex/katex.min.js"), style("vendor/katex/katex.min.css"),
]));

// The colours of code come from beside the page: one expression of the library's can take minutes
// on one line of "a<b> a<b> …". What takes too long stays plain.
const KEPT = 500;
const colours = new Map(); // markup by language and source; null for code that stays plain
const asked = [];
let colourist;

const coloured = (value) => {
  const [{ key }] = asked.splice(0, 1);
  if (colours.size >= KEPT) colours.clear();
  colours.set(key, value);
  if (asked.length) askNext();
  else announce();
};

const colouristOf = () => {
  const worker = new Worker(new URL("colours.js", import.meta.url));
  let late;
  const done = (value) => { clearTimeout(late); coloured(value); };
  const giveUp = () => { worker.terminate(); colourist = undefined; done(null); };
  worker.onmessage = ({ data: { begun, value } }) => {
    if (begun) late = setTimeout(giveUp, PATIENCE);
    else done(value);
  };
  worker.onerror = (event) => { event.preventDefault(); giveUp(); };
  return worker;
};

const askNext = () => {
  colourist ??= colouristOf();
  colourist.postMessage(asked[0]);
};

// Returns the colours of code, undefined while they are on their way.
const coloursOf = (language, source) => {
  const key = `${language} ${source}`;
  if (!colours.has(key) && !asked.some((each) => each.key === key)) {
    asked.push({ key, language, source });
    if (asked.length === 1) askNext();
  }
  return colours.get(key);
};

await Promise.all([
  script("vendor/markdown-it/markdown-it.umd.min.js"),
  script("vendor/dompurify/purify.min.js"),
  style("texts.css"),
]);

// Without `reference`: such lines would vanish, and blocks would depend on each other.
const markdown = () =>
  window.markdownit({ html: false, breaks: true }).disable("reference").use(formulas);

const splitter = markdown();
splitter.core.ruler.enableOnly(["block"]);

const writer = markdown();
writer.validateLink = (address) => SAFE_LINK.test(address.trim());
const { rules } = writer.renderer;
const { escapeHtml } = writer.utils;
rules.fence = (tokens, at) => {
  const language = tokens[at].info.trim().split(/\s/)[0].slice(0, 20);
  const named = language ? ` data-language="${escapeHtml(language)}"` : "";
  return `<pre><code${named}>${escapeHtml(tokens[at].content)}</code></pre>`;
};
rules.image = (tokens, at) =>
  escapeHtml(`${tokens[at].content} (${tokens[at].attrGet("src")})`.trim());
for (const cell of ["th_open", "td_open"]) {
  rules[cell] = (tokens, at) => {
    const side = tokens[at].attrGet("style")?.split(":")[1];
    return `<${tokens[at].tag}${side ? ` class="to-${side}"` : ""}>`;
  };
}
for (const heading of ["heading_open", "heading_close"]) {
  rules[heading] = (tokens, at) => { // the page has headings of its own above these
    const tag = `h${Math.min(6, Number(tokens[at].tag[1]) + 2)}`;
    return heading === "heading_open" ? `<${tag}>` : `</${tag}>`;
  };
}

const PURE = {
  ALLOWED_TAGS: [
    ..."p br hr h3 h4 h5 h6 strong em s blockquote ul ol li pre code a span div".split(" "),
    ..."table thead tbody tr th td #text".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "start", "class", "data-language"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: SAFE_LINK,
  ADD_URI_SAFE_ATTR: ["start", "data-language"],
  RETURN_DOM_FRAGMENT: true,
};
const COLOURS = { ALLOWED_TAGS: ["span", "#text"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };

const made = (tag, className, ...children) => {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children);
  return node;
};

const showLink = (link) => {
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  const address = link.getAttribute("href") ?? "";
  const said = link.textContent;
  if (said !== address && `mailto:${said}` !== address) {
    link.after(made("bdi", "address", ` (${address})`));
  }
};

const showCode = (code) => {
  code.source = code.textContent;
  const pre = code.parentNode;
  pre.dir = "ltr";
  pre.tabIndex = 0;
  const copy = made("button", "copy", say("Copy"));
  copy.type = "button";
  const box = made("div", "code");
  pre.replaceWith(box);
  box.append(made("div", "code-head", made("span", "", code.dataset.language ?? ""), copy), pre);
};

const showTable = (table) => {
  const wide = made("div", "wide");
  wide.tabIndex = 0;
  wide.dir = "auto";
  table.removeAttribute("dir");
  table.replaceWith(wide);
  wide.append(table);
};

// Returns the nodes of a block, formulas and code as they were written.
const nodesOf = (source) => {
  const fragment = window.DOMPurify.sanitize(writer.render(source), PURE);
  for (const node of [...fragment.childNodes]) if (node.nodeType === Node.TEXT_NODE) node.remove();
  for (const node of fragment.children) node.dir = "auto"; // from its words: code has none
  for (const node of fragment.querySelectorAll("code, .formula")) node.dir = "ltr";
  for (const link of fragment.querySelectorAll("a")) showLink(link);
  for (const code of fragment.querySelectorAll("pre > code")) showCode(code);
  for (const formula of fragment.querySelectorAll(".formula")) formula.source = formula.textContent;
  for (const table of fragment.querySelectorAll("table")) showTable(table);
  return fragment;
};

const colour = (code) => {
  const { language } = code.dataset;
  if (!language || code.coloured) return false;
  const value = coloursOf(language, code.source);
  if (value === undefined) return true;
  code.coloured = true;
  if (value !== null) code.replaceChildren(window.DOMPurify.sanitize(value, COLOURS));
  return false;
};

const codeIn = (node) => [...node.querySelectorAll("pre > code")];
const AT_LEAST = 20; // each is asked for by itself
const lengthOf = (codes) =>
  codes.reduce((sum, { source }) => sum + Math.max(AT_LEAST, source.length), 0);

// Draws formulas and colours of a block; returns whether some wait, for a library or their turn.
const enrich = (node, withColours) => {
  const began = performance.now();
  let waits = false;
  for (const formula of node.querySelectorAll(".formula:not(.drawn)")) {
    const late = performance.now() - began > AT_ONCE;
    waits = late || !hasFormulas();
    if (late) announce();
    if (waits) break;
    drawFormula(formula);
  }
  if (!withColours) return waits;
  for (const code of codeIn(node)) waits = colour(code) || waits;
  return waits;
};

// Returns the sources of a text's blocks; those too long or too deep are to stay as written.
const blocksOf = (text) => {
  const source = text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd");
  if (source.length > LONGEST_TEXT) return [{ source: text, exact: true }];
  const lines = source.split("\n");
  const blocks = [];
  for (const { level, map, nesting } of splitter.parse(source, {})) {
    if (level === 0 && map && nesting >= 0) {
      const own = lines.slice(...map).join("\n");
      blocks.push({ source: own, exact: own.length > LONGEST_BLOCK });
    } else if (level > DEEPEST) blocks.at(-1).exact = true;
  }
  return blocks;
};

const writeData = (node, text) => {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
};

const sameShell = (one, other) => one.nodeType === Node.ELEMENT_NODE
  && one.cloneNode(false).isEqualNode(other.cloneNode(false));

// Makes the children of an element those of another one. What is equal stays the same node, so
// that selections, the focus and the place in wide code hold.
const adopt = (old, fresh) => {
  const there = [...old.childNodes];
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    const now = there[at];
    if (!now) old.append(node);
    else if (node.source !== undefined && now.source === node.source) return;
    else if (now.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) {
      writeData(now, node.data);
    } else if (now.isEqualNode(node)) return;
    else if (sameShell(now, node)) {
      adopt(now, node);
      Object.assign(now, { source: node.source, coloured: false });
    } else now.replaceWith(node);
  });
  for (const node of there.slice(wanted.length)) node.remove();
};

const copied = async (button) => {
  const code = button.closest(".code").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch { // without a secure connection there is no clipboard
    window.getSelection().selectAllChildren(code);
    document.execCommand("copy");
  }
  button.textContent = say("Copied");
  setTimeout(() => { button.textContent = say("Copy"); }, 1500);
};

// What is pressed within a text is not a press on the card that it stands in.
const answerPress = (event) => {
  const button = event.target.closest("button.copy");
  if (button) copied(button);
  if (button || event.target.closest("a")) event.stopPropagation();
};

const written = new WeakMap(); // what each element shows

const begin = (node) => {
  const shown = { text: null, growing: false, version, blocks: [], rests: 0 };
  written.set(node, shown);
  node.addEventListener("click", answerPress);
  return shown;
};

// Shows a text in an element. While it grows, the code of its last block has no colours yet. What
// is to stay as it was written, `writeExactly` draws.
export const write = (node, text, growing, writeExactly) => {
  const shown = written.get(node) ?? begin(node);
  if (shown.text === text && shown.growing === growing && shown.version === version) return;
  const began = performance.now();
  const grown = growing && shown.text !== null && text.startsWith(shown.text);
  if (grown && began < shown.rests) { announce(shown.rests - began); return; }
  const blocks = shown.text === text ? shown.blocks : blocksOf(text);
  const before = shown.blocks;
  let room = MOST_COLOURED;
  shown.blocks = blocks.map(({ source, exact }, at) => {
    const old = before[at];
    const complete = !growing || at < blocks.length - 1;
    const key = `${complete} ${exact} ${source}`;
    if (old?.key === key && (!old.waits || old.version === version)) {
      room -= old.code;
      return old;
    }
    const late = !exact && performance.now() - began > AT_ONCE;
    if (late) announce();
    const asWritten = exact || late;
    const own = old?.asWritten === asWritten ? old.node : made("div", "block");
    let waits = late;
    let code = 0;
    if (asWritten) {
      own.classList.add("exact");
      own.dir = "auto";
      writeExactly(own, source);
    } else {
      if (old?.source !== source || old.node !== own) adopt(own, nodesOf(source));
      code = lengthOf(codeIn(own));
      room -= code;
      waits = enrich(own, complete && room >= 0);
    }
    if (!old) node.append(own);
    else if (old.node !== own) old.node.replaceWith(own);
    return { source, exact, node: own, key: late ? null : key, asWritten, code, waits, version };
  });
  for (const { node: left } of before.slice(blocks.length)) left.remove();
  const ended = performance.now();
  Object.assign(shown, { text, growing, version, rests: ended + SHARE * (ended - began) });
};
