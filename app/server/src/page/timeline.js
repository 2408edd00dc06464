// The timeline of a turn: its facts in, bars in time out. Pure.

import { first, words } from "./format.js";

/** Kinds of bars, in the order in which a turn's time is told. A moment that lies in several bars is
 * counted for the first of these. */
export const KINDS = [
  ["sample", "Model"],
  ["call", "Tools"],
  ["approval", "Waiting for a person"],
  ["hook", "Hooks"],
  ["compaction", "Compaction"],
  ["backoff", "Waiting to ask again"],
  ["queue", "Queued"],
];

/** The bars of a turn: `{kind, label, from, to, status, seq, detail}` with times in milliseconds. What
 * has not ended ends at `now` and is marked as `running`. `inputs` are those of the session, by position:
 * how long one waited is no fact of its turn. */
export function bars(facts, now, inputs = new Map()) {
  const open = new Map();
  const found = [];
  const end = (key, to, status, detail = "") => {
    const bar = open.get(key);
    if (!bar) return null;
    Object.assign(bar, { to, status, detail: detail || bar.detail });
    open.delete(key);
    return bar;
  };
  const begin = (key, bar) => {
    end(key, bar.from, "cut");
    const made = { status: "running", to: null, detail: "", ...bar };
    open.set(key, made);
    found.push(made);
    return made;
  };
  const names = new Map();
  const asked = new Map();
  for (const { seq, ts, kind, body } of facts) {
    const at = { seq, from: ts };
    switch (kind) {
      case "InputAccepted": {
        if (body.call) names.set(seq, body.call.name);
        const input = inputs.get(body.input);
        if (input && ts - input.ts >= 1) {
          found.push({ kind: "queue", label: `Input ${body.input}`, seq, from: input.ts, to: ts, status: "heard", detail: words(input.delivery) });
        }
        break;
      }
      case "SampleStarted": {
        end("backoff", ts, "waited");
        const attempt = body.attempt > 1 ? `, attempt ${body.attempt}` : "";
        begin(`s${seq}`, { ...at, kind: "sample", label: `Sample ${body.sample}${attempt}`, detail: words(body.reason.kind), marks: [] });
        break;
      }
      case "ItemAdded":
        if (body.item.type === "call") names.set(seq, body.item.name);
        open.get(`s${body.started}`)?.marks.push(ts);
        break;
      case "ProgramCalled":
        names.set(seq, body.item.name);
        break;
      case "SampleEnded":
        end(`s${body.started}`, ts, "done", tokens(body.usage));
        break;
      case "SampleCut":
        end(`s${body.started}`, ts, "cut", words(body.failure.kind));
        if (body.retry_at) {
          begin("backoff", { ...at, kind: "backoff", label: "Waits to ask again", detail: first(body.failure.message, 80), due: body.retry_at });
        }
        break;
      case "ApprovalAsked":
        begin(`a${body.call}`, { ...at, kind: "approval", label: `Approval of ${names.get(body.call) ?? "a call"}` });
        break;
      case "ApprovalAnswered":
        end(`a${body.call}`, ts, body.verdict === "allow" ? "allowed" : "denied", body.edit ? "with other arguments" : "");
        break;
      case "CallStarted":
      case "ReconcileStarted": {
        const name = names.get(body.call) ?? "a call";
        const asks = kind === "ReconcileStarted" ? ": what became of it" : "";
        const again = body.attempt > 1 ? `, run ${body.attempt}` : "";
        begin(`c${body.call}`, { ...at, kind: "call", label: `${name}${asks}${again}` });
        break;
      }
      case "CallSuspended":
        end(`c${body.call}`, ts, body.suspension.question ? "asks" : "goes on");
        break;
      case "CallObserved":
        end(`a${body.call}`, ts, "not answered");
        end(`c${body.call}`, ts, words(body.observation.status));
        break;
      case "HooksAsked":
        // Asked again, by another process, it is about the same: what was asked before has no answer.
        asked.set(seq, JSON.stringify(body.at));
        body.hooks.forEach((hook) => begin(`h${asked.get(seq)} ${hook}`, { ...at, kind: "hook", label: `Hook ${hook}`, detail: words(body.at.point) }));
        break;
      case "HookDecided": {
        const bar = end(`h${asked.get(body.asked)} ${body.hook}`, ts, body.verdict);
        if (bar) bar.label = `Hook ${body.name}`;
        break;
      }
      case "CompactionStarted":
        begin("compaction", { ...at, kind: "compaction", label: `Compaction ${body.compaction}`, detail: words(body.trigger) });
        break;
      case "Compacted":
      case "CompactionFailed":
        end("compaction", ts, kind === "Compacted" ? "done" : "failed");
        break;
      case "TurnSettled":
        for (const key of [...open.keys()]) end(key, ts, "cut");
        break;
      default:
        break;
    }
  }
  for (const bar of found) {
    // A clock may have been set back meanwhile.
    bar.to = Math.max(bar.to ?? now, bar.from);
  }
  return found.sort((a, b) => a.from - b.from || a.seq - b.seq);
}

function tokens(usage) {
  if (!usage) return "";
  const told = [];
  if (usage.input !== undefined) told.push(`${usage.input} in`);
  if (usage.output !== undefined) told.push(`${usage.output} out`);
  return told.length ? `${told.join(", ")} tokens` : "";
}

/** How much of a turn's time went where: `{kind, ms}` in the order of KINDS, and `other` for the rest.
 * Together they are exactly the time from `from` to `to`. */
export function shares(all, from, to) {
  const rank = new Map(KINDS.map(([kind], index) => [kind, index]));
  const edges = [];
  for (const bar of all) {
    const begins = Math.min(Math.max(bar.from, from), to);
    const ends = Math.min(Math.max(bar.to, from), to);
    if (ends > begins) edges.push([begins, 1, rank.get(bar.kind)], [ends, -1, rank.get(bar.kind)]);
  }
  edges.sort((a, b) => a[0] - b[0]);
  const running = KINDS.map(() => 0);
  const ms = KINDS.map(() => 0);
  let other = 0;
  let last = from;
  for (const [at, change, kind] of edges) {
    const first_running = running.findIndex((n) => n > 0);
    if (first_running < 0) other += at - last;
    else ms[first_running] += at - last;
    last = at;
    running[kind] += change;
  }
  other += Math.max(0, to - last);
  const found = KINDS.map(([kind, label], index) => ({ kind, label, ms: ms[index] }));
  return [...found, { kind: "other", label: "Everything else", ms: other }];
}
