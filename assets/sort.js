// Tables are sorted by their headings, and long ones searched by their rows' names where these have
// any. What redraws a table draws the rows in their own order, without these: what somebody chose is
// set again at once.
// A table that is drawn in place (tables.js) keeps its headings; its rows come in their own order.
(() => {
  const LONG = 10; // rows; a longer table has a search
  const FLIPPED = { ascending: "descending", descending: "ascending" };
  const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const tables = document.getElementsByClassName("board");
  const chosen = new Map(); // by table, or where it is drawn again by its place
  const prepared = new WeakMap(); // what was chosen, by table
  const unfolded = new Map();
  let focused = null;

  const isDrawn = (table) => table.classList.contains("drawn");
  const blockOf = (node) => node.closest(".block[id]");

  const keyOf = (table) => {
    const block = isDrawn(table) ? null : blockOf(table);
    return block ? `${block.id} ${[...block.getElementsByClassName("board")].indexOf(table)}` : table;
  };

  // The level of an interval may change, and two columns may be called the same.
  const namesOf = (heads) => {
    const seen = {};
    return heads.map((head) => {
      const text = head.textContent.replace(/^[\d.]+%/, "");
      seen[text] = (seen[text] ?? 0) + 1;
      return `${text} ${seen[text]}`;
    });
  };

  // A number where the cell has one, null where it is known to be unknown, else its text.
  const valueOf = (cell) => {
    const value = cell?.dataset.value;
    if (value === undefined) return cell?.textContent.trim() || null;
    return value === "" ? null : Number(value);
  };

  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number";
    return numbers ? a - b : byName.compare(String(a), String(b));
  };

  const inOrder = (rows, at, direction) => {
    if (at < 0 || !direction) return rows;
    const sign = direction === "ascending" ? 1 : -1;
    const values = new Map(rows.map((row) => [row, valueOf(row.cells[at])]));
    return [...rows].sort((one, other) => {
      const [a, b] = [values.get(one), values.get(other)];
      if (a === null || b === null) return (a === null) - (b === null); // what is unknown comes last
      return sign * compare(a, b);
    });
  };

  // The cell that names a row: its heading, which need not be the first.
  const nameAt = (row) => Math.max([...row.cells].findIndex((cell) => cell.tagName === "TH"), 0);

  const isSame = (rows, others) => rows.length === others.length
    && others.every((row, at) => row === rows[at]);

  const show = (table, state) => {
    const heads = [...table.tHead.rows[0].cells];
    const at = state.names.indexOf(state.column);
    heads.forEach((head, place) => {
      if (place === at && state.direction) head.setAttribute("aria-sort", state.direction);
      else head.removeAttribute("aria-sort");
    });
    state.shown = inOrder(state.rows, at, state.direction);
    if (!isSame(table.tBodies[0].rows, state.shown)) table.tBodies[0].append(...state.shown);
    const words = state.search?.value.trim().toLowerCase() ?? "";
    const named = (row) => row.cells[nameAt(row)].textContent.toLowerCase().includes(words);
    for (const row of state.rows) row.hidden = !named(row);
    const found = state.rows.filter((row) => !row.hidden).length;
    if (state.count) state.count.textContent = words ? say("{n} of {m}", { n: found, m: state.rows.length }) : "";
  };

  const press = (table, state, at) => {
    const name = state.names[at];
    const numbers = state.rows.some((row) => typeof valueOf(row.cells[at]) === "number");
    const first = numbers ? "descending" : "ascending";
    if (state.column !== name || !state.direction) [state.column, state.direction] = [name, first];
    else state.direction = state.direction === first ? FLIPPED[first] : null;
    show(table, state);
  };

  const button = (table, state, head, at) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "sort";
    made.append(...[...head.childNodes].filter((node) => !node.matches?.(".term"))); // see terms.js
    made.onclick = () => press(table, state, at);
    made.onfocus = () => { focused = { key: state.key, name: state.names[at] }; };
    // What is taken out of the page loses the focus first, and is to have it back.
    made.onblur = () => queueMicrotask(() => { if (made.isConnected) focused = null; });
    head.prepend(made);
    return made;
  };

  const search = (table, state) => {
    const label = document.createElement("label");
    label.className = "search";
    const field = document.createElement("input");
    field.type = "search";
    field.maxLength = 200;
    field.oninput = () => show(state.table, state);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    const name = table.tHead.rows[0].cells[nameAt(state.rows[0])].textContent.trim().toLowerCase();
    const words = say("Find by {name}", { name });
    label.append(`${words} `, field, count);
    label.hidden = table.closest("details")?.open === false;
    // What draws the block anew draws inside of its first element.
    const block = isDrawn(table) ? null : blockOf(table);
    const place = block && [...block.children].find((child) => child.contains(table));
    (place ?? table.closest(".scroll") ?? table).before(label);
    Object.assign(state, { label, search: field, count });
  };

  const prepare = (table) => {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    const rows = [...(table.tBodies[0]?.rows ?? [])];
    const known = heads.some((head) => head.querySelector("button.sort"));
    if (known ? isSame(rows, prepared.get(table).shown) : rows.length < 2) return;
    const key = keyOf(table);
    const state = chosen.get(key) ?? {};
    chosen.set(key, state);
    prepared.set(table, state);
    Object.assign(state, { key, table, rows, names: namesOf(heads) });
    const made = known ? [] : heads.map(
      (head, at) => head.textContent.trim() && button(table, state, head, at),
    );
    if (rows.length <= LONG || !rows[0].querySelector("th")) forget(state);
    else if (!state.label?.isConnected) search(table, state);
    show(table, state);
    if (focused?.key === key && document.activeElement === document.body) {
      made[state.names.indexOf(focused.name)]?.focus?.({ preventScroll: true });
    }
  };

  const forget = (state) => {
    state.label?.remove();
    for (const name of ["label", "search", "count"]) delete state[name];
  };

  const look = () => {
    [...tables].forEach((table) => { if (table.tagName === "TABLE") prepare(table); });
    for (const [key, state] of chosen) {
      if (state.table.isConnected) continue;
      forget(state);
      if (key === state.table) chosen.delete(key); // what draws it next makes another table
    }
    for (const [key, open] of unfolded) {
      const details = document.querySelector(`#${CSS.escape(key)} details.pair-table`);
      if (details && details.open !== open) details.open = open;
    }
  };

  document.addEventListener("toggle", ({ target }) => {
    const block = target.matches?.("details.pair-table") && blockOf(target);
    if (!block) return;
    unfolded.set(block.id, target.open);
    for (const { table, label } of chosen.values()) {
      if (label && target.contains(table)) label.hidden = !target.open;
    }
  }, true);
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  look();
})();
