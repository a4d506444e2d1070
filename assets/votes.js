// Rows of the votes tab: an admin excludes a row's votes, or takes an exclusion back, with a reason.
const WORDS = { // Gradio finds the names of events by their quotation marks
  "exclude": () => [say("Exclude these votes? The boards follow at once."), say("Exclude")],
  "include": () => [say("Have these votes count again? The boards follow at once."), say("Take back")],
};

element.addEventListener("click", async ({ target }) => {
  const button = target.closest?.(".row-action");
  if (!button) return;
  const { does, ...row } = button.dataset;
  const [text, action] = WORDS[does]();
  const reason = await window.arenaAsk({ text, action, reason: say("Reason") });
  if (reason) trigger(does, { ...row, reason });
});
