// Draws a model's own page, see views/model_pages.py, and what lists of battles have in common with it.
const link = (el, key, href, content, className = "") => {
  const node = el(key, "a", className, content);
  node.setAttribute("href", href);
  return node;
};

const facts = (el, key, rows) => el(key, "dl", "", rows.flatMap(([name, value]) => [
  el(`${key} ${name}`, "dt", "", name), el(`${key} ${name} is`, "dd", "", value),
]));

const titled = (node, title) => {
  node.title = title;
  return node;
};

const foundRows = (el, rows) => rows.map((row) => el(`row ${row.href}`, "li", "", [
  el(`row ${row.href} models`, "span", "sides", row.sides.flatMap(([model, won], at) => [
    ...(at ? [el(`row ${row.href} vs ${at}`, "span", "versus", " ".concat(say("against"), " "))] : []),
    el(`row ${row.href} side ${at}`, won ? "b" : "span", "", model),
  ])),
  link(el, `row ${row.href} to`, row.href, row.question),
  titled(el(`row ${row.href} heard`, "span", "models", row.heard), row.heard),
  el(`row ${row.href} said`, "span", "hint", row.said),
]));

const linked = (el, key, { heads, rows }) => {
  const content = (id, { text, href }) => (href ? [link(el, `${id} to`, href, text)] : text);
  const body = rows.map((row, at) => el(`${key} row ${at} ${row[0].text}`, "tr", "", row.map((cell, n) => {
    const id = `${key} ${at} ${n} ${cell.text} ${cell.href ?? ""}`;
    return cellNode(el, id, content(id, cell), { names: n === 0, value: cell.value });
  })));
  return tableNode(el, key, "said numbers", heads, body);
};

const overTime = (el, { bars, note }) => {
  if (!bars.length) return [];
  const most = Math.max(...bars.map(({ votes }) => votes));
  const figure = el("history bars", "div", "history", bars.map((bar, at) => {
    const won = el(`bar ${at} won`, "span", "won");
    won.style.height = `${(100 * bar.wins) / Math.max(bar.votes, 1)}%`;
    const drawn = el(`bar ${at}`, "span", "days", [won]);
    drawn.style.height = `${(100 * bar.votes) / most}%`;
    drawn.title = say("{day}: {votes} votes, {wins} won", {
      day: bar.from, votes: bar.votes, wins: bar.wins,
    });
    return drawn;
  }));
  figure.setAttribute("role", "img");
  const said = bars.filter(({ votes }) => votes).slice(-12).map((bar) => say("{day}: {votes}, {wins} won", {
    day: bar.from, votes: bar.votes, wins: bar.wins,
  }));
  figure.setAttribute("aria-label", `${note} ${said.join("; ")}`);
  return [el("history", "h3", "", say("Its votes over time")), figure, el("history note", "p", "hint", note)];
};

// A line and its ribbon, in a hundred by a hundred that the style stretches; what is said beside it
// is text of the page, which keeps its size.
const curve = (own, { line, ribbon, even }) => {
  const svg = (tag, given, inside = []) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
    node.append(...inside);
    return node;
  };
  const half = even === null ? [] : [svg("line", { class: "even", x1: 0, x2: 100, y1: even, y2: even })];
  own.replaceChildren(svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": true }, [
    svg("path", { class: "ribbon", d: ribbon }), ...half, svg("path", { class: "over-time", d: line }),
  ]));
};

const winRates = (el, trend) => {
  if (!trend) return [];
  const dots = trend.dots.map(({ x, y, said }, at) => {
    const dot = titled(el(`trend dot ${at}`, "span", "dot"), said);
    dot.style.left = `${x}%`;
    dot.style.top = `${y}%`;
    return dot;
  });
  const frame = el("trend", "div", "trend", [
    el("trend curve", "div", "curve", (own) => curve(own, trend)),
    ...dots,
    el("trend high", "span", "high", trend.high),
    el("trend low", "span", "low", trend.low),
  ]);
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", `${trend.note} ${trend.dots[0].said}; ${trend.dots.at(-1).said}.`);
  const rows = trend.rows.map((row, at) => el(`trend row ${at}`, "tr", "", row.map(
    (text, n) => cellNode(el, `trend ${at} ${n}`, text, { names: n === 0 }),
  )));
  return [
    el("trend name", "h3", "", say("Its win rate over time")),
    frame,
    el("trend foot", "p", "hint trend-foot", [
      el("trend first", "span", "", trend.first), el("trend last", "span", "", trend.last),
    ]),
    el("trend note", "p", "hint", trend.note),
    el("trend numbers", "details", "", [
      el("trend numbers name", "summary", "", say("The same as a table")),
      tableNode(el, "trend table", "said numbers", trend.heads, rows),
    ]),
  ];
};

// What one wants to know of a model first; nothing of models of which nothing is stored.
const glance = (el, rows) => (rows.length ? [el("glance", "dl", "glance", rows.map(
  ([name, value]) => el(`glance ${name}`, "div", "", [
    el(`glance ${name} name`, "dt", "", name), el(`glance ${name} is`, "dd", "", value),
  ]),
))] : []);

const modelPage = (el, page) => {
  const part = (key, name, { note, heads, rows }) => [
    el(`${key} name`, "h3", "", name),
    el(`${key} note`, "p", "hint", note),
    ...(rows.length ? [linked(el, key, { heads, rows })] : []),
  ];
  const headline = el("model headline", "p", "headline", page.headline);
  headline.setAttribute("role", "status");
  return [
    el("back", "p", "pages", [
      link(el, "model board", "?tab=leaderboard", say("Leaderboard")),
      ...(page.votes ? [link(el, "model votes", page.votes, say("The votes behind this"))] : []),
    ]),
    el("model title", "h2", "", page.model),
    headline,
    ...glance(el, page.glance),
    ...winRates(el, page.trend),
    ...part("categories", say("Where it is strong"), page.categories),
    ...part("opponents", say("Opponents"), page.opponents),
    ...overTime(el, page.history),
    el("model facts name", "h3", "", say("How it was run")),
    page.facts.length ? facts(el, "model facts", page.facts)
      : el("no facts", "p", "hint", say("Nothing is known: its battles were imported, or may not be shown yet.")),
    el("model battles name", "h3", "", say("Some of its battles")),
    el("model battles", "ol", "found", foundRows(el, page.battles)),
    el("model all", "p", "pages", [link(el, "model all to", page.all.href, page.all.text)]),
  ];
};
