// What this browser has been told to keep. It may forbid that inside another site's frame; a choice
// then holds for a visit.
const remembered = (name, value) => {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
  }
  return null;
};
