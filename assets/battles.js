// Draws the battles that the page's address asks for, or one of them, see views/battle_pages.py.
const WAIT = 5000; // milliseconds
const LONGEST = 30_000;
const FEW = 7; // fields in sight; the others are behind a click
const root = element.querySelector(".battles");
const paint = painter(root);
let view = null; // the last answer that was still asked for when it came
let replaying = false;
let questions = 0; // that were put to the server
let waiting;
let patience = WAIT;
root.tabIndex = -1;

const asked = () => {
  const given = new URLSearchParams(window.location.search);
  const here = given.has("battle") || given.has("model") || given.get("tab") === "battles";
  return here ? window.location.search : null;
};
const go = (address) => window.dispatchEvent(new CustomEvent("arena:go", { detail: address }));

const table = (el, key, { heads, rows }) => tableNode(el, key, "said", heads, rows.map((row, at) => el(
  `${key} row ${at}`, "tr", "",
  row.map(({ text, value }, n) => cellNode(el, `${key} ${at} ${n}`, text, { value })),
)));

// What is typed stays; what an address says replaces it.
const fill = (node, value) => {
  if (node.told === value) return;
  node.told = value;
  if (node.type === "checkbox") node.checked = value;
  else node.value = value;
};

const field = (el, { name, label, value, choices }) => {
  const ticked = typeof value === "boolean";
  const node = el(`field ${name}`, choices ? "select" : "input", "", (choices ?? []).map(
    ([key, text], at) => {
      const option = el(`field ${name} ${at}`, "option", "", text);
      option.value = key;
      return option;
    },
  ));
  node.name = name;
  if (!choices) node.type = ticked ? "checkbox" : "search";
  if (ticked) node.value = "1";
  node.onchange = choices || ticked ? () => node.form.requestSubmit() : null;
  fill(node, value);
  const text = el(`field ${name} label`, "span", "", label);
  return el(`field ${name} with`, "label", ticked ? "ticked" : "", ticked ? [node, text] : [text, node]);
};

const filters = (el, fields) => {
  const chosen = fields.slice(FEW).some(({ value }) => value);
  const more = el("more", "details", "", [
    el("more name", "summary", "", say("More filters")),
    el("more fields", "div", "fields", fields.slice(FEW).map((each) => field(el, each))),
  ]);
  if (chosen) more.open = true;
  const find = el("find", "button", "", say("Find"));
  find.type = "submit";
  const clear = link(el, "clear", "?tab=battles", say("All battles"));
  const form = el("filters", "form", "filters", [
    el("fields", "div", "fields", fields.slice(0, FEW).map((each) => field(el, each))),
    more,
    el("filter end", "p", "", [find, clear]),
  ]);
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", say("Which battles"));
  form.onsubmit = (event) => {
    event.preventDefault();
    const given = [...new FormData(form)].filter(([, value]) => value);
    go(`?${new URLSearchParams([["tab", "battles"], ...given])}`);
  };
  return form;
};

const listed = (el, { count, narrower, rows, newest, older }) => {
  const status = el("count", "p", "headline", count);
  status.setAttribute("role", "status");
  const pages = [];
  if (newest) pages.push(link(el, "newest", newest, say("Newest battles")));
  if (older) pages.push(link(el, "older", older, say("Older battles")));
  const pager = el("pages", "nav", "pages", pages);
  pager.setAttribute("aria-label", say("Pages"));
  return [
    status,
    el("narrower", "p", "pages", narrower.map(({ text, href }) => link(el, `only ${text}`, href, text))),
    el("rows", "ol", "found", foundRows(el, rows)),
    pager,
  ];
};

const nothingYet = (el, { text, offer }) => {
  const status = el("count", "p", "headline", text);
  status.setAttribute("role", "status");
  const leads = offer ? [el("example", "p", "to-example", [link(el, "to example", offer.href, offer.text)])] : [];
  return [status, ...leads];
};

const reading = readingSwitch("coupled-arena-viewed-texts", "exact");
const words = (el, key, kind, text) => textNode(el, key, kind, text, { formats: reading.formats() });

let byWord = false; // whether words that only one answer has are marked

const marked = (el, key, parts) => el(key, "div", "text words", parts.map(([text, differs], at) => (
  el(`${key} ${at}`, differs ? "mark" : "span", "", text)
)));

const wordSwitch = (el, turns) => {
  if (!turns.some(({ answers }) => answers.some(({ words: parts }) => parts))) return [];
  const button = el("by word", "button", "", say("Compare word by word"));
  button.type = "button";
  button.setAttribute("aria-pressed", String(byWord));
  button.onclick = () => {
    byWord = !byWord;
    draw();
  };
  return [el("comparing", "p", "replay", [button])];
};

const turnOf = (el, battle, turn, number) => {
  const texts = turn.answers.map(textOf);
  const differ = new Set(texts).size > 1;
  const cards = turn.answers.map((answer, at) => {
    const key = `answer ${number} ${at}`;
    return el(key, "article", "answer", [
      el(`${key} head`, "header", "", [
        el(`${key} letter`, "span", "", answer.letter),
        el(`${key} name`, "strong", "name", answer.model),
        el(`${key} notes`, "span", "notes", answer.notes),
      ]),
      byWord && answer.words ? marked(el, `${key} words`, answer.words)
        : differ && texts[at] ? dividedText(el, `${key} text`, answer, { formats: reading.formats() })
        : words(el, `${key} text`, "text", texts[at] || say("(no words)")),
    ]);
  });
  const system = turn.system
    ? [words(el, `system ${number}`, "system", say("System prompt: {text}", { text: turn.system }))] : [];
  return [
    ...system,
    words(el, `question ${number}`, "question", turn.prompt),
    el(`answers ${number}`, "div", `answers of-${cards.length}`, cards),
    ...divergenceNodes(el, battle.id, number, texts),
  ];
};

const replayed = (el, result) => {
  const button = el("replay", "button", "", replaying ? say("Decoding again…") : say("Replay"));
  button.type = "button";
  button.disabled = replaying;
  button.onclick = () => {
    replaying = true;
    draw();
    trigger("replay", { query: window.location.search });
  };
  const words = el("replayed", "span", "", replaying ? "" : result ?? "");
  words.setAttribute("role", "status");
  return el("replaying", "p", "replay", [button, words]);
};

const opened = (el, battle, result) => {
  const part = (key, name, inside) => [el(`${key} name`, "h3", "", name), inside];
  const { votes, verdicts, fingerprints } = battle;
  const nothing = (key, text) => el(key, "p", "hint", text);
  return [
    el("back", "p", "pages", [link(el, "back to", "?tab=battles", say("All battles"))]),
    el("title", "h2", "", battle.models.flatMap((model, at) => [
      el(`title ${at}`, "span", "", at ? say(" against {letter} ", { letter: battle.letters[at] }) : `${battle.letters[at]} `),
      link(el, `title ${at} page`, battle.pages[at], model),
    ])),
    ...(battle.wordless ? [nothing("wordless", battle.wordless)] : []),
    ...battle.turns.flatMap((turn, number) => turnOf(el, battle, turn, number)),
    ...wordSwitch(el, battle.turns),
    ...(battle.turns.length ? [reading.node(el)] : []),
    ...part("votes", say("Votes"), votes.rows.length ? table(el, "votes", votes)
      : nothing("no votes", say("Nobody has voted on it."))),
    ...part("verdicts", say("Verdicts of judges"), verdicts.rows.length ? table(el, "verdicts", verdicts)
      : nothing("no verdicts", say("No judge was asked."))),
    ...part("proof", say("How it was made"), facts(el, "facts", battle.facts)),
    el("print", "details", "", [
      el("print name", "summary", "", say("Versions, revisions and fingerprints ({n})", { n: fingerprints.length })),
      facts(el, "prints", fingerprints),
    ]),
    el("command", "p", "", [el("command is", "code", "", battle.command)]),
    replayed(el, result),
  ];
};

const draw = () => paint((el) => {
  const waiting = asked() !== null && view?.query !== asked();
  root.setAttribute("aria-busy", String(waiting));
  root.classList.toggle("waiting", waiting);
  if (!view) return [el("wait", "p", "hint", say("Looking for battles…"))];
  if (view.error) {
    const error = el("error", "p", "broken", view.error);
    error.setAttribute("role", "alert");
    return [error, el("back", "p", "pages", [link(el, "back to", "?tab=battles", say("All battles"))])];
  }
  if (view.nothing) return nothingYet(el, view.nothing);
  if (view.model) return modelPage(el, view.model);
  if (view.battle) return opened(el, view.battle, view.replayed);
  return [filters(el, view.fields), ...listed(el, view.list)];
});

// An answer may be lost on its way. And Gradio tells of none that equals the last it has had, even if
// that came while another address was asked for: their numbers make them differ.
const ask = () => {
  clearTimeout(waiting);
  if (asked() === null) return;
  questions += 1;
  trigger("look", { query: asked(), number: questions });
  waiting = setTimeout(() => { if (view?.query !== asked()) ask(); }, patience);
  patience = Math.min(2 * patience, LONGEST);
};

const look = () => {
  if (asked() === null) return;
  replaying = false;
  patience = WAIT;
  if (!view?.battle || view.query !== asked()) ask();
  draw();
};

const redraw = () => draw();
watch("value", () => {
  if (takeReason(props.value)) return;
  if (props.value?.query !== asked()) return;
  view = props.value;
  replaying = false;
  draw();
});
window.addEventListener("arena:address", look);
draw();
look();
