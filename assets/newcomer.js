// One line for a visitor who has never voted in this browser. It stands beside Stop, where Undo stands
// after the vote: room that the bar takes in any case, so that nothing moves as the line comes or goes.
const NEWCOMER = "coupled-arena-newcomer";
let newcomer = remembered(NEWCOMER) !== "no";
let hinted = null; // the round that has the line
let over = null; // the round that had it: a line that comes back would be read aloud twice

const noteNewcomer = () => {
  const vote = votedOf(view);
  if (!newcomer || !vote?.vote || vote.source === "identical") return; // a tie that nobody chose
  newcomer = false;
  remembered(NEWCOMER, "no");
};

// `others` is what the bar has to say in any case, and goes first.
const hintOf = (view, others) => {
  if (!newcomer || view.stored || view.judging || votedOf(view)) return "";
  if (others || isWordless(view)) over = hinted;
  if (others || isWordless(view) || over === drawn) return "";
  hinted = drawn;
  return say("Read the answers and vote: then you see who wrote them.");
};
