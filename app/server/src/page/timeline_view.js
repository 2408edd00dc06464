// The timeline, drawn: where the time of a turn went, and each step as a bar. It is a table, so that it
// can be read without seeing the bars.

import { children, h, svg } from "./dom.js";
import { counted, duration, outcome, words } from "./format.js";
import { bars, KINDS, shares } from "./timeline.js";
import { visible } from "./visible.js";

/** How many bars are drawn at first, and how many more at a time. */
const DRAWN = 300;

export class TimelineView {
  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.choice = h("select", { id: "turn-choice", onchange: () => { this.turn = Number(this.choice.value); this.most = DRAWN; this.again(); } });
    this.head = h("div", { class: "time-head" }, h("label", { for: "turn-choice" }, "Turn"), this.choice);
    this.body = h("div");
    root.append(h("h2", { class: "unseen" }, "Timeline"), this.head, this.body);
    this.clear();
  }

  clear() {
    this.turn = null;
    this.most = DRAWN;
    this.drawn = "";
    this.body.replaceChildren();
  }

  /** Shows this turn from now on; without one, the newest. */
  choose(turn) {
    this.turn = turn;
    this.most = DRAWN;
    this.drawn = "";
  }

  again() {
    this.drawn = "";
    this.draw(this.view, this.context.now());
  }

  draw(view, now) {
    this.view = view;
    const turns = view.blocks.filter((block) => block.id !== null);
    const turn = (this.turn !== null && view.turns.get(this.turn)) || turns.at(-1);
    const key = turn ? `${turn.id} ${turn.rev} ${turn.settled ? "" : Math.floor(now / 500)} ${turns.length} ${this.most}` : "none";
    if (key === this.drawn) return;
    this.drawn = key;
    if (!turn) return children(this.body, [h("p", { class: "empty" }, "No turn was opened yet.")]);
    this.options(turns, turn);
    const to = Math.max(turn.ended ?? now, turn.ts);
    const all = bars(turn.facts, to, view.inputs);
    const from = Math.min(turn.ts, ...all.map((bar) => bar.from));
    children(this.body, [summary(turn, all, from, to), this.table(all, from, to)]);
  }

  options(turns, turn) {
    if (this.choice.options.length !== turns.length) {
      children(this.choice, turns.map((each) => h("option", { value: each.id }, `Turn ${each.id}`)));
    }
    if (Number(this.choice.value) !== turn.id) this.choice.value = String(turn.id);
  }

  table(all, from, to) {
    const rows = all.slice(0, this.most).map((bar) => row(bar, from, to));
    const table = h("table", { class: "bars" },
      h("caption", { class: "unseen" }, "Each step of the turn, in the order in which they began"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Step"), h("th", { scope: "col" }, "How it ended"), h("th", { scope: "col", class: "number" }, "Began at"), h("th", { scope: "col", class: "number" }, "Took"), h("th", { scope: "col", "aria-hidden": "true" }, scale(to - from)))),
      h("tbody", null, rows));
    if (all.length <= this.most) return table;
    const more = h("button", { type: "button", class: "earlier", onclick: () => { this.most += DRAWN; this.again(); } }, `Show more of ${counted(all.length, "step")}`);
    return h("div", null, table, more);
  }
}

/** Where the time went, as one bar and as a list. */
function summary(turn, all, from, to) {
  const total = Math.max(1, to - from);
  const parts = shares(all, from, to);
  const strip = svg("svg", { class: "strip", viewBox: "0 0 1000 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  let x = 0;
  for (const { kind, ms } of parts) {
    const width = (1000 * ms) / total;
    strip.append(svg("rect", { class: `fill-${kind}`, x, y: 0, width, height: 16 }));
    x += width;
  }
  const list = parts.filter(({ ms }) => ms > 0).sort((a, b) => b.ms - a.ms);
  const ended = turn.settled ? outcome(turn.settled).words : "it runs";
  return h("section", { class: "shares", "aria-label": "Where the time went" },
    h("p", { class: "lead" }, h("strong", null, duration(to - from)), ` \u00b7 ${visible(ended)}`),
    strip,
    h("ul", { class: "legend" }, list.map(({ kind, label, ms }) => h("li", null,
      svg("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { class: `fill-${kind}`, width: 10, height: 10, rx: 2 })),
      `${label} `, h("span", { class: "value" }, duration(ms)), ` ${Math.round((100 * ms) / total)} %`))));
}

function row(bar, from, to) {
  const total = Math.max(1, to - from);
  const x = (1000 * (bar.from - from)) / total;
  const width = Math.max(3, (1000 * (bar.to - bar.from)) / total);
  const drawing = svg("svg", { class: "track", viewBox: "0 0 1000 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: `fill-${bar.kind}${bar.status === "running" ? " running" : ""}`, x: Math.min(x, 997), y: 1, width, height: 12 }),
    marks(bar, x, width).map((at) => svg("rect", { class: "mark", x: at, y: 0, width: 2, height: 14 })));
  const kind = KINDS.find(([name]) => name === bar.kind)?.[1] ?? bar.kind;
  return h("tr", { "data-kind": bar.kind, title: `${kind}: ${bar.label}` },
    h("th", { scope: "row" }, visible(bar.label), bar.detail && h("span", { class: "more" }, ` ${visible(bar.detail)}`)),
    h("td", null, words(bar.status)),
    h("td", { class: "number" }, duration(bar.from - from)),
    h("td", { class: "number" }, duration(bar.to - bar.from)),
    h("td", { class: "drawing", "aria-hidden": "true" }, drawing));
}

/** Where in a sample's bar its items were whole; those at its ends would only shorten it. */
function marks(bar, x, width) {
  const share = (at) => x + (width * (at - bar.from)) / Math.max(1, bar.to - bar.from);
  return (bar.marks ?? []).map(share).filter((at) => at > x + 6 && at < x + width - 6);
}

/** The ends of the scale, over the bars. */
function scale(ms) {
  return h("span", { class: "scale" }, h("span", null, "0"), h("span", null, duration(ms / 2)), h("span", null, duration(ms)));
}
