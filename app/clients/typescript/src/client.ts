// Client: one server and one token.

import { ApiError, ConnectionFailed, StreamEnded } from "./errors.js";
import { Session } from "./session.js";
import { parse, type SessionEvent } from "./sse.js";
import { declaration, type Tool } from "./tools.js";
import type { ProblemCode, Session as SessionInfo, SessionOptions, Sessions } from "./types.js";

/** Time without a byte after which a stream counts as lost. The server sends one every 15 seconds. */
const SILENCE_MS = 45_000;
/** First and longest pause before a retry. */
const PAUSE_MS = 100;
const PAUSE_MAX_MS = 2_000;

export interface ClientOptions {
  /**
   * How long a request is repeated while the server cannot be reached or is not ready, and how long a
   * stream tries to reconnect; 30 seconds by default.
   */
  retryMs?: number;
  /** Longest wait for a response; 75 seconds by default. */
  timeoutMs?: number;
}

/** Options of a new session, its tools, and a key under which the same session is found again. */
export type OpenOptions = Omit<Partial<SessionOptions>, "client_tools"> & {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  tools?: readonly Tool<any>[];
  key?: string;
};

interface Request {
  body?: unknown;
  key?: string | undefined;
  headers?: Record<string, string>;
}

/**
 * Speaks to one server with one token. Holds no state of sessions. Requests that change something carry
 * an idempotency key, so a repeated one takes effect once.
 */
export class Client {
  private readonly base: string;
  private readonly retryMs: number;
  private readonly timeoutMs: number;

  constructor(url: string, private readonly token: string, options: ClientOptions = {}) {
    this.base = `${new URL(url).href.replace(/\/+$/, "")}/v1`;
    this.retryMs = options.retryMs ?? 30_000;
    this.timeoutMs = options.timeoutMs ?? 75_000;
  }

  /** Opens a session. */
  async open({ tools = [], key, ...options }: OpenOptions = {}): Promise<Session> {
    const body = { ...options, client_tools: tools.map(declaration) };
    const opened = await this.request<SessionInfo>("POST", "/sessions", { body, key: key ?? newKey() });
    return new Session(this, opened.id, tools);
  }

  /**
   * Returns a session that exists, for example after a restart of this process. `tools` run its calls
   * from here on.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  session(id: string, tools: readonly Tool<any>[] = []): Session {
    return new Session(this, id, tools);
  }

  /** Lists the sessions of the tenant, by id, over all pages. */
  async *sessions(query: { open?: boolean; limit?: number } = {}): AsyncGenerator<SessionInfo> {
    let after: string | null = null;
    do {
      const path = withQuery("/sessions", { ...query, after });
      const page: Sessions = await this.request<Sessions>("GET", path);
      yield* page.sessions;
      after = page.next;
    } while (after !== null);
  }

  /**
   * Sends a request below `/v1` and returns its JSON. Repeats it while the server is away, if that can
   * do no harm: a GET, a DELETE, or a request with a key.
   *
   * Throws `ApiError` for an error of the server, `ConnectionFailed` without an answer.
   */
  async request<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const repeats = request.key !== undefined || method === "GET" || method === "DELETE";
    const until = Date.now() + this.retryMs;
    for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, PAUSE_MAX_MS)) {
      try {
        return await this.once<T>(method, path, request);
      } catch (error) {
        const away = error instanceof ApiError && (error.status === 503 || error.status === 504);
        const wait = Math.max(pause, away ? (error.retryAfter ?? 0) * 1000 : 0);
        const retries = repeats && (away || error instanceof ConnectionFailed);
        if (!retries || Date.now() + wait > until) throw error;
        await sleep(wait);
      }
    }
  }

  private async once<T>(method: string, path: string, request: Request): Promise<T> {
    const headers = { ...request.headers };
    if (request.key !== undefined) headers["Idempotency-Key"] = request.key;
    const signal = AbortSignal.timeout(this.timeoutMs);
    const response = await this.send(method, path, request.body, headers, signal);
    let text: string;
    try {
      text = await response.text();
    } catch (error) {
      throw lost(`${method} ${path}`, error);
    }
    if (!response.ok) throw apiError(response, text);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /**
   * Yields the events of a session after a position, from its beginning by default, for ever.
   *
   * Reconnects with its cursor when the connection is lost: each fact comes once, in order. Live text
   * begins again on each connection, after an event of the name `reconnected`.
   *
   * Throws `StreamEnded` when the server says that there is no more, `ApiError` when it refuses,
   * `ConnectionFailed` when it cannot be reached for `retryMs`.
   */
  async *stream(id: string, after?: number, live = true): AsyncGenerator<SessionEvent> {
    let pause = PAUSE_MS;
    let until = Date.now() + this.retryMs;
    let connected = false;
    for (;;) {
      let failure: unknown;
      try {
        for await (const event of this.connection(id, after, live)) {
          if (event.name === "connected") {
            if (connected) yield { ...event, name: "reconnected" };
            connected = true;
            continue;
          }
          [pause, until] = [PAUSE_MS, Date.now() + this.retryMs];
          after = event.seq ?? after;
          const reason: unknown = event.name === "end" ? event.data.reason : undefined;
          if (reason !== undefined && reason !== "draining" && reason !== "store_away") {
            throw new StreamEnded(String(reason));
          }
          if (event.name !== "end" && event.name !== "lagged") yield event;
        }
        failure = new ConnectionFailed(`the stream of ${id} was cut off`);
      } catch (error) {
        const away = error instanceof ApiError && error.status === 503;
        if (!away && !(error instanceof ConnectionFailed)) throw error;
        failure = error;
      }
      if (Date.now() + pause > until) throw failure;
      await sleep(pause);
      pause = Math.min(pause * 2, PAUSE_MAX_MS);
    }
  }

  /** Yields the events of one connection, after one of the name `connected`. */
  private async *connection(
    id: string,
    after: number | undefined,
    live: boolean,
  ): AsyncGenerator<SessionEvent> {
    const query = { after, live: live ? undefined : false };
    const path = withQuery(`/sessions/${encodeURIComponent(id)}/events`, query);
    const cut = new AbortController();
    let silence = setTimeout(() => cut.abort(), SILENCE_MS);
    try {
      const accept = { Accept: "text/event-stream" };
      const response = await this.send("GET", path, undefined, accept, cut.signal);
      if (!response.ok) throw apiError(response, await response.text());
      yield { name: "connected", seq: undefined, data: {} };
      const restart = () => {
        clearTimeout(silence);
        silence = setTimeout(() => cut.abort(), SILENCE_MS);
      };
      yield* parse(chunks(response, `the stream of ${id}`, restart));
    } finally {
      clearTimeout(silence);
      cut.abort();
    }
  }

  private async send(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Response> {
    const sent: RequestInit = {
      method,
      headers: { Authorization: `Bearer ${this.token}`, ...headers },
      signal,
    };
    if (body !== undefined) {
      sent.body = JSON.stringify(body);
      sent.headers = { ...sent.headers, "Content-Type": "application/json" };
    }
    try {
      return await fetch(`${this.base}${path}`, sent);
    } catch (error) {
      throw lost(`${method} ${path}`, error);
    }
  }
}

/** Yields the chunks of a body. */
async function* chunks(
  response: Response,
  what: string,
  onChunk: () => void,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  while (reader !== undefined) {
    let read;
    try {
      read = await reader.read();
    } catch (error) {
      throw lost(what, error);
    }
    if (read.done) return;
    onChunk();
    yield read.value;
  }
}

function lost(what: string, error: unknown): ConnectionFailed {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new ConnectionFailed(`${what}: ${String(cause)}`, { cause: error });
}

function apiError(response: Response, text: string): ApiError {
  let problem: { code?: ProblemCode; detail?: string } = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // A request that is not HTTP is answered without a body.
  }
  const after = Number(response.headers.get("Retry-After") ?? NaN);
  const retryAfter = Number.isFinite(after) ? after : undefined;
  return new ApiError(response.status, problem.code ?? "unknown", problem.detail ?? "", retryAfter);
}

/** Returns a new idempotency key. */
export function newKey(): string {
  return crypto.randomUUID();
}

function withQuery(path: string, query: Record<string, unknown>): string {
  const told = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(told.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? path : `${path}?${text}`;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
