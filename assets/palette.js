// Ctrl-K, or Cmd-K on a Mac: one box that leads to tabs, models and battles. Tabs are those in sight;
// models and battles come from the server, once the tab of battles is in sight, too.
const PAUSE = 120; // milliseconds without a key, after which the server is asked
const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const KEYS = MAC ? "\u2318K" : say("Ctrl+K");
const root = element.querySelector(".go-to");
const paint = painter(root);
let words = "";
let questions = 0; // that were put to the server
const NOTHING = { words: "", models: [], battles: [] };
let found = NOTHING;
let chosen = 0;
let pausing;

const tabs = () => [...document.querySelectorAll("[role=tablist] > [role=tab]")]
  .filter((tab) => !tab.closest("[hidden], dialog") && tab.textContent.trim());
const named = (tab) => tab.textContent.trim();
const go = (address) => window.dispatchEvent(new CustomEvent("arena:go", { detail: address }));

const offered = () => {
  const wanted = words.toLowerCase();
  const fits = (...texts) => texts.some((text) => text.toLowerCase().includes(wanted));
  // Until the server has answered, what was found before is narrowed down.
  const there = (places) => places
    .filter(({ text, href }) => found.words === words || fits(text, href))
    .map(({ text, more = "", href }) => ({ text, more, key: href, act: () => go(href) }));
  const fitting = tabs().filter((tab) => fits(named(tab)));
  return [
    [say("Tabs"), fitting.map((tab) => ({ text: named(tab), more: "", key: named(tab), act: () => tab.click() }))],
    [say("Models"), there(found.models)],
    [say("Battles"), there(found.battles)],
  ].filter(([, choices]) => choices.length);
};
const choicesOf = () => offered().flatMap(([, choices]) => choices);

const ask = () => {
  clearTimeout(pausing);
  questions += 1; // an answer to what was typed before comes too late
  if (!tabs().some((tab) => named(tab) === say("Past battles"))) return;
  const number = questions;
  pausing = setTimeout(() => trigger("find", { words, number }), PAUSE);
};

const take = (choice) => {
  if (!choice) return;
  root.querySelector("dialog").close();
  choice.act();
};

const struck = (event) => {
  const choices = choicesOf();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.isComposing || !(step || event.key === "Enter")) return;
  event.preventDefault();
  if (event.key === "Enter") { take(choices[chosen]); return; }
  chosen = (chosen + step + choices.length) % Math.max(choices.length, 1);
  draw();
  root.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
};

const option = (el, choice, at) => {
  const node = el(`choice ${choice.key}`, "div", "choice", [
    el(`text ${choice.key}`, "span", "", choice.text), el(`more ${choice.key}`, "span", "hint", choice.more),
  ]);
  node.id = `go-to-${at}`;
  node.setAttribute("role", "option");
  node.setAttribute("aria-selected", String(at === chosen));
  node.onclick = () => take(choice);
  return node;
};

const listed = (el) => {
  let at = -1;
  const groups = offered().map(([name, choices]) => {
    const head = el(`head ${name}`, "div", "hint", name);
    head.setAttribute("role", "presentation");
    const group = el(`group ${name}`, "div", "", [head, ...choices.map((choice) => option(el, choice, at += 1))]);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", name);
    return group;
  });
  const list = el("list", "div", "choices", groups);
  list.id = "go-to-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", say("Go to"));
  return list;
};

const draw = () => paint((el) => {
  const count = choicesOf().length;
  const box = el("box", "input");
  box.placeholder = say("A tab, a model, a battle's number or first words");
  const facts = { role: "combobox", autocomplete: "off", "aria-label": say("Go to"), "aria-expanded": count > 0, "aria-autocomplete": "list" };
  const list = count ? { "aria-controls": "go-to-list", "aria-activedescendant": `go-to-${chosen}` } : {};
  for (const name of ["aria-controls", "aria-activedescendant"]) box.removeAttribute(name);
  for (const [name, value] of Object.entries({ ...facts, ...list })) box.setAttribute(name, value);
  box.onkeydown = struck;
  box.oninput = () => { words = box.value.trim(); chosen = 0; ask(); draw(); };
  const said = el("said", "p", "hint", count ? sayN("{n} place", "{n} places", count) : say("Nothing of this name."));
  said.setAttribute("role", "status");
  const dialog = el("dialog", "dialog", "ask", [box, ...(count ? [listed(el)] : []), said]);
  dialog.setAttribute("aria-label", say("Go to a tab, a model or a battle"));
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); }; // on the page around it
  return [dialog];
});

const toggle = () => {
  const dialog = root.querySelector("dialog");
  if (dialog.open) { dialog.close(); return; }
  if (document.querySelector("dialog[open]")) return; // which asks something
  words = root.querySelector("input").value = "";
  chosen = 0;
  found = NOTHING;
  draw();
  dialog.showModal();
  ask();
};

watch("value", () => {
  if (props.value?.number !== questions) return;
  found = { ...props.value, words };
  chosen = Math.min(chosen, Math.max(choicesOf().length - 1, 0));
  draw();
});
document.addEventListener("keydown", (event) => {
  const ours = (MAC ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) && !event.altKey && !event.shiftKey;
  if (!ours || event.key.toLowerCase() !== "k") return;
  event.preventDefault(); // some browsers look for something with it
  if (!event.repeat) toggle();
});
document.addEventListener("click", ({ target }) => { if (target.closest?.(".go-to-open")) toggle(); });
draw();
for (const button of document.querySelectorAll(".go-to-open")) {
  button.title = `${button.ariaLabel} (${KEYS})`;
  button.setAttribute("aria-keyshortcuts", MAC ? "Meta+K" : "Control+K");
}
