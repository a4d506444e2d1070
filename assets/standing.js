// How the pairs of a battle stand by people's votes, once its names are known.
const standingNodes = (el, view) => {
  if (!view.standings?.length) return [];
  const lines = view.standings.map(({ pair, href, votes, words }) => {
    const name = `standing ${pair}`;
    const link = el(`${name} link`, "a", "", votes);
    link.setAttribute("href", href);
    return el(name, "li", "", [
      el(`${name} pair`, "strong", "", `${pair}: `), link, el(`${name} words`, "span", "", `, ${words}`),
    ]);
  });
  const group = el("standings", "section", "standings", [
    el("standings head", "p", "hint", say("How people voted so far, your vote included")),
    el("standings list", "ul", "", lines),
  ]);
  group.setAttribute("aria-label", say("How people voted on these models so far"));
  return [group];
};
