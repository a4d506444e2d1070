// The head of a round: what is asked of the visitor, what acts on the whole round, and a menu of what
// is seldom wanted. Below it stand the answers alone, down to the bar with the vote.
const ASKS = say("Which answer is better?");
const ORDER = say("Choose the answers from best to worst. Between two of them, “Level with the "
  + "last” puts both on one place.");

const headline = (view) => {
  if (view.error) return say("This round broke off");
  if (view.reveal?.source === null) return say("The judge has decided");
  if (view.reveal?.source === "identical") return say("Identical answers: a tie.");
  if (view.reveal || view.counted) return say("Counted: {vote}.", { vote: inWords(votedOf(view)) });
  return view.recorded ? say("Your vote is recorded") : ASKS;
};

// What a visitor keeps who will check, after the vote, that nothing was changed.
const commitmentNodes = (el, view) => {
  if (view.reveal || !view.commitment) return [];
  return [el("kept", "section", "kept", [
    el("kept name", "strong", "", say("Proof")),
    el("commitment", "p", "commitment", say("Commitment {hash}", { hash: view.commitment })),
    el("kept hint", "p", "hint", say("It binds this round to its noise before you vote. After your vote you can check it.")),
  ])];
};

let menu = null;
const closeMenu = () => {
  if (!menu?.open) return;
  const inside = menu.contains(document.activeElement);
  menu.open = false;
  if (inside) menu.firstChild.focus();
};

const menuNode = (el, view, switches) => {
  const name = el("menu name", "summary", "", "⋯");
  name.setAttribute("aria-label", say("More"));
  name.title = say("More");
  const inside = el("menu inside", "div", "inside", [...switches, ...commitmentNodes(el, view)]);
  menu = el("menu", "details", "menu", [name, inside]);
  menu.onkeydown = (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    closeMenu();
  };
  return menu;
};

document.addEventListener("pointerdown", ({ target }) => {
  if (menu?.open && !menu.contains(target)) menu.open = false;
}, true);
// A press on words in the menu gives the focus to what holds it. To hide what is being pressed
// makes Chromium's page crash.
document.addEventListener("focusin", ({ target }) => {
  if (menu?.open && !menu.contains(target) && !target.contains(menu)) menu.open = false;
});

const roundHead = (el, view, { tools, switches }) => {
  const nodes = [
    el("headline", "h2", "", headline(view)),
    el("tools", "div", "tools", [...tools, menuNode(el, view, switches)]),
  ];
  const orders = view.size > 2 && !votedOf(view) && !view.judging && !view.error;
  if (orders) nodes.push(el("order", "p", "hint", ORDER));
  return el("head", "div", "head", nodes);
};

// How an answer is or has ended: an icon and words, never a colour alone. Before the vote on a round
// that was asked here, the server tells nothing of one answer, so that all have the same.
const stateOf = (view, turn, index) => {
  const newest = turn === view.turns.at(-1);
  if (view.running && newest) {
    return view.ahead === null || view.ahead === undefined
      ? ["written", "✎", say("being written")] : ["waits", "…", say("waits")];
  }
  const limit = turn.cut_at?.[index] ?? null;
  if (limit !== null) {
    return ["cut", "✂", limit ? sayN("cut at {n} token", "cut at {n} tokens", limit) : say("cut at the limit")];
  }
  if (view.error && newest) return ["stopped", "■", say("broke off")];
  return turn.stopped?.[index] ? ["stopped", "■", say("stopped")] : ["done", "✓", say("done")];
};

const stateNode = (el, key, view, turn, index) => {
  const [kind, icon, words] = stateOf(view, turn, index);
  const sign = el(`${key} sign`, "span", "sign", icon);
  sign.setAttribute("aria-hidden", "true");
  return el(`${key} state`, "span", `state ${kind}`, [sign, el(`${key} state words`, "span", "", words)]);
};
