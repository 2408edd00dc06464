// The server's interface: requests with the token, problems as errors, and retries that are bounded.

import { kept } from "./token.js";

/** How often a request is made again that was not answered. */
const AGAIN = 3;

/** How long an answer may take to begin, in milliseconds. */
const ANSWER_MS = 40_000;

/** How many sessions are listed at most. */
const LISTED = 5000;

/** What the server refused, or that it did not answer. */
export class Problem extends Error {
  constructor({ status = 0, code = "no_answer", title, detail, retry = null, token = null }) {
    super(detail || title || code);
    this.status = status;
    this.code = code;
    this.retry = retry;
    /** The token that it was asked with. */
    this.token = token;
  }
}

/** The path of a session. */
export function of(session, rest = "") {
  return `/v1/sessions/${encodeURIComponent(session)}${rest}`;
}

/** Asks for JSON. */
export async function get(path, signal) {
  const response = await fetched(path, { signal });
  return response.json();
}

/** Asks for text, of at most so many bytes: `{text, whole}`. */
export async function get_text(path, most) {
  const response = await fetched(path, {});
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let taken = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), whole: true };
    taken += value.length;
    if (taken > most) {
      text += decoder.decode(value.subarray(0, value.length - (taken - most)), { stream: true });
      await reader.cancel();
      return { text, whole: false };
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Posts JSON: a value, or a text that is JSON already. With `key` it is begun once, however often it is
 * sent, and so it is sent again where no answer came. */
export async function post(path, body, key = null) {
  const headers = { "content-type": "application/json" };
  if (key) headers["idempotency-key"] = key;
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
  for (let tried = 1; ; tried += 1) {
    try {
      const response = await fetched(path, { method: "POST", headers, body: text });
      return response.status === 204 ? null : await response.json();
    } catch (error) {
      const unsure = error.status === 0 || error.status >= 500;
      if (!key || !unsure || tried >= AGAIN) throw error;
      await pause(300 * 2 ** tried);
    }
  }
}

/** A key that no other request has. */
export function fresh_key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** All sessions of the tenant, up to a bound: `{sessions, whole}`. */
export async function sessions(signal) {
  const found = [];
  let after = "";
  while (found.length < LISTED) {
    const query = after ? `&after=${encodeURIComponent(after)}` : "";
    const page = await get(`/v1/sessions?limit=1000${query}`, signal);
    found.push(...page.sessions);
    if (!page.next) return { sessions: found, whole: true };
    after = page.next;
  }
  return { sessions: found, whole: false };
}

/** Asks, with the token. */
export async function fetched(path, { signal, headers, ...rest }) {
  // For the answer to begin: how long a large one takes is up to the network.
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), ANSWER_MS);
  const token = kept();
  const given = { authorization: `Bearer ${token ?? ""}`, ...headers };
  let response;
  try {
    const both = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
    response = await fetch(path, { ...rest, headers: given, signal: both, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem({ detail: "The server does not answer." });
  } finally {
    clearTimeout(timer);
  }
  if (!response.ok) throw await problem(response, token);
  return response;
}

/** The problem that the answer to a request with this token tells. */
export async function problem(response, token) {
  const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const retry = Number.isNaN(after) ? null : after;
  let told = {};
  try {
    told = await response.json();
  } catch {
    told = { title: `The server answered ${response.status}.` };
  }
  return new Problem({ ...told, status: response.status, retry, token });
}

/** Waits so many milliseconds, or until the signal. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
