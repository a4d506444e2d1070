// What a judge said of answers: in each order, together, and in its own words.
const READING = say("reading…");
const OUTCOME = { tie: say("a tie"), both_bad: say("both are bad") };

// `named` says how a place is called.
const outcomeOf = ({ first, second, outcome }, named) => {
  if (outcome === null) return say("nothing readable");
  if (outcome === "first") return say("{name} is better", { name: named(first) });
  return outcome === "second" ? say("{name} is better", { name: named(second) }) : OUTCOME[outcome];
};

const orderOf = (said, named) => (said.raw === null
  ? say("the same words: a tie, it was not asked")
  : say("{name} shown first: {outcome}", { name: named(said.first), outcome: outcomeOf(said, named) }));

const disagree = (pair) => new Set(pair.said.filter(({ outcome }) => outcome !== null)
  .map(({ first, outcome }) => (first === pair.first || !["first", "second"].includes(outcome)
    ? outcome : outcome === "first" ? "second" : "first"))).size > 1;

const pairInWords = (pair, named, alone) => {
  const which = alone ? "" : say("{one} and {other}: ", { one: named(pair.first), other: named(pair.second) });
  if (pair.missing && !pair.said.length) return which + say("not read yet");
  if (pair.missing) return which + say("one order of two so far");
  const said = outcomeOf(pair, named);
  return which + (disagree(pair) ? say("{outcome}, for its two orders disagree", { outcome: said }) : said);
};

const ownWords = (el, key, said, named, formats) => {
  const head = el(`${key} head`, "p", "hint", orderOf(said, named));
  return [head, textNode(el, `${key} raw`, "raw", said.raw || say("(no words)"), { formats })];
};

// Of one pair each order stands open; of several, behind a click.
const pairNodes = (el, key, pair, named, alone, formats) => {
  const orders = pair.said.map((said) => {
    const name = `${key} ${said.first} ${said.second}`;
    const order = el(`${name} order`, "span", "", orderOf(said, named));
    const why = said.reason ? [textNode(el, `${name} reason`, "raw", said.reason, { formats })] : [];
    return el(name, "li", "", [order, ...why]);
  });
  const list = el(`${key} orders`, "ul", "orders", orders);
  const words = pair.said.filter(({ raw }) => raw !== null).flatMap((said) => ownWords(
    el, `${key} ${said.first} ${said.second}`, said, named, formats,
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
  const told = alone && whole ? `${pairInWords(pairs[0], named, true)}.`
    : whole ? say("all {n} pairs read.", { n: pairs.length }) : say("{done} of {n} pairs read.", { done, n: pairs.length });
  const silent = judgement.trouble
    ?? say("The judge {judge} does not answer at the moment. What is missing will follow.", { judge });
  const said = el(`${key} said`, "p", "judge-says", whole || answering
    ? say("The judge {judge}: {told}", { judge, told: alone && !whole ? READING : told }) : silent);
  said.setAttribute("role", "status");
  const nodes = pairs.flatMap((pair, at) => (pair.said.length
    ? pairNodes(el, `${key} ${at}`, pair, named, alone, formats) : []));
  const lines = more.map((line, at) => el(`${key} more ${at}`, "p", "", line));
  const section = el(key, "section", "judged", [said, ...nodes, ...lines]);
  section.setAttribute("aria-label", say("What the judge says"));
  return section;
};
