// Asks before what cannot be undone by a press. `arenaAsk` returns a promise of what was said: null
// when somebody thought better of it, else the reason where one was asked for.
(() => {
  const ASKED = { // by the id of the button
    "gate-stop": () => [say("Stop this run? The answers so far are kept."), say("Stop")],
    exclude: () => [say("Exclude these votes? The boards follow at once."), say("Exclude")],
    include: () => [say("Have these votes count again? The boards follow at once."), say("Take back")],
  };
  const BUTTONS = Object.keys(ASKED).map((id) => `button#${id}`).join(", ");
  let passing = null;

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    node.className = className;
    node.textContent = text;
    return node;
  };

  window.arenaAsk = ({ text, action, reason = "" }) => new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    const form = document.createElement("form");
    const words = make("p", "", text);
    const field = document.createElement("input");
    const label = make("label", "", reason);
    const yes = make("button", "part primary", action);
    const no = make("button", "part", say("Cancel"));
    dialog.className = "ask";
    words.id = "ask-words";
    dialog.setAttribute("aria-labelledby", words.id);
    form.method = "dialog";
    field.required = true;
    field.maxLength = 500;
    label.append(field);
    yes.value = "yes";
    no.type = "button";
    no.onclick = () => dialog.close();
    form.append(words, ...(reason ? [label] : []), yes, no);
    dialog.append(form);
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? field.value.trim() : null);
    };
    document.querySelector("main")?.append(dialog); // where the page's style holds
    dialog.showModal();
    (reason ? field : no).focus();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(BUTTONS);
    if (!button || button.disabled || button === passing) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const [text, action] = ASKED[button.id]();
    if (await window.arenaAsk({ text, action }) === null) return;
    passing = button;
    button.click();
    passing = null;
  }, true);
})();
