// Help at every term: a sentence of the glossary (TERMS) beside the pointer, at the focus or at a tap.
// A term in a sentence or a label gets a dotted line; beside a heading of a table stands a sign, since
// the heading itself sorts. What a term means is told to screen readers as its description.
(() => {
  const SENTENCES = ".headline, .method, .findings li, .figure-foot details p";
  const LABELS = "[data-testid=block-info], .battles .fields label > span";
  const HEADINGS = ".board thead th";
  const OPTIONS = "[data-testid$=-radio-label]";
  const OUTSIDE = "#round, .comparison, .history, .glossary";
  const WAIT = 250; // milliseconds, lest each word of an answer has the page looked through
  const known = new WeakMap(); // its terms and words when it was looked through

  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = (form) => escape(form).replace("\\*", "[\\p{L}-]*").replace(/ /g, "\\s+");
  const terms = TERMS.flatMap((term) => term.forms.split("|").map((form) => ({
    ...term,
    length: form.length,
    found: new RegExp(`(?<![\\p{L}\\p{N}])${pattern(form)}(?![\\p{L}\\p{N}])`, "iu"),
  }))).sort((one, other) => other.length - one.length); // "error level alpha" before "error level"

  // One element tells all: in the top layer, so that no block cuts it off.
  const tip = document.createElement("div");
  tip.className = "term-tip";
  tip.setAttribute("popover", "manual");
  tip.setAttribute("role", "tooltip");
  tip.setAttribute("aria-hidden", "true"); // the description says the same
  const told = document.createElement("div");
  told.className = "glossary";
  told.hidden = true;
  for (const { name, meaning } of TERMS) {
    const one = document.createElement("span");
    one.id = `term-${name}`;
    one.textContent = meaning;
    told.append(one);
  }
  let shown = null; // the term that the tip speaks of
  let leaving;

  const place = (node) => {
    const at = node.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const below = at.bottom + 6 + height < window.innerHeight;
    tip.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - width - 8))}px`;
    tip.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - height - 6)}px`;
  };
  const open = (node) => {
    clearTimeout(leaving);
    if (shown === node) return;
    const term = TERMS.find(({ name }) => name === node.dataset.term);
    const title = document.createElement("b");
    title.textContent = term.title;
    tip.replaceChildren(title, ` ${term.meaning}`);
    if (!tip.matches(":popover-open")) tip.showPopover();
    shown = node;
    place(node);
  };
  const close = () => {
    clearTimeout(leaving);
    if (shown && tip.isConnected) tip.hidePopover();
    shown = null;
  };
  const leave = () => { clearTimeout(leaving); leaving = setTimeout(close, 200); };

  const mark = (name) => {
    const node = document.createElement("span");
    node.className = "term";
    node.tabIndex = 0;
    node.dataset.term = name;
    node.setAttribute("role", "button"); // in a label a button would be what the label is of
    node.setAttribute("aria-describedby", `term-${name}`);
    return node;
  };

  // Marks the first place of each term in the texts of an element.
  const wrap = (root, inline) => {
    const done = new Set();
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, {
      acceptNode: ({ parentElement }) => (parentElement.closest("a, button, .term, code, svg")
        ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
    });
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (let text of texts) {
      while (text) {
        const hits = terms.filter((term) => !done.has(term.name) && (term.inline || !inline))
          .map((term) => ({ term, hit: term.found.exec(text.data) })).filter(({ hit }) => hit);
        // The first in the text; of two at one place the longer one, which stands first.
        const next = hits.sort((one, other) => one.hit.index - other.hit.index)[0];
        if (!next) break;
        const { term: { name }, hit } = next;
        done.add(name);
        const word = text.splitText(hit.index);
        text = word.splitText(hit[0].length);
        const node = mark(name);
        word.before(node);
        node.append(word);
      }
    }
  };

  // Gradio keeps the text node of a label, and writes into it: it is moved whole.
  const label = (root) => {
    if (root.querySelector(".term")) return;
    const text = [...root.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const term = text && terms.find(({ found }) => found.test(text.data));
    if (!term) return;
    const node = mark(term.name);
    text.before(node);
    node.append(text);
  };

  const sign = (term) => {
    const node = mark(term.name);
    node.classList.add("sign");
    node.ariaLabel = say("What is “{term}”?", { term: term.title });
    return node;
  };
  const heading = (head) => {
    if (head.querySelector(".term")) return;
    const term = terms.find(({ found }) => found.test(head.textContent));
    if (term) head.append(sign(term));
  };
  const option = (choice) => {
    if (choice.nextElementSibling?.matches(".term")) return;
    const words = choice.textContent.trim();
    const term = terms.find(({ found }) => found.exec(words)?.[0].length === words.length);
    if (term) choice.after(sign(term));
  };

  const each = (selector, act) => {
    for (const node of document.querySelectorAll(selector)) {
      // What draws it again may leave the words and take the terms away.
      const now = () => `${node.querySelectorAll(".term").length} ${node.textContent}`;
      if (node.closest(OUTSIDE) || known.get(node) === now()) continue;
      act(node);
      known.set(node, now());
    }
  };
  const look = () => {
    if (!told.isConnected) document.querySelector("main")?.append(told, tip);
    if (shown && !shown.isConnected) close();
    each(SENTENCES, (node) => wrap(node, true));
    each(LABELS, label);
    each(HEADINGS, heading);
    each(OPTIONS, option);
  };
  let due;
  const soon = () => { due ??= setTimeout(() => { due = undefined; look(); }, WAIT); };
  new MutationObserver(soon).observe(document, { childList: true, subtree: true, characterData: true });

  const termOf = ({ target }) => target.closest?.(".term");
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const node = termOf(event);
    if (node) open(node);
    else if (tip.contains(event.target)) clearTimeout(leaving);
    else if (shown && document.activeElement !== shown) leave();
  });
  document.addEventListener("focusin", (event) => {
    const node = termOf(event);
    if (node?.matches(":focus-visible")) open(node);
  });
  document.addEventListener("focusout", (event) => { if (termOf(event)) leave(); });
  document.addEventListener("click", (event) => {
    const node = termOf(event);
    if (!node) { close(); return; }
    event.preventDefault(); // a label would hand the press on to its field
    event.stopImmediatePropagation();
    open(node);
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && shown) { close(); return; }
    const node = termOf(event);
    if (!node || ![" ", "Enter"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation(); // no key of the battle
    if (shown === node) close();
    else open(node);
  }, true);
  window.addEventListener("scroll", close, { passive: true, capture: true });
  soon();
})();
