// Colours code, beside the page: for some code that takes minutes, and the page may end it.
importScripts("vendor/highlight.js/highlight.min.js");

onmessage = ({ data: { language, source } }) => {
  postMessage({ begun: true });
  const known = self.hljs.getLanguage(language);
  const value = known ? self.hljs.highlight(source, { language, ignoreIllegals: true }).value : null;
  postMessage({ value });
};
