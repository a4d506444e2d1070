// The judge beside a round: it reads after the vote, or decides in place of one.
const judgements = new Map(); // by battle, the last of each
let judgeStream = { path: null, source: null };

const isComplete = () => judgements.get(view?.reveal?.battle)?.complete;

// Follows the judge of the round on show, on a stream of its own that ends with the last verdict.
const followJudge = () => {
  const path = isComplete() ? null : view?.judge?.events ?? null;
  if (path === judgeStream.path) return;
  judgeStream.source?.close();
  judgeStream = { path, source: path && new EventSource(path) };
  if (!path) return;
  const own = judgeStream.source;
  const battle = view.reveal?.battle;
  own.onmessage = ({ data }) => {
    if (own !== judgeStream.source) return;
    const { answered, judgement } = JSON.parse(data);
    if (judgement) judgements.set(battle, judgement);
    else if (view?.judging) view.judging.answered = answered;
    redraw();
  };
  own.addEventListener("end", ({ data }) => {
    own.close();
    if (own !== judgeStream.source) return;
    judgeStream = { path: null, source: null };
    if (JSON.parse(data).look) trigger("look");
  });
  own.onerror = () => { // else the browser connects again by itself
    if (own === judgeStream.source && own.readyState === EventSource.CLOSED && view?.judging) trigger("look");
  };
};

const judgeInWords = (view) => {
  const { answered, questions } = view.judging;
  return say("The judge {judge} reads: {answered} of {questions} answers.", {
    judge: view.judge.name, answered, questions,
  });
};

const deciding = () => [
  { ...action("mine", say("Vote yourself instead"), "V", () => trigger("judge", { begin: false })), aside: true },
];

const decides = (view) => {
  const off = view.running || isWordless(view);
  const act = () => trigger("judge", { begin: true });
  return { ...action("judge", say("Let the judge decide"), "J", act, "", off), aside: true };
};

// Beside each other, each at a place of its own, as the buttons of the bar are.
const judgeButton = (el, view) => {
  const nodes = actions(view).filter(({ aside }) => aside).map((each) => {
    const node = actionButton(el, each, "decide");
    if (each.at === "judge") node.title = say("The judge reads both orders. Only its verdict is stored, and the names are shown.");
    return node;
  });
  return nodes.length ? [el("deciding", "div", "deciding", nodes)] : [];
};

// Whether the judge says of a pair what the visitor said; it prefers neither where both are bad.
const sameAsMine = (pair, { ranks, both_bad }) => {
  const [one, other] = [ranks[pair.first], ranks[pair.second]];
  const mine = both_bad || one === other ? "tie" : one < other ? "first" : "second";
  return mine === (pair.outcome === "both_bad" ? "tie" : pair.outcome);
};

const agreement = (judgement, vote) => {
  const read = judgement.pairs.filter(({ outcome }) => outcome !== null);
  if (!judgement.complete || vote.source === null || !read.length) return [];
  const same = read.filter((pair) => sameAsMine(pair, vote)).length;
  if (judgement.pairs.length > 1) return [say("It agrees with you on {same} of {n} pairs.", { same, n: read.length })];
  return [same ? say("It agrees with you.") : say("It does not agree with you.")];
};

const judgedNodes = (el, view) => {
  if (!view.reveal) return [];
  if (view.judge?.none) return [el("no judge", "p", "hint", view.judge.none)];
  if (!view.judge?.events) return [];
  const judgement = judgements.get(view.reveal.battle)
    ?? { judge: view.judge.name, pairs: [], answering: true };
  if (!judgement.pairs.length) {
    const words = el("judged said", "p", "judge-says", say("The judge {judge}: {told}", {
      judge: judgement.judge, told: READING,
    }));
    words.setAttribute("role", "status");
    return [el("judged", "section", "judged", [words])];
  }
  const more = [...agreement(judgement, view.reveal), ...(judgement.own ? [judgement.own] : [])];
  const named = (place) => LETTERS[place];
  return [judgementNode(el, "judged", judgement, named, { more, formats: reading.formats() })];
};
