// Draws in place: what was there stays the same node, so that presses, focus and selections hold.
// All text goes through text nodes: Gradio evaluates what a template renders.
const writeText = (node, text) => {
  const own = node.firstChild ?? node.appendChild(document.createTextNode(""));
  if (own.data === text) return;
  if (text.startsWith(own.data)) own.appendData(text.slice(own.data.length));
  else own.data = text;
};

const arrange = (parent, children) => {
  for (const child of [...parent.childNodes]) if (!children.includes(child)) child.remove();
  children.forEach((child, at) => {
    const there = parent.childNodes[at];
    if (there !== child) parent.insertBefore(child, there ?? null);
  });
};

// Returns a function that draws into the root. It takes a function that lists the root's children,
// made by `el(key, tag, class, text or children)`: an element of a known key is patched. In place of
// its content stands a function where something else draws that.
const painter = (root) => {
  let known = new Map();
  return (compose) => {
    const focused = root !== document.activeElement && root.contains(document.activeElement);
    const used = new Map();
    const el = (key, tag, className = "", content = []) => {
      const node = known.get(key) ?? document.createElement(tag);
      used.set(key, node);
      if (node.className !== className) node.className = className;
      if (typeof content === "function") content(node);
      else if (typeof content === "string") writeText(node, content);
      else arrange(node, content);
      return node;
    };
    arrange(root, compose(el));
    known = used;
    // What had the focus is gone: keep it here, or it would fall to the page.
    if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
  };
};
