// A session's events: server-sent events over fetch, which can send the token and the cursor. A stream
// that breaks off is begun again after the last fact, at most every few seconds.

import { of, pause, problem } from "./api.js";
import { kept } from "./token.js";

/** Between two tries, in milliseconds: the first, and the most. */
const FIRST_MS = 250;
const MOST_MS = 10_000;

/** Without even a heartbeat for so long, a connection is taken for dead. */
const SILENT_MS = 45_000;

/** A message may have so many characters; one that is larger ends the stream. */
const LARGEST = 64 * 1024 * 1024;

/** Reads server-sent events from pieces of text. */
export class Reader {
  constructor() {
    this.rest = "";
    this.clear();
  }

  clear() {
    this.event = "";
    this.id = "";
    this.data = [];
  }

  /** The events that a piece completes. */
  push(piece) {
    this.rest += piece;
    const found = [];
    let from = 0;
    for (;;) {
      const end = this.rest.indexOf("\n", from);
      if (end < 0) break;
      const line = this.rest.slice(from, this.rest[end - 1] === "\r" ? end - 1 : end);
      from = end + 1;
      if (line === "") {
        if (this.data.length) found.push({ event: this.event || "message", id: this.id, data: this.data.join("\n") });
        this.clear();
      } else {
        this.field(line);
      }
    }
    this.rest = this.rest.slice(from);
    if (this.rest.length > LARGEST) throw new Error("an event is too large");
    return found;
  }

  field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "event") this.event = value;
    else if (name === "id") this.id = value;
    else if (name === "data") this.data.push(value);
  }
}

/** Follows a session until it is stopped. `on` has: `begin()` when a connection stands, `event(event)`,
 * `state(name, detail)` with `connecting`, `live`, `waiting` or `ended`, and `cursor()`, the last fact. */
export function follow(session, on) {
  const stop = new AbortController();
  let wake = () => {};
  run(session, on, stop.signal, (f) => { wake = f; });
  return {
    stop: () => stop.abort(),
    /** Tries again at once. */
    retry: () => wake(),
  };
}

async function run(session, on, stopped, waker) {
  let failures = 0;
  while (!stopped.aborted) {
    on.state("connecting");
    const token = kept();
    const end = await connection(session, on, stopped, token, () => { failures = 0; });
    if (stopped.aborted) return;
    // There is another token by now, of which the server said nothing yet.
    if (end.why === "unauthorized" && token !== kept()) continue;
    if (end.final) return on.state("ended", end.why);
    failures += 1;
    const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
    const wait = Math.max(end.retry_ms ?? 0, most / 2 + (Math.random() * most) / 2);
    on.state("waiting", { why: end.why, ms: wait });
    const woken = new AbortController();
    waker(() => woken.abort());
    await pause(wait, AbortSignal.any([stopped, woken.signal]));
  }
}

async function connection(session, on, stopped, token, stands) {
  const cut = new AbortController();
  const signal = AbortSignal.any([stopped, cut.signal]);
  let silent = setTimeout(() => cut.abort(), SILENT_MS);
  const heard = () => {
    clearTimeout(silent);
    silent = setTimeout(() => cut.abort(), SILENT_MS);
  };
  try {
    const headers = { authorization: `Bearer ${token ?? ""}`, accept: "text/event-stream" };
    if (on.cursor() > 0) headers["last-event-id"] = String(on.cursor());
    const response = await fetch(of(session, "/events"), { headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
    if (!response.ok) return refused(await problem(response, token));
    on.begin();
    on.state("live");
    const reader = new Reader();
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return { why: "the connection ended" };
      heard();
      for (const event of reader.push(value)) {
        if (event.event === "lagged") return { why: "events came faster than they were read" };
        if (event.event === "end") return ended(JSON.parse(event.data).reason);
        stands();
        on.event(event);
      }
    }
  } catch {
    return { why: cut.signal.aborted ? "the server is silent" : "the server does not answer" };
  } finally {
    clearTimeout(silent);
    cut.abort();
  }
}

function refused(problem) {
  const { status, code, retry } = problem;
  if (status === 401) return { final: true, why: "unauthorized" };
  if (status === 404 || status === 403) return { final: true, why: code };
  return { why: problem.message, retry_ms: retry === null ? null : retry * 1000 };
}

function ended(reason) {
  if (["unauthorized", "erased", "damaged"].includes(reason)) return { final: true, why: reason };
  return { why: reason, retry_ms: 1000 };
}
