// A battle as a picture to share, once its names are known: question, answers, names, the vote, a link.
// It is for paper, of a fixed width, and drawn here: texts go nowhere.
const SHEET = { width: 1200, edge: 48, gap: 24, scale: 2 }; // CSS pixels
const INK = { text: "#1f2937", faint: "#6b7280", line: "#d1d5db", accent: "#4f46e5", best: "#0f766e" };
const LINES = { question: 3, answer: 14 }; // at most
const letters = (size, weight = 400) => `${weight} ${size}px system-ui, sans-serif`;

// Breaks a text into lines that fit; a word that is wider than a line is broken, too.
const brokenInto = (brush, text, width, most) => {
  const lines = [];
  for (const part of text.trim().split("\n")) {
    let line = "";
    for (const word of part.split(/\s+/)) {
      let rest = line ? `${line} ${word}` : word;
      if (line && brush.measureText(rest).width > width) { lines.push(line); rest = word; }
      while (brush.measureText(rest).width > width && lines.length < most) {
        let fits = 1;
        while (brush.measureText(rest.slice(0, fits + 1)).width <= width) fits += 1;
        lines.push(rest.slice(0, fits));
        rest = rest.slice(fits);
      }
      line = rest;
      if (lines.length >= most) break;
    }
    lines.push(line);
    if (lines.length > most) break;
  }
  return lines.length > most ? [...lines.slice(0, most - 1), `${lines[most - 1].slice(0, -1)}…`] : lines;
};

const writeLines = (brush, lines, x, y, step) => {
  lines.forEach((line, at) => brush.fillText(line, x, y + at * step));
  return y + lines.length * step;
};

const drawCard = (brush, view, index, { x, y, width, height, lines }) => {
  const { reveal } = view;
  brush.strokeStyle = INK.line;
  brush.beginPath();
  brush.roundRect(x, y, width, height, 12);
  brush.stroke();
  const place = reveal.ranks[index];
  const words = !place ? "" : reveal.both_bad ? say("bad") : say("place {place}", { place });
  brush.font = letters(17, 600);
  brush.fillStyle = place === 1 && !reveal.both_bad ? INK.best : INK.faint;
  const room = brush.measureText(words).width;
  brush.fillText(words, x + width - 20 - room, y + 36);
  brush.font = letters(20, 700);
  brush.fillStyle = INK.accent;
  const name = `${LETTERS[index]}  ${reveal.models[index]}`;
  brush.fillText(brokenInto(brush, name, width - 60 - room, 1)[0], x + 20, y + 36);
  brush.font = letters(18);
  brush.fillStyle = INK.text;
  writeLines(brush, lines, x + 20, y + 76, 26);
};

const battlePicture = (view, address) => {
  const turn = view.turns.at(-1);
  const canvas = document.createElement("canvas");
  const brush = canvas.getContext("2d");
  const inner = SHEET.width - 2 * SHEET.edge;
  const columns = view.size === 3 ? 3 : 2;
  const width = (inner - (columns - 1) * SHEET.gap) / columns;
  brush.font = letters(28, 700);
  const question = brokenInto(brush, turn.prompt, inner, LINES.question);
  brush.font = letters(18);
  const answers = turn.answers.map((text) => brokenInto(brush, text || say("(no words)"), width - 40, LINES.answer));
  const height = 96 + 26 * Math.max(...answers.map((lines) => lines.length));
  const rows = Math.ceil(view.size / columns);
  const top = SHEET.edge + 36 * question.length + 20;
  const below = [headline(view), ...(view.standings ?? []).map(({ effect }) => effect).filter(Boolean).slice(0, 1)];
  const bottom = top + rows * (height + SHEET.gap);
  const whole = bottom + 28 * below.length + 24 + SHEET.edge;
  canvas.width = SHEET.width * SHEET.scale;
  canvas.height = whole * SHEET.scale;
  brush.scale(SHEET.scale, SHEET.scale);
  brush.fillStyle = "#fff";
  brush.fillRect(0, 0, SHEET.width, whole);
  brush.font = letters(28, 700);
  brush.fillStyle = INK.text;
  writeLines(brush, question, SHEET.edge, SHEET.edge + 20, 36);
  answers.forEach((lines, index) => drawCard(brush, view, index, {
    x: SHEET.edge + (index % columns) * (width + SHEET.gap),
    y: top + Math.floor(index / columns) * (height + SHEET.gap), width, height, lines,
  }));
  brush.font = letters(18, 600);
  brush.fillStyle = INK.text;
  const after = writeLines(brush, below.map((line) => brokenInto(brush, line, inner, 1)[0]), SHEET.edge, bottom + 16, 28);
  brush.font = letters(15);
  brush.fillStyle = INK.faint;
  brush.fillText(`Coupled Arena · ${address}`, SHEET.edge, after + 12);
  return canvas;
};

const addressOf = (battle) =>
  new URL(`?battle=${encodeURIComponent(battle)}`, window.location.origin + window.location.pathname).href;

const savePicture = () => {
  const { battle } = view.reveal;
  battlePicture(view, addressOf(battle)).toBlob((picture) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(picture);
    link.download = `battle-${battle.slice(0, 8)}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
};

const copyLink = async (node, address) => {
  try {
    await navigator.clipboard.writeText(address);
  } catch { // without a secure connection there is no clipboard
    const box = document.createElement("textarea");
    box.value = address;
    node.after(box);
    box.select();
    document.execCommand("copy");
    box.remove();
    node.focus();
  }
  copied = view?.reveal?.battle;
  redraw();
};
let copied = null; // the battle with the link that was copied last

const toolButton = (el, key, label, act) => {
  const node = el(key, "button", "tool", label);
  node.type = "button";
  node.onclick = (event) => { event.stopPropagation(); act(node); };
  return node;
};

// What one can do with a battle that has its names.
const resultTools = (el, view) => {
  if (!view.reveal || view.stored) return [];
  const { battle } = view.reveal;
  const link = el("told battle", "a", "", say("This battle among all"));
  link.setAttribute("href", `?battle=${encodeURIComponent(battle)}`);
  const copy = copied === battle ? say("Link copied") : say("Copy link");
  return [
    link,
    toolButton(el, "told copy", copy, (node) => { copyLink(node, addressOf(battle)); }),
    toolButton(el, "told picture", say("Save as picture"), savePicture),
  ];
};
