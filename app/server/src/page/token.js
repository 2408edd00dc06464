// The token: from the link's fragment into the tab's own storage, and nowhere else.

const KEPT = "windlass.token";

/** Takes the token out of the address, which shows it no longer. Answers whether there is one. */
export function arrive() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("token");
  if (token !== null) {
    history.replaceState(null, "", `${location.pathname}#/`);
    keep(token);
  }
  return kept() !== null;
}

/** The token, or null. */
export function kept() {
  return sessionStorage.getItem(KEPT);
}

/** Keeps a token for as long as the tab is open. */
export function keep(token) {
  sessionStorage.setItem(KEPT, token.trim());
}

/** Forgets it. */
export function drop() {
  sessionStorage.removeItem(KEPT);
}
