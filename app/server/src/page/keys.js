// The keyboard: one table, from which the keys work and are told.

import { preference, prefer } from "./theme.js";

/** Keys, what they do, and the name of the action. */
export const KEYS = [
  ["c", "Write to the session", "compose"],
  ["n", "Begin a new session", "new"],
  ["j", "Next session", "next"],
  ["k", "Previous session", "previous"],
  ["s", "Go to the list of sessions", "sessions"],
  ["1", "Conversation", "talk"],
  ["2", "Timeline", "time"],
  ["3", "Log", "log"],
  ["/", "Search in the log", "search"],
  ["q", "Go to the next open question", "question"],
  ["g", "Go to the newest", "newest"],
  ["i", "Stop the turn after this step", "stop"],
  ["?", "These keys", "help"],
];

/** Keys that work in one place only. */
export const ELSEWHERE = [
  ["Enter, Shift+Enter", "In the composer: send, begin a line"],
  ["a, e, d", "In a question: allow, edit, deny"],
  ["Arrows, Home, End", "In lists and tabs: go from one to another"],
  ["Escape", "Close, or go back a step"],
];

/** Whether keys without a modifier do anything. */
export function single_keys() {
  return preference("keys") !== "off";
}

/** Turns them on or off. */
export function set_single_keys(on) {
  prefer("keys", on ? "on" : "off");
}

/** Has the keys do their actions. */
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
    if (!single_keys()) return;
    const found = KEYS.find(([key]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    actions[found[2]]();
  });
}

/** Has the arrows go through tabs. */
export function tabs(list, choose) {
  list.addEventListener("keydown", (event) => {
    const all = [...list.querySelectorAll('[role="tab"]')];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: (at + 1) % all.length, ArrowLeft: (at + all.length - 1) % all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    all[to].focus();
    choose(all[to].id.replace("tab-", ""));
  });
}
