// A judge's verdicts on answers: in each order, together, and in its own words.
const READING = say("reading…");
const OUTCOME = { tie: say("a tie"), both_bad: say("both are bad") };

// `named` says how a place is called.
const outcomeInWords = ({ first, second, outcome }, named) => {
  if (outcome === null) return say("nothing readable");
  if (outcome === "first") return say("{name} is better", { name: named(first) });
  return outcome === "second" ? say("{name} is better", { name: named(second) }) : OUTCOME[outcome];
};

const orderInWords = (order, named) => (order.raw === null
  ? say("the same words: a tie, and the judge was not asked")
  : say("{name} shown first: {outcome}", { name: named(order.first), outcome: outcomeInWords(order, named) }));

const disagree = (pair) => new Set(pair.orders.filter(({ outcome }) => outcome !== null)
  .map(({ first, outcome }) => (first === pair.first || !["first", "second"].includes(outcome)
    ? outcome : outcome === "first" ? "second" : "first"))).size > 1;

const pairInWords = (pair, named, alone) => {
  const which = alone ? "" : say("{one} and {other}: ", { one: named(pair.first), other: named(pair.second) });
  if (pair.missing && !pair.orders.length) return which + say("not read yet");
  if (pair.missing) return which + say("one order of two so far");
  const outcome = outcomeInWords(pair, named);
  return which + (disagree(pair) ? say("{outcome}, because its two orders disagree", { outcome }) : outcome);
};

const rawNodes = (el, key, order, named, formats) => {
  const head = el(`${key} head`, "p", "hint", orderInWords(order, named));
  return [head, textNode(el, `${key} raw`, "raw", order.raw || say("(no words)"), { formats })];
};

// Of one pair each order stands open; of several, behind a click.
const pairNodes = (el, key, pair, named, alone, formats) => {
  const orders = pair.orders.map((order) => {
    const name = `${key} ${order.first} ${order.second}`;
    const words = el(`${name} order`, "span", "", orderInWords(order, named));
    const why = order.reason ? [textNode(el, `${name} reason`, "raw", order.reason, { formats })] : [];
    return el(name, "li", "", [words, ...why]);
  });
  const list = el(`${key} orders`, "ul", "orders", orders);
  const words = pair.orders.filter(({ raw }) => raw !== null).flatMap((order) => rawNodes(
    el, `${key} ${order.first} ${order.second}`, order, named, formats,
  ));
  const hidden = alone ? words : [list, ...words];
  const head = el(`${key} summary`, "summary", "", alone ? say("In its own words") : say("In each order"));
  const more = hidden.length ? [el(`${key} more`, "details", "", [head, ...hidden])] : [];
  if (alone) return [list, ...more];
  return [el(`${key} pair`, "p", "pair", `${pairInWords(pair, named, alone)}.`), ...more];
};

// The whole of it, and further sentences.
const judgementNode = (el, key, judgement, named, { more = [], formats = false }) => {
  const { judge, pairs, answering } = judgement;
  const alone = pairs.length === 1;
  const done = pairs.filter((pair) => !pair.missing).length;
  const whole = done === pairs.length;
  const summary = alone && whole ? `${pairInWords(pairs[0], named, true)}.`
    : whole ? say("all {n} pairs read.", { n: pairs.length }) : say("{done} of {n} pairs read.", { done, n: pairs.length });
  const unanswered = judgement.trouble
    ?? say("The judge {judge} does not answer at the moment. Its missing verdicts will follow.", { judge });
  const headline = el(`${key} said`, "p", "judge-says", whole || answering
    ? say("The judge {judge}: {told}", { judge, told: alone && !whole ? READING : summary }) : unanswered);
  headline.setAttribute("role", "status");
  const nodes = pairs.flatMap((pair, at) => (pair.orders.length
    ? pairNodes(el, `${key} ${at}`, pair, named, alone, formats) : []));
  const lines = more.map((line, at) => el(`${key} more ${at}`, "p", "", line));
  const section = el(key, "section", "judged", [headline, ...nodes, ...lines]);
  section.setAttribute("aria-label", say("What the judge says"));
  return section;
};
