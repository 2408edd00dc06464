// The fold: facts and live events in, what is to be shown out. Pure: no element, no clock, no network.
//
// A view is changed in place. Each turn and each entry carries `rev`, which grows with each change to it,
// so that whoever draws it draws no more than what changed.

import { facts } from "./facts.js";

/** How many characters two texts begin with alike that are taken for the same part. */
const ALIKE = 8;

/** How many lines of a tool's progress are kept. */
const PROGRESS = 200;

/** A view of nothing. */
export function fresh() {
  return {
    /** The position of the last fact. */
    last: 0,
    /** All facts, in order: `{seq, ts, turn, kind, body, raw}`. */
    log: [],
    opened: null,
    settings: null,
    title: null,
    settingsAt: new Map(),
    /** Turns, and between them what belongs to none (`id` null). */
    blocks: [],
    turns: new Map(),
    /** The turn that is open, or null. */
    open: null,
    inputs: new Map(),
    calls: new Map(),
    samples: new Map(),
    hooks: new Map(),
    compactions: new Map(),
    // Of the latest compaction that a user requested.
    focus: "",
    /** Reported models that were warned of. */
    models: new Set(),
    /** Calls that a person is asked about. */
    questions: new Map(),
    goal: null,
    /** What settled turns took, together. */
    spent: { turns: 0, samples: 0, calls: 0, usage: {}, cost_micros: 0, ms: 0 },
    /** What is told to those who cannot see: taken away by whoever tells it. */
    told: [],
    /** Grows with each change. */
    rev: 0,
  };
}

/** Takes the next fact, with its text as it came. A fact that was taken before is passed over. */
export function take(view, fact, raw) {
  if (fact.seq <= view.last) return false;
  view.last = fact.seq;
  const known = { ...fact, raw };
  view.log.push(known);
  view.rev += 1;
  const block = block_of(view, fact.turn, fact.ts, fact.seq);
  block.facts.push(known);
  facts[fact.kind]?.(view, known, block);
  touch(block);
  return true;
}

/** Takes a live event. */
export function live(view, event) {
  view.rev += 1;
  if (event.kind === "CallProgress") return progress(view, event);
  const { started, slot } = event.body;
  const sample = sample_of(view, started, event.turn, event.ts);
  if (!sample || sample.status !== "running") return;
  let part = sample.live.get(slot);
  if (!part) {
    part = { slot, type: typed(event.kind), text: "", name: "", claimed: false, repeats: null, rev: 0 };
    sample.live.set(slot, part);
  }
  if (event.kind === "CallDelta") {
    part.name = event.body.name;
  } else {
    const begins = part.text === "";
    part.text += event.body.text;
    // What is told again after a new connection may have become a fact before. A part that goes on has not.
    if (begins) repeat(sample, part);
    else if (part.repeats) go_on(part);
  }
  touch(part);
  touch(sample);
  touch(sample.block);
}

/** Forgets live text: a connection begins, which tells what there is of it. */
export function forget(view) {
  view.rev += 1;
  for (const sample of view.samples.values()) {
    if (sample.live.size === 0) continue;
    sample.live.clear();
    for (const item of sample.items) item.claims = false;
    touch(sample);
    touch(sample.block);
  }
  for (const call of view.calls.values()) {
    if (call.progress.length === 0 || call.observed) continue;
    call.progress = [];
    touch(call);
    touch(call.block);
  }
}

/** Marks a change. */
export function touch(thing) {
  if (thing) thing.rev += 1;
}

/** The block of a turn, or of what belongs to none at this position. */
export function block_of(view, turn, ts, seq) {
  if (turn !== null && turn !== undefined) return view.turns.get(turn) ?? add_block(view, turn, ts, turn);
  const before = view.blocks.findLast((block) => block.at <= seq);
  return before && before.id === null ? before : add_block(view, null, ts, seq);
}

function add_block(view, id, ts, at) {
  const block = {
    id, ts, at, rev: 0, facts: [], entries: [], settled: null, ended: null, last: 0,
    scope: null, limits: null, settings: null, dry_run: false, reason: null, interrupted: null,
    samples: 0, calls: 0, usage: {}, cost_micros: 0,
  };
  // What a turn says may be told before the facts of the turns before it.
  put(view.blocks, block, (other) => other.at > at);
  if (id !== null) view.turns.set(id, block);
  return block;
}

function put(list, thing, after) {
  let at = list.length;
  while (at > 0 && after(list[at - 1])) at -= 1;
  list.splice(at, 0, thing);
}

/** Puts an entry where its position says. */
export function enter(block, entry) {
  entry.rev = 0;
  entry.block = block;
  // True if a later rewind took it out of the conversation.
  entry.rewound = false;
  put(block.entries, entry, (other) => other.seq > entry.seq);
  return entry;
}

/** The sample that began at a position, made where only live text has told of it so far. */
export function sample_of(view, started, turn, ts) {
  const known = view.samples.get(started);
  if (known) return known;
  // Its facts lie before those that were asked for, or it belongs to no turn: nothing to show it in.
  if (turn === null || turn === undefined || started <= view.last) return null;
  const block = block_of(view, turn, ts, started);
  const sample = enter(block, new_sample(started, ts));
  view.samples.set(started, sample);
  return sample;
}

/** A sample that runs. */
export function new_sample(seq, ts) {
  return {
    kind: "sample", seq, ts, number: null, attempt: 1, reason: null, status: "running",
    items: [], live: new Map(), cut: null, partial: "", usage: null, ended: null, fault: null,
  };
}

function progress(view, event) {
  const call = view.calls.get(event.body.call);
  if (!call || call.observed) return;
  call.progress.push(event.body.text);
  if (call.progress.length > PROGRESS) call.progress.splice(0, call.progress.length - PROGRESS);
  touch(call);
  touch(call.sample);
  touch(call.block);
}

function typed(kind) {
  if (kind === "TextDelta") return "text";
  if (kind === "RefusalDelta") return "refusal";
  if (kind === "ReasoningDelta") return "reasoning";
  return "call";
}

function repeat(sample, part) {
  const same = (item) => item.type === part.type && !item.claims && whole(item) === part.text;
  const item = sample.items.find(same);
  if (!item) return;
  Object.assign(part, { claimed: true, repeats: item });
  item.claims = true;
}

function go_on(part) {
  part.repeats.claims = false;
  Object.assign(part, { claimed: false, repeats: null });
}

function whole(item) {
  return item.type === "call" ? item.arguments : item.text;
}

/** The live parts of a sample that no item stands for yet, in their order. */
export function streaming(sample) {
  const parts = [...sample.live.values()].filter((part) => !part.claimed);
  return parts.sort((a, b) => a.slot - b.slot);
}

/** Takes away the live part that an item is the whole of. */
export function claim(sample, item) {
  const parts = streaming(sample).filter((part) => part.type === item.type);
  const all = whole(item);
  const named = (part) => part.type !== "call" || part.name === item.name;
  const found =
    parts.find((part) => named(part) && part.text === all) ??
    parts.find((part) => named(part) && all.startsWith(part.text)) ??
    // Its end may have told all of it anew, a little otherwise than it streamed.
    parts.find((part) => named(part) && all.slice(0, ALIKE) === part.text.slice(0, ALIKE));
  if (!found) return;
  found.claimed = true;
  item.claims = true;
}

/** Adds what was used. */
export function add_usage(total, usage) {
  for (const [name, number] of Object.entries(usage ?? {})) {
    if (typeof number === "number") total[name] = (total[name] ?? 0) + number;
  }
}

/** What usage costs, in millionths, as the engine counts it; 0 without a price. */
export function cost(price, usage) {
  if (!price || !usage) return 0;
  const whole = usage.input === undefined && usage.output === undefined;
  const input = whole ? usage.total ?? 0 : usage.input ?? 0;
  const output = whole ? 0 : usage.output ?? 0;
  const cached = Math.min(usage.cached_input ?? 0, input);
  const written = Math.min(usage.cache_write ?? 0, input - cached);
  const sum =
    (input - cached - written) * price.input_micros +
    cached * price.cached_input_micros +
    written * (price.cache_write_micros ?? price.input_micros) +
    output * price.output_micros;
  return Math.ceil(sum / 1_000_000);
}

/** Tokens that went over the wire. */
export function tokens(usage) {
  if (!usage) return 0;
  if (usage.input === undefined && usage.output === undefined) return usage.total ?? 0;
  return (usage.input ?? 0) + (usage.output ?? 0);
}

/** Inputs that wait to be heard, in order. */
export function waiting(view) {
  return [...view.inputs.values()].filter((input) => input.status === "waiting");
}
