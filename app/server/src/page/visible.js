// Making visible what hides: control characters, and characters that change the direction of others.

const MARKS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
const STRICT = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff]|[\u{13430}-\u{1345f}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/gu;

/** Text as it may be shown: what would hide or turn other text round is spelled out. Characters that
 * join others, which some scripts and emoji need, stay as they are. */
export function visible(text) {
  return text.replace(MARKS, spelled);
}

/** As `visible`, and nothing at all stays hidden: for what a person decides about. */
export function exact(text) {
  return text.replace(STRICT, spelled);
}

/** Whether `exact` spells anything out. */
export function hides(text) {
  return exact(text) !== text;
}

const NAMES = new Map([[0, "NUL"], [7, "BEL"], [8, "BS"], [13, "CR"], [27, "ESC"], [127, "DEL"]]);

function spelled(character) {
  const code = character.codePointAt(0);
  const name = NAMES.get(code) ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return `\u27e8${name}\u27e9`;
}
