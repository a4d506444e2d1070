// Why one voted so: chips and a comment, after the vote, for whoever wants to say. Sent as they are
// chosen and when the comment is left; the server tells what it has.
const SAVING = 4000; // milliseconds until it is said that nothing came back
const NOTHING = { criteria: [], comment: "" };
let why = null; // what the visitor has chosen and written, for one vote
let sending; // runs while something is on its way: one at a time, so that the last one stands

const whyAction = () => ({ at: "why", key: why.vote }); // by which its chips hear, see `meet`

// Reasons that were lost on their way, for a vote that is on show no more.
setTimeout(() => {
  const before = window.arenaKept?.reasons;
  if (!before) return;
  delete window.arenaKept.reasons;
  trigger("explain", before);
}, SAVING);

const isSame = (one, other) => one.comment.trim() === other.comment.trim()
  && one.criteria.length === other.criteria.length
  && one.criteria.every((each) => other.criteria.includes(each));

const noteWhy = (view) => {
  const vote = votedOf(view);
  const stored = view?.reasons ?? NOTHING;
  if (!vote?.vote || vote.source === "identical") { why = null; return; }
  if (why?.vote !== vote.vote) {
    clearTimeout(sending);
    const before = window.arenaKept?.reasons; // not sent when the page had to be loaded anew
    why = { vote: vote.vote, ...stored, state: "", sent: null };
    if (before?.vote === vote.vote) {
      delete window.arenaKept.reasons;
      Object.assign(why, before);
      sendWhy();
    }
  } else if (why.sent && isSame(stored, why.sent)) {
    clearTimeout(sending);
    [why.state, why.sent] = [say("Saved."), null];
    sendWhy();
  }
};

const sendWhy = () => {
  if (why.sent || isSame(why, view.reasons ?? NOTHING)) return;
  const { vote, criteria, comment } = why;
  [why.state, why.sent] = [say("Saving…"), { criteria, comment }];
  trigger("explain", { vote, criteria, comment });
  const meant = why;
  sending = setTimeout(() => {
    [meant.state, meant.sent] = [say("No answer yet."), null];
    redraw();
  }, SAVING);
  redraw();
};

const chip = (el, [id, words]) => {
  const chosen = why.criteria.includes(id);
  const node = el(`why ${why.vote} ${id}`, "button", "chip", words);
  node.type = "button";
  node.setAttribute("aria-pressed", String(chosen));
  node.setAttribute("aria-disabled", String(!hears(nameOf(whyAction()), performance.now())));
  node.onclick = (event) => {
    event.stopPropagation();
    if (!hearsEvent(nameOf(whyAction()), event)) return;
    why.criteria = chosen ? why.criteria.filter((one) => one !== id) : [...why.criteria, id];
    sendWhy();
  };
  return node;
};

const commentBox = (el, longest) => {
  const node = el(`why ${why.vote} comment`, "textarea", "", () => {});
  node.rows = 1;
  node.maxLength = longest;
  node.placeholder = say("In your own words");
  node.setAttribute("aria-label", say("Why, in your own words"));
  node.dir = "auto";
  node.oninput = () => { why.comment = node.value; };
  node.onchange = sendWhy;
  if (node !== document.activeElement && node.value !== why.comment) node.value = why.comment;
  return node;
};

const whyNodes = (el, view) => {
  if (!why) return [];
  const asked = say("Why?");
  const save = el("why save", "button", "part", say("Save"));
  save.type = "button";
  save.onclick = sendWhy;
  const state = el("why state", "span", "hint", why.state);
  state.setAttribute("aria-live", "polite"); // `status` is what became of the vote
  const group = el("why", "section", "rationale", [
    el("why head", "p", "", [
      el("why ask", "strong", "", `${asked} `),
      el("why hint", "span", "hint", say("If you like. Published with your vote.")),
    ]),
    el("why chips", "div", "chips", view.criteria.map((each) => chip(el, each))),
    el("why write", "div", "write", [commentBox(el, view.longest), save, state]),
  ]);
  group.setAttribute("aria-label", say("Why you voted so"));
  return [group];
};
