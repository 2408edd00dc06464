// The composer: what is said, and when it is to be heard; stopping a turn; what waits.

import { fresh_key, of, post } from "./api.js";
import { children, h, id, text } from "./dom.js";
import { first, who } from "./format.js";
import { waiting } from "./fold.js";
import { visible } from "./visible.js";

export class Composer {
  constructor(context) {
    this.context = context;
    this.form = id("composer");
    this.tray = id("waiting");
    this.key = null;
    this.sending = false;
    this.words = h("textarea", { id: "words", rows: "1", placeholder: "Say something", "aria-label": "What to say", "aria-describedby": "composer-note" });
    this.send = h("button", { type: "submit", class: "primary" }, "Send");
    this.now = h("button", { type: "button", class: "danger", onclick: () => this.stop("now") }, "Stop now");
    this.step = h("button", { type: "button", onclick: () => this.stop("after_step") }, "Stop after this step");
    this.stops = h("span", { class: "stops" }, this.step, this.now);
    this.note = h("span", { id: "composer-note", class: "note" }, "Enter sends, Shift+Enter begins a line.");
    const radio = (value, words, checked) => h("label", { class: "choice" }, h("input", { type: "radio", name: "delivery", value, checked }), words);
    this.delivery = h("fieldset", { class: "delivery", hidden: true },
      h("legend", { class: "unseen" }, "When to process it"),
      radio("steer", "Steer this turn", true), radio("follow_up", "Follow up after it", false));
    this.form.append(this.words, h("div", { class: "composer-row" }, this.delivery, this.note, this.stops, this.send));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.words.addEventListener("input", () => { this.key = null; this.grow(); });
    this.words.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.submit();
      } else if (event.key === "Escape") {
        this.words.blur();
        id("talk").focus();
      }
    });
  }

  grow() {
    const lines = this.words.value.split("\n").length + Math.floor(this.words.value.length / 90);
    this.words.rows = Math.min(12, Math.max(1, lines));
  }

  clear() {
    this.words.value = "";
    this.key = null;
    this.grow();
  }

  /** What was not sent yet, and the key under which it may have been. */
  unsent() {
    return { words: this.words.value, key: this.key };
  }

  restore({ words, key }) {
    this.words.value = words;
    this.key = key;
    this.grow();
  }

  async submit() {
    const said = this.words.value;
    if (said.trim() === "" || this.sending) return;
    const session = this.context.session();
    const running = this.context.view().open !== null;
    const delivery = this.form.elements.delivery.value;
    // The same words that went unanswered are sent under the same key: they are said once.
    this.key ??= fresh_key();
    this.sending = true;
    this.send.disabled = true;
    try {
      if (running) await post(of(session, "/inputs"), { text: said, delivery }, this.key);
      else await post(of(session, "/turns"), { text: said }, this.key);
      if (this.words.value === said) this.clear();
    } catch (error) {
      this.context.problem(error);
    } finally {
      this.sending = false;
      this.send.disabled = false;
      this.words.focus();
    }
  }

  async stop(when) {
    try {
      await post(of(this.context.session(), "/interrupt"), { when });
      this.context.say(when === "now" ? "Asked to stop now." : "Asked to stop after this step.");
    } catch (error) {
      this.context.problem(error);
    }
  }

  async go_on() {
    try {
      await post(of(this.context.session(), "/continue"), {});
    } catch (error) {
      this.context.problem(error);
    }
  }

  draw(view, held) {
    const running = view.open !== null;
    const turn = running ? view.turns.get(view.open) : null;
    this.delivery.hidden = !running;
    this.note.hidden = running;
    this.stops.hidden = !running;
    this.step.disabled = turn?.interrupted !== null && turn !== null;
    this.now.disabled = turn?.interrupted === "now";
    const queued = waiting(view).filter((input) => !input.entry);
    this.tray.hidden = queued.length === 0;
    if (queued.length === 0) return this.tray.replaceChildren();
    const names = { steer: "steer", follow_up: "follow-up", turn: "a turn of its own" };
    const rows = queued.map((input) => h("li", null, h("span", { class: "note" }, `${visible(who(input.scope))}, ${names[input.delivery]}: `), visible(first(input.text, 200))));
    const go = !running && held ? h("button", { type: "button", class: "small", onclick: () => this.go_on() }, "Go on with it") : null;
    children(this.tray, [h("h2", { class: "tray-head" }, running ? "Waits to be heard" : "Waits"), h("ul", null, rows), go]);
  }
}
