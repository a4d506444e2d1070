// Texts in the language of the arena; the server tells them in TRANSLATED, by their English ones.
// `say("{n} of {m}", { n, m })` fills in; `sayN("{n} vote", "{n} votes", n)` chooses by number.
const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
window.say = (text, values = {}) => filled(TRANSLATED[text] ?? text, values);
window.sayN = (one, many, n, values = {}) => {
  const [single, several] = TRANSLATED[one] ?? [one, many];
  return filled(n === 1 ? single : several, { n, ...values });
};

// Gradio says the browser's language, in which it has texts of its own.
const setLanguage = () => {
  if (document.documentElement.lang !== LANGUAGE) document.documentElement.lang = LANGUAGE;
};
setLanguage();
new MutationObserver(setLanguage).observe(document.documentElement, { attributeFilter: ["lang"] });
