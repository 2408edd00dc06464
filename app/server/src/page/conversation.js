// The conversation: turns with what was said, thought, called and decided in them. Each part is made
// once and then brought up to date where it changed.

import { call_part } from "./call.js";
import { children, h, text } from "./dom.js";
import { streaming } from "./fold.js";
import { clock, count, counted, duration, first, money, outcome, who, words } from "./format.js";
import { link, show } from "./markdown.js";
import { visible } from "./visible.js";

/** How many turns are shown at first, and how many more at a time. */
const SHOWN = 25;

/** How many entries of one turn are shown at first, and how many more at a time. */
const ENTRIES = 150;

/** Draws a view's conversation into an element. */
export class Conversation {
  constructor(root, context) {
    this.panel = root;
    this.root = h("div", { class: "talk" });
    root.append(this.root);
    this.context = context;
    // At the end it stays at the end, until somebody scrolls away from it.
    this.follows = true;
    root.addEventListener("scroll", () => { this.follows = this.below() < 60; });
    const sizes = new ResizeObserver(() => this.stay());
    sizes.observe(this.root);
    sizes.observe(root);
    this.clear();
  }

  /** How much there is below what is seen, in pixels. */
  below() {
    return this.panel.scrollHeight - this.panel.scrollTop - this.panel.clientHeight;
  }

  stay() {
    if (this.follows) this.panel.scrollTop = this.panel.scrollHeight;
  }

  /** Goes to the end and stays there. */
  newest() {
    this.follows = true;
    this.stay();
  }

  clear() {
    this.made = new WeakMap();
    this.shown = SHOWN;
    this.drawn = -1;
    this.follows = true;
    this.root.replaceChildren();
  }

  draw(view) {
    if (this.drawn === view.rev) return;
    this.drawn = view.rev;
    const blocks = view.blocks.filter((block) => block.entries.length || block.id !== null);
    const hidden = Math.max(0, blocks.length - this.shown);
    const wanted = blocks.slice(hidden).map((block) => this.block(block));
    if (blocks.length === 0) {
      this.empty ??= h("p", { class: "empty" }, "Nothing was said yet. What you send opens a turn.");
      wanted.push(this.empty);
    }
    children(this.root, [hidden > 0 && this.earlier(hidden, view), ...wanted]);
  }

  earlier(hidden, view) {
    this.more ??= h("button", { type: "button", class: "earlier", onclick: () => {
      this.shown += SHOWN;
      this.drawn = -1;
      this.draw(this.of);
    } });
    this.of = view;
    text(this.more, `Show earlier turns (${count(hidden)})`);
    return this.more;
  }

  part(thing, make) {
    let made = this.made.get(thing);
    if (!made) {
      made = make(thing);
      this.made.set(thing, made);
    }
    made.update();
    return made.element;
  }

  block(block) {
    return this.part(block, () => this.new_block(block));
  }

  new_block(block) {
    const entries = h("div", { class: "entries" });
    const foot = h("footer", { class: "turn-foot", hidden: true });
    const head = h("h2", { class: "turn-head" });
    let most = ENTRIES;
    const more = h("button", { type: "button", class: "earlier", onclick: () => {
      most += ENTRIES;
      drawn = -1;
      this.follows = false;
      update();
    } });
    const element = block.id === null
      ? h("section", { class: "between" }, entries)
      : h("article", { class: "turn", "data-turn": block.id, tabindex: "-1", "aria-label": `Turn ${block.id}` }, head, entries, foot);
    let drawn = -1;
    const update = () => {
      if (drawn === block.rev) return;
      drawn = block.rev;
      text(head, `Turn ${block.id} \u00b7 ${clock(block.ts)}${block.dry_run ? " \u00b7 only planned" : ""}${opened(block)}`);
      // What the turn was asked comes first, however long it is.
      const hidden = Math.max(0, block.entries.length - 1 - most);
      const shown = hidden > 0 ? [block.entries[0], ...block.entries.slice(1 + hidden)] : block.entries;
      const parts = shown.map((entry) => {
        const part = this.part(entry, () => this.entry(entry));
        part.dataset.rewound = String(entry.rewound);
        return part;
      });
      if (hidden > 0) {
        text(more, `Show earlier steps (${count(hidden)})`);
        parts.splice(1, 0, more);
      }
      children(entries, parts);
      element.dataset.open = String(block.id !== null && !block.settled);
      if (block.settled && foot.hidden) {
        foot.hidden = false;
        children(foot, this.foot(block));
      }
    };
    return { element, update };
  }

  foot(block) {
    const ended = outcome(block.settled);
    const { spent } = block.settled;
    const told = [duration(block.ended - block.ts), counted(spent.samples ?? 0, "sample"), counted(spent.calls ?? 0, "call")];
    const usage = spent.usage ?? {};
    if (usage.input !== undefined || usage.output !== undefined) told.push(`${count(usage.input ?? 0)} in, ${count(usage.output ?? 0)} out`);
    if (spent.cost_micros) told.push(`cost ${money(spent.cost_micros)}`);
    return [
      h("span", { class: "outcome", "data-tone": ended.tone }, visible(first(ended.words, 600))),
      h("span", { class: "turn-told" }, told.join(" \u00b7 ")),
      h("span", { class: "turn-actions" },
        h("button", { type: "button", class: "small", onclick: () => this.context.timeline(block.id) }, "Timeline"),
        h("button", { type: "button", class: "small", onclick: (event) => this.context.fork(block.last, event.currentTarget) }, "Fork from here")),
    ];
  }

  entry(entry) {
    if (entry.kind === "sample") return this.sample(entry);
    if (entry.kind === "input") return input(entry.input);
    return note(entry);
  }

  sample(sample) {
    const parts = h("div", { class: "parts" });
    const tail = h("p", { class: "note sample-note" });
    const element = h("div", { class: "sample" }, parts, tail);
    let drawn = -1;
    const update = () => {
      if (drawn === sample.rev) return;
      drawn = sample.rev;
      const standing = sample.items.filter((item) => item.stands);
      const dropped = sample.items.filter((item) => !item.stands);
      const wanted = standing.map((item) => this.item(item));
      for (const part of streaming(sample)) wanted.push(this.part(part, () => live_part(part)));
      if (sample.cut?.text && sample.partial) wanted.push(this.part(sample.cut, () => still(sample.partial)));
      const discarded = sample.cut && !sample.cut.text && (dropped.length || sample.partial);
      if (discarded) wanted.push(this.part(sample.cut, () => discarded_part(dropped, sample.partial)));
      children(parts, wanted);
      const words = sample_words(sample);
      tail.hidden = words === "";
      text(tail, words);
    };
    return { element, update };
  }

  item(item) {
    if (item.type === "call") return this.part(item, () => call_part(item.call, this.context));
    if (item.searches?.length) return this.part(item, () => searches(item.searches));
    if (item.type === "reasoning") return this.part(item, () => reasoning(item.text, false));
    return this.part(item, () => still(item.text, item.type === "refusal", item.citations));
  }
}

function opened(block) {
  const why = block.reason?.kind;
  if (why === "goal") return " \u00b7 towards the goal";
  return why && why !== "input" ? ` \u00b7 ${words(why)}` : "";
}

function sample_words(sample) {
  if (sample.cut) {
    const { failure } = sample.cut;
    if (sample.cut.text) return failure.kind === "steered" ? "Cut short: you spoke." : `Cut short: ${visible(first(failure.message, 300))}`;
    return `Broke off (${words(failure.kind)}): ${visible(first(failure.message, 300))}`;
  }
  if (sample.fault) return `The answer cannot be used: ${visible(first(sample.fault, 300))}`;
  if (sample.status === "ended" && sample.stop !== "stop") return `The model stopped: ${words(typeof sample.stop === "string" ? sample.stop : sample.stop?.other)}.`;
  if (sample.status === "running" && !sample.block.settled && sample.items.length === 0 && streaming(sample).length === 0) {
    return sample.attempt > 1 ? `The model is asked again (attempt ${sample.attempt})\u2026` : "The model is asked\u2026";
  }
  return "";
}

/** Words that do not change any more, with their sources. */
function still(words, refusal = false, citations = []) {
  const element = h("div", { class: refusal ? "prose refusal" : "prose", dir: "auto" });
  show(element, words);
  if (!citations?.length) return { element, update() {} };
  return { element: h("div", null, element, sources(citations)), update() {} };
}

/** The pages that a text cites, each once; only those of the web are links. */
function sources(citations) {
  const pages = new Map(citations.map(({ url, title }) => [url, title]));
  const line = ([url, title]) => h("li", null, link(title || url, url) ?? visible(title || url));
  return h("ol", { class: "sources", "aria-label": "Sources" }, ...[...pages].map(line));
}

/** What the provider searched for. */
function searches(queries) {
  const named = queries.map((query) => `\u201c${visible(first(query, 200))}\u201d`).join(", ");
  return { element: h("p", { class: "note searches" }, `Searched the web for ${named}.`), update() {} };
}

/** Words that still come. */
function live_part(part) {
  if (part.type === "reasoning") return reasoning_live(part);
  if (part.type === "call") return call_live(part);
  const element = h("div", { class: "prose live", dir: "auto", "aria-busy": "true" });
  return { element, update: once(part, () => show(element, part.text)) };
}

function once(part, draw) {
  let drawn = -1;
  return () => {
    if (drawn === part.rev) return;
    drawn = part.rev;
    draw();
  };
}

function reasoning(words) {
  if (words.trim() === "") {
    return { element: h("p", { class: "note reasoning-kept" }, "Reasoning, which the provider keeps to itself."), update() {} };
  }
  const body = h("div", { class: "prose", dir: "auto" });
  const element = h("details", { class: "reasoning" }, h("summary", null, `Reasoning, ${count(words.length)} characters`), body);
  element.addEventListener("toggle", () => { if (element.open) show(body, words); });
  return { element, update() {} };
}

function reasoning_live(part) {
  const body = h("div", { class: "prose", dir: "auto" });
  const summary = h("summary");
  const element = h("details", { class: "reasoning live", open: true }, summary, body);
  return { element, update: once(part, () => {
    text(summary, `Reasoning, ${count(part.text.length)} characters so far`);
    show(body, part.text);
  }) };
}

function call_live(part) {
  const name = h("strong", { class: "call-name" });
  const brief = h("span", { class: "brief" });
  const element = h("div", { class: "call-live" }, h("span", { class: "sign", "aria-hidden": "true" }, "\u00b7"), name, brief, h("span", { class: "call-state" }, "being written"));
  return { element, update: once(part, () => {
    text(name, visible(part.name || "call"));
    text(brief, visible(part.text.slice(-160)));
  }) };
}

/** What an answer that broke off had said: it is no part of the conversation. */
function discarded_part(items, partial) {
  const said = items.map((item) => item.text ?? `${item.name} ${item.arguments}`);
  if (partial) said.push(partial);
  const body = h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "Discarded" }, visible(said.join("\n\n")));
  return { element: h("details", { class: "discarded" }, h("summary", null, "What it had said, which does not count"), body), update() {} };
}

function input(input) {
  const delivery = { steer: "while the turn ran", follow_up: "as a follow-up" }[input.delivery] ?? "";
  const head = h("h3", { class: "said-by" }, visible(who(input.scope)), h("span", { class: "when" }, ` ${clock(input.ts)} ${delivery}`));
  const words = h("div", { class: "said", dir: "auto" }, visible(input.text));
  const images = input.images ? h("p", { class: "note" }, counted(input.images, "image")) : null;
  const blocked = h("p", { class: "note bad", hidden: true });
  const element = h("div", { class: "input", "data-input": input.seq }, head, words, images, blocked);
  return { element, update() {
    blocked.hidden = input.status !== "blocked";
    text(blocked, `Blocked: ${visible(input.reason)}`);
  } };
}

/** What else happened, on a line; what there is more of opens. */
function note(entry) {
  const element = h("div", { class: `remark ${entry.kind}` });
  let drawn = -1;
  return { element, update() {
    if (drawn === entry.rev) return;
    drawn = entry.rev;
    const { line, more } = remark(entry);
    const shown = visible(line);
    element.replaceChildren(more ? h("details", null, h("summary", null, shown), h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "Details" }, visible(more))) : h("p", null, shown));
  } };
}

function remark(entry) {
  switch (entry.kind) {
    case "settings":
      return { line: `${who(entry.by)} changed the settings: ${entry.settings.model}, ${entry.settings.mode}, ${words(entry.settings.permissions)}`, more: JSON.stringify(entry.settings, null, 2) };
    case "narrowed": {
      const parts = [entry.mode && `${entry.mode} mode`, entry.permissions && `permissions ${words(entry.permissions)}`, entry.rules > 0 && "other rules", entry.hooks > 0 && "other hooks"];
      return { line: `The session was narrowed to what this server permits: ${parts.filter(Boolean).join(", ") || "corrected tools"}` };
    }
    case "renamed":
      return { line: entry.title ? `${who(entry.by)} named the session ${first(entry.title, 200)}` : `${who(entry.by)} removed the session's name` };
    case "rewound":
      return { line: `${who(entry.by)} went back to position ${entry.to}: the model does not see what is faded`, more: entry.notice };
    case "restored":
      return { line: `${who(entry.by)} took back changes of ${entry.paths.length + entry.more} files`, more: entry.paths.join("\n") };
    case "goal":
      if (entry.end) return { line: `The goal ended: ${entry.end.end}${entry.end.reason ? `, ${entry.end.reason}` : ""}` };
      return entry.goal ? { line: `Goal: ${first(entry.goal.text, 200)}` } : { line: "The goal was removed" };
    case "context":
      return { line: `The model is told something besides (${words(entry.by)})`, more: entry.text };
    case "hook": {
      const why = entry.reason ? `: ${first(entry.reason, 300)}` : "";
      return { line: `Hook ${entry.name} at ${words(entry.point)}: ${words(entry.verdict)}${why}`, more: entry.edit ?? entry.context };
    }
    case "compaction": {
      const why = {
        overflow: "the provider refused the request as too large",
        manual: entry.focus ? `a user requested it, with the focus: ${entry.focus}` : "a user requested it",
      }[entry.trigger] ?? "it would not fit the window";
      if (entry.status === "running") return { line: `The conversation is being compacted: ${why}\u2026` };
      if (entry.status === "failed") return { line: `The compaction failed: ${entry.reason}` };
      const took = duration(entry.ended - entry.ts);
      return { line: `The conversation was compacted (${words(entry.strategy)}, ${took}): ${why}`, more: entry.cut.summary ?? JSON.stringify({ cut: entry.cut, visible: entry.visible }, null, 2) };
    }
    case "model":
      return { line: `The server reports the model ${entry.reported}, and ${entry.requested} was requested` };
    case "interrupt": {
      const when = entry.when === "after_step" ? "after this step" : "now";
      const by = { person: who(entry.scope), parent: "the calling session" }[entry.by] ?? words(entry.by);
      return { line: `${by} asked the turn to stop ${when}${entry.reason ? `: ${first(entry.reason, 200)}` : ""}` };
    }
    default:
      return { line: words(entry.kind) };
  }
}
