// What a phone needs beside its style. The sections of a tab are folded when they first appear, so that
// a tab is about one screen long; and no field speaks of keys where there are none.
(() => {
  const OPEN = ".section > button.label-wrap.open";
  const narrow = window.matchMedia("(max-width: 640px)");
  const touched = window.matchMedia("(hover: none)");
  const KEYLESS = say("Ask anything.");
  const met = new WeakSet(); // sections that have been folded, or may be left as they are
  const look = () => {
    const question = document.querySelector("#question textarea");
    if (question && touched.matches && question.placeholder !== KEYLESS) question.placeholder = KEYLESS;
    if (!narrow.matches) return;
    for (const button of document.querySelectorAll(OPEN)) {
      if (met.has(button) || !button.checkVisibility()) continue;
      met.add(button);
      button.click();
    }
  };
  let due;
  new MutationObserver(() => { due ??= requestAnimationFrame(() => { due = undefined; look(); }); })
    .observe(document, { childList: true, subtree: true, attributeFilter: ["style", "class"] });
})();
