// Colours and keys as this browser's user wants them: kept in its storage, where there is one.

/** What is kept under a name, or null. */
export function preference(name) {
  try {
    return localStorage.getItem(`windlass.${name}`);
  } catch {
    return null;
  }
}

/** Keeps it. Where there is no storage it holds until the page is closed. */
export function prefer(name, value) {
  try {
    localStorage.setItem(`windlass.${name}`, value);
  } catch {
    // Nothing depends on it.
  }
}

/** Sets the colours, and what the choice of them shows. */
export function colours(select) {
  const set = (value) => { document.documentElement.dataset.theme = value; };
  const kept = preference("theme") ?? "auto";
  select.value = ["auto", "light", "dark"].includes(kept) ? kept : "auto";
  set(select.value);
  select.addEventListener("change", () => {
    set(select.value);
    prefer("theme", select.value);
  });
}
