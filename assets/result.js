// What became of a vote, above the answers: who was who, how people voted, what this vote changed.
// What can be checked, and what else there is to know, comes below them.
const HOW = {
  coupled: say("Coupled: all models drew with the same random numbers."),
  independent: say("Independent: each model drew with random numbers of its own."),
  unknown: say("Imported: nobody knows their random numbers."),
};

const VOTED = {
  human: say("How people voted so far, your vote included"),
  identical: say("How people voted so far, this tie included"),
};

const becameOf = ({ source, early }) => {
  if (source === null) return say("The judge decided this round: its verdict is stored, and no vote of yours.");
  if (source === "identical") return say("The answers are identical: recorded as a tie, nobody needs to judge it.");
  return early ? say("Your vote is recorded, as cast before the answers had ended.") : "";
};

// How the pairs of a battle stand by people's votes.
const standingNodes = (el, view) => {
  if (!view.standings?.length) return [];
  const lines = view.standings.map(({ pair, href, votes, words, effect }) => {
    const name = `standing ${pair}`;
    const link = el(`${name} link`, "a", "", votes);
    link.setAttribute("href", href);
    const line = [el(`${name} pair`, "strong", "", `${pair}: `), link, el(`${name} words`, "span", "", `, ${words}`)];
    if (effect) line.push(el(`${name} effect`, "span", "effect", ` ${effect}`));
    return el(name, "li", "", line);
  });
  const group = el("standings", "section", "standings", [
    el("standings head", "p", "hint", VOTED[view.reveal.source] ?? say("How people voted so far")),
    el("standings list", "ul", "", lines),
  ]);
  group.setAttribute("aria-label", say("How people voted on these models so far"));
  return [group];
};

const resultNodes = (el, view, tools) => {
  const { reveal } = view;
  if (!reveal) return [];
  const lines = [el("told", "p", "", [
    el("told names", "strong", "", `${namesInWords(reveal)} `),
    el("told how", "span", "", `${becameOf(reveal)} ${HOW[reveal.mode]}`.trim()),
  ])];
  if (reveal.source !== "identical" && reveal.same.length) {
    const words = reveal.same.map((group) => say("{answers} had the same words when you voted. They share the better of your places.", { answers: listed(group) })).join(" ");
    lines.push(el("told same", "p", "", words));
  }
  lines.push(...standingNodes(el, view));
  if (tools.length) lines.push(el("told tools", "p", "result-tools", tools));
  const group = el("result", "section", "result", lines);
  group.setAttribute("aria-label", say("The result"));
  return [group];
};

// The result stands once where people look: the bar says it only while its line above the answers is
// out of sight. A screen reader hears the bar's line in any case.
let resultLine = null;
const WHOLE = 0.9; // of it; what is rounded keeps it from 1
const resultSeen = new IntersectionObserver(
  (seen) => root.classList.toggle("result-seen", seen.at(-1).intersectionRatio >= WHOLE),
  { threshold: WHOLE, rootMargin: `0px 0px -${BAR}px` },
);
const watchResult = () => {
  const line = root.querySelector(".result > p") ?? (view?.counted ? root.querySelector("h2") : null);
  if (line === resultLine) return;
  resultSeen.disconnect();
  root.classList.remove("result-seen");
  resultLine = line;
  if (line) resultSeen.observe(line);
};

// Whoever has just asked for the names looks for them here; the bar with the vote stays where it is.
let namesWanted = false;
const showResult = () => {
  if (!namesWanted || !view?.reveal) return;
  namesWanted = false;
  const top = root.getBoundingClientRect().top;
  if (isShown() && top < 0) root.scrollIntoView({ block: "start" });
};

// What a visitor who kept the commitment can check.
const proof = (el, reveal) => {
  const later = reveal.commitment && say("shown after your votes on the other battles with this seed");
  const rows = [[say("Seed"), reveal.seed ?? later], [say("Nonce"), reveal.nonce], [say("Commitment"), reveal.commitment],
    [say("Battle"), reveal.battle], [say("Vote"), reveal.vote]].filter(([, value]) => value);
  const inside = [el("proof head", "summary", "", say("Proof")), el("facts", "dl", "", rows.flatMap(
    ([name, value]) => [el(`fact ${name}`, "dt", "", name), el(`fact ${name} is`, "dd", "", value)],
  ))];
  if (reveal.commitment) {
    inside.push(el("facts hint", "p", "hint", say("The commitment shown before your vote is the "
      + "SHA-256 of the nonce followed by the seed (8 bytes, little-endian). The battle replays "
      + "from its seed.")));
  }
  return el("reveal", "section", "reveal", [el("proof", "details", "proof", inside)]);
};
