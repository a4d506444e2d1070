// Draws tables that sort.js sorts and searches: the buttons that it puts into headings stay there,
// and so does what it puts beside the table.
const headNode = (el, key, text) => {
  const node = el(key, "th", "", (own) => writeText(own.querySelector(".sort") ?? own, text));
  node.scope = "col";
  return node;
};

// Without a value a cell is sorted by its text; null is unknown.
const cellNode = (el, key, content, { className = "", names = false, value } = {}) => {
  const node = el(key, names ? "th" : "td", className, content);
  if (names) node.scope = "row";
  if (value === undefined) delete node.dataset.value;
  else node.dataset.value = value ?? "";
  return node;
};

const tableNode = (el, key, kind, heads, rows) => {
  const named = heads.map((text, at) => headNode(el, `${key} head ${at}`, text));
  const scroll = el(`${key} scroll`, "div", "scroll", [el(`${key} table`, "table", `board drawn ${kind}`, [
    el(`${key} head`, "thead", "", [el(`${key} heads`, "tr", "", named)]),
    el(`${key} body`, "tbody", "", rows),
  ])]);
  return el(`${key} place`, "div", "", (own) => { if (scroll.parentNode !== own) own.append(scroll); });
};
