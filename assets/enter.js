// Enter in the number beside a slider counts as leaving it. Gradio takes that number when its field
// loses the focus, and at no key. A number beyond the slider's ends, or none, it refuses with a message
// while the field shows another one: here a field says what it means before Gradio reads it.
const BESIDE_SLIDER = "[data-testid=number-input]";
let lastNumber = ""; // of the field that has the focus

const settle = (field) => {
  const { value, min, max } = field;
  const meant = value && String(Math.min(Math.max(value, min), max));
  lastNumber = meant || lastNumber;
  if (value === lastNumber) return;
  field.value = lastNumber;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};

document.addEventListener("focusin", ({ target }) => {
  if (target.matches(BESIDE_SLIDER)) lastNumber = target.value;
});

document.addEventListener("blur", ({ target }) => {
  if (target.matches?.(BESIDE_SLIDER)) settle(target);
}, true); // before it reaches Gradio

document.addEventListener("keydown", ({ key, target }) => {
  if (key === "Enter" && target.matches(BESIDE_SLIDER)) target.dispatchEvent(new Event("blur"));
});
