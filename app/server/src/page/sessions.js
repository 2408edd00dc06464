// The list of sessions: asked for every few seconds while somebody looks, newest changes first.

import { get, of, sessions } from "./api.js";
import { children, h, id, text } from "./dom.js";
import { ago, counted, first, state } from "./format.js";
import { visible } from "./visible.js";

/** Between two looks, in milliseconds: usually, and at most after failures. */
const LOOK_MS = 4000;
const MOST_MS = 60_000;

/** How many are shown at first, and how many more at a time. */
const SHOWN = 200;

/** How many sessions at rest are looked at, after each look at the list: whether they failed. */
const LOOKED_AT = 20;

/** How many of its last facts say how a session came to rest. */
const LAST = 5;

export class SessionList {
  constructor(context) {
    this.context = context;
    this.list = id("session-list");
    this.note = id("sessions-note");
    this.made = new Map();
    this.found = [];
    /** How sessions came to rest: by id, their last position and whether they failed. */
    this.rest = new Map();
    this.shown = SHOWN;
    this.timer = 0;
    this.wait = LOOK_MS;
    this.list.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Looks now, and again and again while the tab is seen. */
  async look() {
    clearTimeout(this.timer);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    if (document.hidden || !this.context.signed_in()) return;
    try {
      const { sessions: found, whole } = await sessions();
      if (turn !== this.turn) return;
      this.found = found.sort((a, b) => (b.changed ?? 0) - (a.changed ?? 0) || (a.id < b.id ? 1 : -1));
      this.wait = LOOK_MS;
      this.say(whole ? "" : `Only ${counted(found.length, "session")} are listed.`);
      this.draw();
      this.context.listed(found);
      await this.outcomes(turn);
    } catch (error) {
      if (turn !== this.turn) return;
      if (error.status === 401) return this.context.signed_out(error.token);
      this.wait = Math.min(MOST_MS, this.wait * 2);
      this.say(`The list could not be read: ${error.message}`);
    }
    this.timer = setTimeout(() => this.look(), this.wait);
  }

  /** Asks how those at rest came to it, of which that is not known yet. */
  async outcomes(turn) {
    const known = ({ id: session, last }) => this.rest.get(session)?.last === last;
    const asked = this.found.filter((session) => session.state === "idle" && session.last > 1 && !known(session));
    for (const session of asked.slice(0, LOOKED_AT)) {
      const { facts } = await get(of(session.id, `/history?after=${Math.max(0, session.last - LAST)}&limit=${LAST}`));
      if (turn !== this.turn) return;
      this.settled(session, facts.findLast((fact) => fact.kind === "TurnSettled")?.body.outcome);
      this.draw();
    }
    if (this.rest.size > 4 * SHOWN) this.rest.clear();
  }

  /** A session came to rest. */
  settled({ id: session, last }, outcome) {
    this.rest.set(session, { last, failed: outcome === "failed" });
  }

  say(words) {
    this.note.hidden = words === "";
    text(this.note, words);
  }

  /** Draws the list. */
  draw() {
    const current = this.context.current();
    const shown = this.found.slice(0, this.shown);
    const selected = shown.find((session) => session.id === current) ?? shown[0];
    const items = shown.map((session) => this.item(session, current, session === selected));
    if (this.found.length > this.shown) {
      items.push(h("li", null, h("button", { type: "button", class: "earlier", onclick: () => { this.shown += SHOWN; this.draw(); } }, "Show more")));
    }
    if (this.found.length === 0) items.push(h("li", { class: "note" }, "There are none yet."));
    children(this.list, items);
    for (const known of this.made.keys()) {
      if (!shown.some((session) => session.id === known)) this.made.delete(known);
    }
  }

  item(session, current, roving) {
    let made = this.made.get(session.id);
    if (!made) {
      made = {
        title: h("span", { class: "session-title", dir: "auto" }), when: h("span", { class: "session-when" }),
        sign: h("span", { "aria-hidden": "true", class: "sign" }), words: h("span"), more: h("span", { class: "session-more" }),
      };
      const badge = h("span", { class: "session-state" }, made.sign, made.words);
      made.button = h("button", { type: "button", class: "session-item", "data-session": session.id, onclick: () => this.context.open(session.id) },
        made.title, made.when, badge, made.more);
      made.element = h("li", null, made.button);
      this.made.set(session.id, made);
    }
    const stands = state(session.state, this.rest.get(session.id)?.failed);
    text(made.title, visible(first(session.title ?? "", 200)) || "Without a title");
    text(made.when, session.changed ? ago(session.changed, Date.now()) : "");
    text(made.sign, stands.sign);
    text(made.words, stands.words);
    const more = [];
    if (session.asking > 1) more.push(counted(session.asking, "question"));
    if (session.waiting) more.push(`${session.waiting} waiting`);
    if (session.held) more.push("held");
    if (session.lineage?.from === "fork") more.push("fork");
    text(made.more, more.join(" \u00b7 "));
    made.button.dataset.tone = stands.tone;
    made.button.tabIndex = roving ? 0 : -1;
    if (session.id === current) made.button.setAttribute("aria-current", "page");
    else made.button.removeAttribute("aria-current");
    return made.element;
  }

  /** The arrows go from session to session. */
  key(event) {
    const buttons = [...this.list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || at < 0 || !buttons[to]) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  }

  /** Goes to the next session, or to the one before, of the one that is open. */
  step(by) {
    const at = this.found.findIndex((session) => session.id === this.context.current());
    const next = this.found[at < 0 ? 0 : at + by];
    if (next) this.context.open(next.id);
  }
}
