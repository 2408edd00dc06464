// The raw log with search. Only the rows that are seen are made, so that a long log does not hang the tab.

import { children, h, text } from "./dom.js";
import { clock, count } from "./format.js";
import { laid_out } from "./json.js";
import { visible } from "./visible.js";

/** The height of a row, as style.css has it, in pixels. */
const ROW = 26;

/** Rows made beyond the edge of what is seen. */
const BEYOND = 12;

/** How many rows there are at most: browsers draw no element that is much higher. */
const MOST = 300_000;

export class LogView {
  constructor(root, context) {
    this.context = context;
    this.kind = h("select", { id: "log-kind", onchange: () => this.filter() }, h("option", { value: "" }, "All kinds"));
    this.words = h("input", { id: "log-words", type: "search", placeholder: "Search in the facts", autocomplete: "off", "aria-label": "Search in the facts", oninput: () => this.filter() });
    this.found = h("span", { class: "note", role: "status" });
    this.space = h("div", { class: "log-space" });
    this.rows = h("div", { class: "log-rows", role: "listbox", "aria-label": "Facts", tabindex: "0" }, this.space);
    this.detail = h("div", { class: "log-detail", hidden: true });
    root.append(h("h2", { class: "unseen" }, "Log"),
      h("div", { class: "log-head" }, h("label", { class: "unseen", for: "log-kind" }, "Kind"), this.kind, this.words, this.found),
      h("div", { class: "log-body" }, this.rows, this.detail));
    this.rows.addEventListener("scroll", () => this.place());
    this.rows.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.place()).observe(this.rows);
    this.clear();
  }

  clear() {
    this.view = null;
    this.shown = [];
    this.taken = 0;
    this.kinds = new Set();
    this.selected = -1;
    this.made = new Map();
    this.space.replaceChildren();
    this.detail.hidden = true;
    children(this.kind, [this.kind.options[0]]);
    this.kind.value = "";
  }

  /** Puts the cursor into the search. */
  search() {
    this.words.focus();
    this.words.select();
  }

  draw(view) {
    if (this.view !== view) {
      this.view = view;
      this.filter();
    }
    if (this.taken === view.log.length && this.said) return;
    this.more();
    this.place();
  }

  filter() {
    if (!this.view) return;
    this.shown = [];
    this.taken = 0;
    this.selected = -1;
    this.detail.hidden = true;
    this.rows.removeAttribute("aria-activedescendant");
    this.made.clear();
    this.space.replaceChildren();
    this.more();
    this.rows.scrollTop = 0;
    this.place();
  }

  /** Takes in the facts that came since. */
  more() {
    const wanted = this.words.value.trim().toLowerCase();
    const kind = this.kind.value;
    const { log } = this.view;
    for (; this.taken < log.length; this.taken += 1) {
      const fact = log[this.taken];
      if (!this.kinds.has(fact.kind)) this.add_kind(fact.kind);
      if (kind && fact.kind !== kind) continue;
      if (wanted && !fact.raw.toLowerCase().includes(wanted)) continue;
      this.shown.push(fact);
    }
    this.said = true;
    const cut = this.shown.length > MOST ? `, the first ${count(MOST)} are listed` : "";
    text(this.found, `${count(this.shown.length)} of ${count(log.length)}${cut}`);
  }

  add_kind(kind) {
    this.kinds.add(kind);
    const option = h("option", { value: kind }, kind);
    const next = [...this.kind.options].slice(1).find((other) => other.value > kind);
    this.kind.insertBefore(option, next ?? null);
  }

  /** Makes the rows that are seen, and no other. */
  place() {
    const rows = Math.min(this.shown.length, MOST);
    this.space.style.height = `${rows * ROW}px`;
    const top = Math.floor(this.rows.scrollTop / ROW);
    const from = Math.max(0, top - BEYOND);
    const until = Math.min(rows, top + Math.ceil(this.rows.clientHeight / ROW) + BEYOND);
    const wanted = [];
    for (let index = from; index < until; index += 1) {
      const element = this.row(index);
      element.style.transform = `translateY(${index * ROW}px)`;
      wanted.push(element);
    }
    children(this.space, wanted);
    for (const index of this.made.keys()) {
      if (index < from || index >= until) this.made.delete(index);
    }
  }

  row(index) {
    let element = this.made.get(index);
    if (!element) {
      const fact = this.shown[index];
      const brief = fact.raw.slice(fact.raw.indexOf('"body":') + 7, -1);
      element = h("div", { class: "log-row", role: "option", id: `log-row-${index}`, "aria-setsize": this.shown.length, "aria-posinset": index + 1, onclick: () => this.select(index) },
        h("span", { class: "seq" }, fact.seq), h("span", { class: "when" }, clock(fact.ts)), h("span", { class: "kind" }, visible(fact.kind)), h("span", { class: "brief" }, visible(brief.slice(0, 300))));
      this.made.set(index, element);
    }
    element.setAttribute("aria-selected", String(index === this.selected));
    return element;
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.rows.clientHeight / ROW) - 1);
    const last = Math.min(MOST, this.shown.length) - 1;
    const to = {
      ArrowDown: this.selected + 1, ArrowUp: this.selected - 1, PageDown: this.selected + page,
      PageUp: this.selected - page, Home: 0, End: last,
    }[event.key];
    if (event.key === "Escape" && this.selected >= 0) {
      event.stopPropagation();
      this.select(-1);
    }
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.select(Math.min(last, Math.max(0, to)));
  }

  select(index) {
    this.selected = index;
    const fact = this.shown[index];
    this.detail.hidden = !fact;
    if (fact) {
      const top = index * ROW;
      const { scrollTop, clientHeight } = this.rows;
      if (top < scrollTop) this.rows.scrollTop = top;
      else if (top + ROW > scrollTop + clientHeight) this.rows.scrollTop = top + ROW - clientHeight;
      this.rows.setAttribute("aria-activedescendant", `log-row-${index}`);
      children(this.detail, [
        h("div", { class: "detail-head" }, h("h3", null, `${fact.seq} ${fact.kind}`),
          h("button", { type: "button", class: "small", onclick: (event) => this.context.fork(fact.seq, event.currentTarget) }, "Fork from here"),
          h("button", { type: "button", class: "small", onclick: () => { this.select(-1); this.rows.focus(); } }, "Close")),
        h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": `Fact ${fact.seq}` }, visible(laid_out(fact.raw)))]);
    }
    this.place();
  }
}
