// The first divergence of a turn's answers and its reason: at a click, once the names are known.
const PATIENT = 60_000; // milliseconds until one may ask once more
const reasons = new Map(); // by turn, as the server sent them
const pending = new Set(); // turns whose reasons are on their way
const askedTurns = []; // the turn of each question: its answer has the number

// `of` is what the server is to look for: a battle or a comparison.
const askReason = (name, of, turn) => {
  pending.add(name);
  askedTurns.push(name);
  redraw();
  trigger("part", { of, turn, number: askedTurns.length - 1 });
  setTimeout(() => { if (pending.delete(name)) redraw(); }, PATIENT);
};

// Shares are sorted as numbers, and so is noise; shares below all that are shown come last.
const reasonTable = (el, name, reason) => {
  const rows = reason.rows.map((row, line) => {
    const cells = row.map((text, at) => {
      const share = reason.shares[line][at - 1];
      const kind = `${share === undefined ? "" : "share"} ${reason.chosen[line][at - 1] ? "chosen" : ""}`;
      const number = share === undefined ? Number(text) : share;
      const value = at ? (Number.isNaN(number) ? null : number) : undefined;
      const cell = cellNode(el, `${name} ${line} ${at}`, text, { className: kind.trim(), names: !at, value });
      if (share !== undefined) cell.style.setProperty("--share", share ?? 0);
      return cell;
    });
    return el(`${name} ${line}`, "tr", "", cells);
  });
  return tableNode(el, name, "parting", reason.heads, rows);
};

const reasonNode = (el, name, reason) => {
  const nodes = reason.words.map((words, at) => el(`${name} words ${at}`, "p", "", words));
  if (reason.common) {
    const common = [
      el(`${name} common`, "span", "common", reason.common),
      el(`${name} mark`, "mark", "", "▸"),
    ];
    nodes.unshift(el(`${name} beginning`, "p", "beginning", common));
  }
  if (reason.rows.length) nodes.push(reasonTable(el, name, reason));
  const section = el(`${name} why`, "section", "why", nodes);
  section.setAttribute("aria-label", say("Why the answers parted"));
  return section;
};

// Below the answers of a turn that differ: a button, or the reason that the server sent.
const divergenceNodes = (el, of, turn, answers) => {
  if (new Set(answers).size < 2) return [];
  const name = `${of} ${turn} parting`;
  const reason = reasons.get(name);
  if (reason) return [reasonNode(el, name, reason)];
  const waits = pending.has(name);
  const node = el(`${name} ask`, "button", "part", waits ? say("Drawing again…") : say("Why did they part?"));
  node.type = "button";
  node.setAttribute("aria-disabled", String(waits));
  node.onclick = waits ? null : () => askReason(name, of, turn);
  return [node];
};

// Returns whether a value of the panel is such a reason; it then has nothing else.
const takeReason = (value) => {
  if (!value?.reason) return false;
  const name = askedTurns[value.reason.number];
  pending.delete(name);
  reasons.set(name, value.reason);
  redraw();
  return true;
};

const textOf = ({ common, divergence, rest }) => common + divergence + rest;

// A text whose common beginning is dimmed and whose first own word stands out, where it is shown as
// it was written.
const dividedText = (el, key, parts, { formats, growing = false }) => {
  const text = textOf(parts);
  if (formats || text.length > PIECE) return textNode(el, key, "text", text, { formats, growing });
  const { common, divergence, rest } = parts;
  const marked = divergence ? [el(`${key} divergence`, "mark", "", divergence)] : [];
  const node = el(key, "div", "text exact", [
    el(`${key} common`, "span", "common", common), ...marked, el(`${key} rest`, "span", "", rest),
  ]);
  node.dir = "auto";
  return node;
};
