// Numbers, times and the words for states, as a person reads them.

/** A length of time in milliseconds. */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 0) return "0 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 1440)} days`;
}

/** A count with its thousands apart. */
export function count(number) {
  if (number === null || number === undefined) return "n/a";
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** A count and its noun. */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Bytes. */
export function bytes(number) {
  if (number < 1024) return counted(number, "byte");
  if (number < 1024 * 1024) return `${(number / 1024).toFixed(1)} KiB`;
  return `${(number / 1024 / 1024).toFixed(1)} MiB`;
}

/** Money, from millionths. The unit is whatever the prices are given in. */
export function money(micros) {
  const whole = micros / 1_000_000;
  return whole.toFixed(whole !== 0 && whole < 1 ? 4 : 2);
}

/** The time of day. */
export function clock(ts) {
  return new Date(ts).toLocaleTimeString([], { hour12: false });
}

/** The day and the time. */
export function moment(ts) {
  return new Date(ts).toLocaleString([], { hour12: false });
}

/** How long ago, roughly. */
export function ago(ts, now) {
  const s = Math.max(0, (now - ts) / 1000);
  if (s < 60) return "now";
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

/** The first words of a text, on one line. */
export function first(text, most) {
  const line = text.slice(0, most * 2).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}\u2026` : line;
}

/** Words for names that are spelled for programs. */
export function words(name) {
  return String(name ?? "").replaceAll("_", " ");
}

/** The model that a server reports, if it is another one than requested and not a version of it: the same
 * name with a date, a number or `latest` behind it, or without the vendor before it. */
export function other_model(request) {
  const reported = request?.reported_model;
  return reported && base_name(request.model) !== base_name(reported) ? reported : null;
}

/** The name of a model without its vendor and its version. */
function base_name(name) {
  let base = name.slice(name.lastIndexOf("/") + 1);
  for (;;) {
    const [, before, version] = /^(.*)[-@:](.*?)$/s.exec(base) ?? [];
    if (version === undefined) return base;
    const versioned = version === "latest" || /^\d{3,}$/.test(version);
    const dated = /^\d\d$/.test(version) && before.split("-").slice(-2).some((part) => /^\d{4}$/.test(part));
    if (!versioned && !dated) return base;
    base = before;
  }
}

/** Who a scope is. */
export function who(scope) {
  if (!scope) return "somebody";
  return scope.kind === "system" ? "the system" : scope.principal;
}

/** A session's state: its sign, its words, and the class of its colour. */
export function state(name, failed) {
  if (name === "running") return { sign: "\u25b6", words: "running", tone: "run" };
  if (name === "asking") return { sign: "?", words: "waiting for approval", tone: "ask" };
  if (name === "damaged") return { sign: "!", words: "damaged", tone: "bad" };
  if (failed) return { sign: "!", words: "failed", tone: "bad" };
  if (name === "idle") return { sign: "\u25cb", words: "idle", tone: "idle" };
  return { sign: "\u00b7", words: "not looked at yet", tone: "idle" };
}

/** How a turn ended: words and the class of its colour. */
export function outcome(settled) {
  const { outcome: name, reason, limit, failure, message, fault, by } = settled;
  if (name === "completed") return { words: "completed", tone: "good" };
  if (name === "no_answer") return { words: "ended without an answer", tone: "ask" };
  if (name === "refused") return { words: "the model refused", tone: "ask" };
  if (name === "invalid_output") return { words: `no usable answer: ${fault}`, tone: "bad" };
  if (name === "interrupted") {
    const why = reason ? `: ${reason}` : "";
    return { words: `interrupted by ${by === "person" ? "a person" : words(by)}${why}`, tone: "ask" };
  }
  if (name === "blocked") return { words: `blocked: ${reason}`, tone: "bad" };
  if (name === "exhausted") return { words: `out of ${words(limit)}`, tone: "bad" };
  if (name === "failed") return { words: `failed (${words(failure)}): ${message}`, tone: "bad" };
  return { words: words(name), tone: "idle" };
}
