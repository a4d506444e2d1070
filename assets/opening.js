// Until Gradio has drawn the page: the ground of the theme, and the arena's name where it will stand.
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("coupled-arena-theme"); } catch { /* it may be forbidden */ }
  const preferred = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const [text, ground] = chosen === "dark" || (chosen !== "light" && preferred)
    ? ["#f3f4f6", "#0b0f19"] : ["#1f2937", "#fff"];
  const style = document.createElement("style");
  style.textContent = `html { background: ${ground}; } html body { background: none !important; }
    body::before { content: "Coupled Arena"; position: fixed; left: max(16px, 50vw - 608px); top: 26px;
    font: 700 1.6rem/1.6 sans-serif; color: ${text}; }`;
  document.head.append(style);
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".page-header")) return;
    observer.disconnect();
    style.remove();
  }).observe(document, { childList: true, subtree: true });
})();
