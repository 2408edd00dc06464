// What each kind of fact changes in a view. The names are those of the log.

import { add_usage, claim, cost, enter, new_sample, touch } from "./fold.js";
import { other_model } from "./format.js";

/** How much of an answer is read out. */
const READ_OUT = 2000;

/** One function a kind: the view, the fact, and the block of its turn. */
export const facts = {
  SessionOpened(view, { seq, body }) {
    view.opened = body;
    view.settings = body.settings;
    view.settingsAt.set(seq, body.settings);
  },

  SessionResumed() {},

  SettingsChanged(view, { seq, ts, body }, block) {
    view.settings = body.settings;
    view.settingsAt.set(seq, body.settings);
    enter(block, { kind: "settings", seq, ts, by: body.by, settings: body.settings });
  },

  PermissionsNarrowed(view, { seq, ts, body }, block) {
    const narrow = (settings) => settings && {
      ...settings,
      mode: body.mode ?? settings.mode,
      permissions: body.permissions ?? settings.permissions,
    };
    view.settings = narrow(view.settings);
    enter(block, { kind: "narrowed", seq, ts, mode: body.mode ?? null, permissions: body.permissions ?? null,
      rules: (body.rules ?? []).length + (body.withdrawn ?? []).length, hooks: (body.hooks ?? []).length });
  },

  SessionRenamed(view, { seq, ts, body }, block) {
    view.title = body.title ?? null;
    enter(block, { kind: "renamed", seq, ts, by: body.by, title: view.title });
  },

  SessionRewound(view, { seq, ts, body }, block) {
    for (const other of view.blocks.filter(({ id }) => id !== null)) {
      const rewound = other.entries.filter((entry) => entry.seq > body.to && entry.seq < seq && entry.kind !== "goal");
      for (const entry of rewound) {
        entry.rewound = true;
        touch(entry);
      }
      if (rewound.length > 0) touch(other);
    }
    enter(block, { kind: "rewound", seq, ts, by: body.by, to: body.to, notice: body.notice ?? "" });
  },

  FilesRestored(view, { seq, ts, body }, block) {
    enter(block, { kind: "restored", seq, ts, by: body.by, paths: body.paths, more: body.more ?? 0 });
  },

  GoalSet(view, { seq, ts, body }, block) {
    view.goal = body.goal ? { ...body.goal, end: null } : null;
    enter(block, { kind: "goal", seq, ts, goal: body.goal ?? null, end: null });
  },

  GoalEnded(view, { seq, ts, body }, block) {
    if (view.goal) view.goal.end = body.end;
    enter(block, { kind: "goal", seq, ts, goal: null, end: body.end });
  },

  InputQueued(view, { seq, ts, body }) {
    const { text, delivery, scope, images, dry_run } = body;
    view.inputs.set(seq, {
      seq, ts, text, delivery, scope, images: images?.length ?? 0, dry_run: dry_run ?? false,
      status: "waiting", reason: "", entry: null,
    });
  },

  InputEdited(view, { body }) {
    const input = view.inputs.get(body.input);
    if (!input) return;
    input.text = body.text;
    if (input.entry) touch(input.entry);
  },

  InputMoved(view, { body }) {
    const input = view.inputs.get(body.input);
    if (!input) return;
    const others = [...view.inputs].filter(([id]) => id !== body.input);
    const found = others.findIndex(([id]) => id === body.before);
    others.splice(found < 0 ? others.length : found, 0, [body.input, input]);
    view.inputs = new Map(others);
  },

  InputWithdrawn(view, { body }) {
    const input = view.inputs.get(body.input);
    if (input) input.status = "withdrawn";
  },

  TurnOpened(view, { seq, ts, body }, block) {
    view.open = seq;
    block.ts = ts;
    block.scope = body.scope;
    block.limits = body.limits;
    block.reason = body.reason;
    block.dry_run = body.dry_run ?? false;
    block.settings = view.settingsAt.get(body.settings) ?? view.settings;
    if (body.reason?.kind === "input") heard(view, block, body.reason.input);
  },

  InputAccepted(view, { seq, ts, turn, body }, block) {
    const input = heard(view, block, body.input, seq);
    if (input) input.accepted = ts;
    if (!body.call) return;
    // A command of the user: a call without an answer around it.
    const sample = enter(block, { ...new_sample(seq, ts), status: "ended", stop: "stop" });
    const item = { type: "call", ...body.call, seq, ts, stands: true, claims: false };
    called(view, { seq, ts, turn }, sample, block, item);
    sample.items.push(item);
    touch(sample);
  },

  InputBlocked(view, { seq, body }, block) {
    const input = heard(view, block, body.input, seq);
    if (!input) return;
    input.status = "blocked";
    input.reason = body.reason;
    touch(input.entry);
  },

  ContextInjected(view, { seq, ts, body }, block) {
    const { from, lifetime } = body;
    let text = from.text ?? "";
    if (from.by === "hook") text = view.log.find((fact) => fact.seq === from.decided)?.body.context ?? "";
    enter(block, { kind: "context", seq, ts, by: from.by, text, lifetime });
  },

  HooksAsked(view, { seq, ts, body }) {
    view.hooks.set(seq, { seq, ts, at: body.at, hooks: body.hooks });
  },

  HookDecided(view, { seq, ts, body }, block) {
    const asked = view.hooks.get(body.asked);
    const call = view.calls.get(asked?.at.call);
    if (call && body.edit) call.edits.push({ by: `hook ${body.name}`, text: body.edit.text });
    touch_call(call);
    const quiet = body.verdict === "pass" && !body.edit && !body.context;
    if (quiet) return;
    enter(block, {
      kind: "hook", seq, ts, name: body.name, point: asked?.at.point ?? "", verdict: body.verdict,
      reason: body.reason ?? "", edit: body.edit?.text ?? null, context: body.context ?? null,
    });
  },

  CompactionRequested(view, { body }) {
    view.focus = body.focus ?? "";
  },

  CompactionStarted(view, { seq, ts, body }, block) {
    const focus = body.trigger === "manual" ? view.focus : "";
    const entry = { kind: "compaction", seq, ts, trigger: body.trigger, strategy: body.strategy, focus };
    view.compactions.set(seq, enter(block, { ...entry, status: "running", ended: null }));
  },

  Compacted(view, { ts, body }, block) {
    const entry = view.compactions.get(body.started);
    used(block, body.usage);
    if (!entry) return;
    Object.assign(entry, { status: "done", ended: ts, cut: body.cut, visible: body.visible });
    entry.fallback = body.fallback ?? "";
    touch(entry);
  },

  CompactionFailed(view, { ts, body }) {
    const entry = view.compactions.get(body.started);
    if (!entry) return;
    Object.assign(entry, { status: "failed", ended: ts, reason: body.reason });
    touch(entry);
  },

  SampleStarted(view, { seq, ts, body }, block) {
    let sample = view.samples.get(seq);
    if (!sample) {
      sample = enter(block, new_sample(seq, ts));
      view.samples.set(seq, sample);
    }
    Object.assign(sample, { ts, number: body.sample, attempt: body.attempt, reason: body.reason });
    block.samples = Math.max(block.samples, body.sample);
    touch(sample);
  },

  ItemAdded(view, { seq, ts, turn, body }, block) {
    const sample = view.samples.get(body.started);
    if (!sample) return;
    const item = { ...body.item, seq, ts, stands: true, claims: false };
    if (item.type === "call") {
      called(view, { seq, ts, turn }, sample, block, item);
    } else if (item.type !== "reasoning") {
      view.told.push(item.text.slice(0, READ_OUT));
    }
    claim(sample, item);
    sample.items.push(item);
    touch(sample);
  },

  SampleEnded(view, { seq, ts, body }, block) {
    used(block, body.usage);
    warn_of_model(view, { seq, ts }, body.request, block);
    const sample = view.samples.get(body.started);
    if (!sample) return;
    const { stop, usage, request, fault } = body;
    Object.assign(sample, { status: "ended", ended: ts, stop, usage: usage ?? null, request, fault: fault ?? null });
    sample.live.clear();
    touch(sample);
  },

  SampleCut(view, { ts, body }, block) {
    used(block, body.usage);
    const sample = view.samples.get(body.started);
    if (!sample) return;
    Object.assign(sample, { status: "cut", ended: ts, usage: body.usage ?? null, request: body.request });
    const { kind, item: last } = body.retained;
    const text = kind === "text" || body.stopped_by !== undefined;
    sample.cut = { failure: body.failure, text, retry_at: body.retry_at ?? null };
    sample.partial = body.partial ?? "";
    sample.live.clear();
    for (const item of sample.items) {
      const whole = kind === "through" && item.seq <= last;
      item.stands = whole || (text && (item.type === "text" || item.type === "refusal"));
    }
    touch(sample);
  },

  CallDecided(view, { body }) {
    with_call(view, body.call, (call) => {
      call.decided = { verdict: body.verdict, by: body.by, reason: body.reason };
    });
  },

  ApprovalAsked(view, { seq, ts, body }) {
    with_call(view, body.call, (call) => {
      const { attempt, arguments: digest, deadline } = body;
      call.asked = { seq, ts, attempt, digest, deadline: deadline ?? null };
      call.answered = null;
      view.questions.set(body.call, call);
      view.told.push(`${call.item.name} waits for your approval.`);
    });
  },

  ApprovalAnswered(view, { ts, body }) {
    view.questions.delete(body.call);
    with_call(view, body.call, (call) => {
      call.answered = { ts, by: body.by, verdict: body.verdict, reason: body.reason ?? "" };
      if (body.edit) call.edits.push({ by: "the answer", text: body.edit.text });
    });
  },

  CallStarted(view, { ts, body }) {
    with_call(view, body.call, (call) => {
      call.runs.push({ ts, attempt: body.attempt, plan: body.plan ?? false, asks: false, client: body.client ?? false });
      call.progress = [];
      if (body.client && call.item.name === "ask_user") view.told.push("The model asks you a question.");
    });
  },

  CallSuspended(view, { body }) {
    with_call(view, body.call, (call) => {
      call.question = body.suspension.question ?? null;
      if (call.question) view.told.push(`${call.item.name} asks you a question.`);
    });
  },

  CallResumed(view, { body }) {
    with_call(view, body.call, (call) => {
      call.question = null;
    });
  },

  ReconcileStarted(view, { ts, body }) {
    with_call(view, body.call, (call) => {
      call.runs.push({ ts, attempt: body.attempt, plan: false, asks: true, client: false });
    });
  },

  // A call of a program is shown where the program is, after it.
  ProgramCalled(view, { seq, ts, turn, body }) {
    with_call(view, body.program, ({ sample, block }) => {
      const item = { type: "call", ...body.item, seq, ts, stands: true, claims: false };
      called(view, { seq, ts, turn }, sample, block, item);
      sample.items.push(item);
      touch(sample);
    });
  },

  // What the model is told of it comes next, as what became of its call.
  ProgramRun(view, { body }) {
    with_call(view, body.program, (call) => {
      call.program = { ...body.outcome, fault: body.fault ?? null };
    });
  },

  CallObserved(view, { ts, body }) {
    view.questions.delete(body.call);
    with_call(view, body.call, (call) => {
      call.observed = { ts, ...body.observation };
      call.progress = [];
    });
  },

  InterruptRequested(view, { seq, ts, body }, block) {
    block.interrupted = body.when;
    enter(block, { kind: "interrupt", seq, ts, by: body.by, scope: body.scope, reason: body.reason, when: body.when });
  },

  TurnSettled(view, { seq, ts, body }, block) {
    block.settled = body;
    block.last = seq;
    block.ended = ts;
    view.open = null;
    view.questions.clear();
    const { spent } = body;
    block.usage = spent.usage ?? {};
    block.cost_micros = spent.cost_micros ?? 0;
    const total = view.spent;
    total.turns += 1;
    total.samples += spent.samples ?? 0;
    total.calls += spent.calls ?? 0;
    total.cost_micros += spent.cost_micros ?? 0;
    total.ms += ts - block.ts;
    add_usage(total.usage, spent.usage);
    view.told.push(`The turn ended: ${body.outcome.replaceAll("_", " ")}.`);
  },
};

/** An input enters its turn, once. */
function heard(view, block, id, seq = null) {
  const input = view.inputs.get(id);
  if (!input) return null;
  if (input.status === "waiting") input.status = "heard";
  if (!input.entry) {
    const at = seq ?? block.id ?? input.seq;
    input.entry = enter(block, { kind: "input", seq: at, ts: input.ts, input });
  }
  touch(input.entry);
  return input;
}

/** Warns once of each model that nobody asked for. */
function warn_of_model(view, { seq, ts }, request, block) {
  const reported = other_model(request);
  if (!reported || view.models.has(reported)) return;
  view.models.add(reported);
  enter(block, { kind: "model", seq, ts, reported, requested: request.model });
  view.told.push(`The server reports the model ${reported}, and ${request.model} was requested.`);
}

function used(block, usage) {
  if (!usage) return;
  add_usage(block.usage, usage);
  block.cost_micros += cost(block.settings?.price, usage);
}

function called(view, { seq, ts, turn }, sample, block, item) {
  const state = { seq, ts, turn, sample, block, item, rev: 0, progress: [], runs: [], edits: [] };
  Object.assign(state, { decided: null, asked: null, answered: null, observed: null });
  item.call = state;
  view.calls.set(seq, state);
  block.calls += 1;
}

function with_call(view, id, change) {
  const call = view.calls.get(id);
  if (!call) return;
  change(call);
  touch_call(call);
}

function touch_call(call) {
  if (!call) return;
  touch(call);
  touch(call.sample);
  touch(call.block);
}
