// Tells the server what the page's address asks of a tab, and puts what is on show into the address.
// The panel has the tab's name.
const WAIT = 5000; // milliseconds until a question that got no answer is put again
let questions = 0;
let waiting;

const asked = () => {
  const query = window.location.search;
  return new URLSearchParams(query).get("tab") === PANEL ? query : null;
};

const look = () => {
  clearTimeout(waiting);
  const query = asked();
  if (query === null) return;
  questions += 1;
  trigger("look", { query, number: questions });
  waiting = setTimeout(look, WAIT);
};

watch("value", () => {
  const { address, number } = props.value ?? {};
  if (number === questions) clearTimeout(waiting);
  if (asked() === null || !address || asked() === address) return;
  window.history.replaceState(null, "", address);
});

window.addEventListener("arena:address", look);
look();
