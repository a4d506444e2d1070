// The address of what is on show: ?tab=NAME, ?tab=battles&…, ?battle=ID, ?model=NAME. To choose a tab
// or to follow a link of ours moves on in the history, and Back goes back.
(() => {
  const FIRST = "battle";
  const NONE = say("This address names no known tab. Choose a tab below.");
  const INSIDE = ["battle", "model"]; // of the tab of battles
  const LIST = "[role=tablist]";
  const BUTTONS = `${LIST} > [role=tab]`;
  let shown = FIRST;
  let pressing = false; // it is this script that presses

  const TABS = {
    battle: say("Battle"),
    leaderboard: say("Leaderboard"),
    gate: say("As good as?"),
    audit: say("Audit"),
    coupling: say("Coupling"),
    risk: say("Risk"),
    experiments: say("Experiments"),
    compare: say("Compare"),
    battles: say("Past battles"),
    data: say("Data"),
    votes: say("Votes"), // of admins, whom the server lets see it a moment later
  };
  const nameOf = (button) =>
    Object.keys(TABS).find((name) => TABS[name] === button.textContent.trim());
  const tab = (name) => [...document.querySelectorAll(BUTTONS)].find((one) => nameOf(one) === name);

  const asked = () => {
    const given = new URLSearchParams(window.location.search);
    return INSIDE.some((name) => given.has(name)) ? "battles" : given.get("tab") ?? FIRST;
  };

  const showNotice = (text) => {
    document.querySelector("#address-note")?.remove();
    if (!text) return;
    const note = document.createElement("p");
    note.id = "address-note";
    note.className = "broken";
    note.setAttribute("role", "status");
    note.textContent = text;
    document.querySelector(LIST).closest(".tabs").before(note);
  };

  const show = () => {
    const name = asked();
    const button = tab(name);
    showNotice(button ? "" : NONE);
    if (!button) return;
    const list = button.parentElement; // which scrolls on a narrow page
    list.scrollLeft = button.offsetLeft - (list.clientWidth - button.offsetWidth) / 2;
    if (name !== shown) {
      shown = name;
      pressing = true;
      button.click();
      pressing = false;
    }
    window.dispatchEvent(new Event("arena:address"));
  };

  const go = (address) => {
    window.history.pushState(null, "", address);
    show();
    window.scrollTo(0, 0);
  };

  const pressed = (event) => {
    if (pressing) return;
    const link = event.target.closest?.("a[href^='?']");
    const plain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (link && plain) {
      event.preventDefault();
      go(link.getAttribute("href"));
      return;
    }
    const button = event.target.closest?.(BUTTONS);
    if (!button) return;
    const name = nameOf(button);
    const given = new URLSearchParams(window.location.search);
    const inside = INSIDE.some((one) => given.has(one));
    if (name === asked() && !inside) { showNotice(""); return; }
    shown = name;
    showNotice("");
    window.history.pushState(null, "", `?${new URLSearchParams({ tab: name })}`);
    window.dispatchEvent(new Event("arena:address"));
  };

  document.addEventListener("click", pressed, true);
  window.addEventListener("popstate", show);
  window.addEventListener("arena:go", ({ detail }) => go(detail));

  let begun = false;
  const begin = () => {
    if (!tab(FIRST)) return false;
    const there = Boolean(tab(asked()));
    if (there || !begun) show();
    begun = true;
    return there || !(asked() in TABS);
  };
  new MutationObserver((_, observer) => { if (begin()) observer.disconnect(); })
    .observe(document, { childList: true, subtree: true });
})();
