// Session: inputs, turns, approvals, and the calls of this client's tools.

import { newKey, type Client } from "./client.js";
import { ApiError, Withdrawn } from "./errors.js";
import type { SessionEvent } from "./sse.js";
import { declaration, ToolFailed, type Call, type Tool } from "./tools.js";
import type {
  AcceptedInput,
  Approval,
  Approvals,
  ClientCall,
  ClientCalls,
  Delivery,
  Fact,
  InputRequest,
  Session as SessionInfo,
  StopWhen,
  Turn,
  TurnReference,
} from "./types.js";

/** Answer to a question about a call. */
export type Answer =
  | { decision: "allow"; arguments?: Record<string, unknown>; remember?: "session" | "always" }
  | { decision: "deny"; reason?: string };

/** Decides about a question. `undefined` leaves it to others. */
export type Approver = (
  approval: Approval,
) => Answer | undefined | Promise<Answer | undefined>;

/** The call may run, with other arguments if there are some. */
export function allow(more: Omit<Answer & { decision: "allow" }, "decision"> = {}): Answer {
  return { decision: "allow", ...more };
}

/** The call may not run. The model is told the reason. */
export function deny(reason = "denied"): Answer {
  return { decision: "deny", reason };
}

/** Body of a fact, by its kind. */
export type Body = Record<string, unknown>;

export interface SendOptions
  extends Partial<Omit<InputRequest, "text" | "delivery" | "client_tools">> {
  delivery?: Delivery;
  /** Tools in place of those before, for turns from now on. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  tools?: readonly Tool<any>[];
  /** Sending again with the same key has no further effect. */
  key?: string;
}

export interface RunOptions {
  approve?: Approver;
  onEvent?: (event: SessionEvent) => void;
}

/** A session of the server, by its id. */
export class Session {
  private tools: Map<string, Tool>;
  private readonly path: string;

  constructor(
    readonly client: Client,
    readonly id: string,
    tools: readonly Tool[] = [],
  ) {
    this.tools = byName(tools);
    this.path = `/sessions/${encodeURIComponent(id)}`;
  }

  /**
   * Sends an input for a turn of its own, runs the calls of this client's tools, and returns the turn
   * once it is over. With the same `key` the same turn is awaited again.
   */
  async run(text: string, options: RunOptions & SendOptions = {}): Promise<Turn> {
    const { approve, onEvent, ...send } = options;
    const sent = await this.send(text, send);
    return this.settled(sent.input, sent.turn, { ...(approve && { approve }), ...(onEvent && { onEvent }) });
  }

  /**
   * Takes up the open turn, for example in a new process: runs the calls that wait for this client's
   * tools, and returns the turn once it is over; null if no turn is open.
   */
  async resume(options: RunOptions = {}): Promise<Turn | null> {
    const { turn } = await this.info();
    return turn === null ? null : this.settled(null, turn, options);
  }

  /** Sends an input; it is durable when this returns. */
  send(text: string, { key, tools, delivery = "turn", ...more }: SendOptions = {}): Promise<AcceptedInput> {
    const body: Record<string, unknown> = { text, delivery, ...more };
    if (tools !== undefined) {
      this.tools = byName(tools);
      body["client_tools"] = tools.map(declaration);
    }
    return this.post("/inputs", body, key);
  }

  /** Sends an input to the running turn. */
  steer(text: string, options: Omit<SendOptions, "delivery"> = {}): Promise<AcceptedInput> {
    return this.send(text, { ...options, delivery: "steer" });
  }

  /** Asks the running turn to stop, and returns its id. */
  async interrupt(
    how: { reason?: string; when?: StopWhen; turn?: number } = {},
  ): Promise<number | null> {
    const stopped = await this.post<TurnReference>("/interrupt", how);
    return stopped.turn;
  }

  /** Continues with the inputs that wait after an interrupt, and returns the turn. */
  async proceed(): Promise<number | null> {
    const { turn } = await this.post<TurnReference>("/continue", {});
    return turn;
  }

  /** Yields events after a position, and reconnects: see `Client.stream`. */
  events(after?: number, live = true): AsyncGenerator<SessionEvent> {
    return this.client.stream(this.id, after, live);
  }

  info(): Promise<SessionInfo> {
    return this.client.request("GET", this.path);
  }

  /** Returns a turn, after waiting up to `waitS` (at most 60) seconds for its end. */
  turn(turn: number, waitS = 0): Promise<Turn> {
    const headers: Record<string, string> = waitS > 0 ? { Prefer: `wait=${waitS}` } : {};
    return this.client.request("GET", `${this.path}/turns/${turn}`, { headers });
  }

  /** Returns the open questions. */
  async approvals(): Promise<Approval[]> {
    const { approvals } = await this.client.request<Approvals>("GET", `${this.path}/approvals`);
    return approvals;
  }

  /** Answers a question. The first answer counts. */
  async answer(approval: Approval, answer: Answer): Promise<void> {
    const body = { ...answer, digest: approval.digest };
    await this.post(`/approvals/${approval.call}`, body);
  }

  /** Returns the calls whose clients are to return results. */
  async clientCalls(): Promise<ClientCall[]> {
    const { calls } = await this.client.request<ClientCalls>("GET", `${this.path}/client-calls`);
    return calls;
  }

  /**
   * Returns the result of a call. Returning the same again is fine; another one is an `ApiError` with
   * the code `not_awaited`.
   */
  async returnResult(call: number, output: string, failed = false): Promise<void> {
    await this.post(`/client-calls/${call}`, { output, failed });
  }

  /** Follows the log until the turn is over, and does this client's part in it. */
  private async settled(
    input: number | null,
    opened: number | null,
    { approve, onEvent }: RunOptions,
  ): Promise<Turn> {
    let turn = opened;
    await this.work(approve);
    for await (const event of this.events((turn ?? input ?? 1) - 1, onEvent !== undefined)) {
      onEvent?.(event);
      if (event.name === "reconnected") await this.work(approve);
      if (event.name !== "fact") continue;
      const fact = event.data as Fact & { body: Body };
      if (turn === null && fact.body["input"] === input) {
        if (fact.kind === "InputWithdrawn") throw new Withdrawn(`input ${input} was withdrawn`);
        if (fact.kind === "InputAccepted" || fact.kind === "InputBlocked") turn = fact.turn;
      }
      const called = fact.kind === "CallStarted" && fact.body["client"] === true;
      if (called || fact.kind === "ApprovalAsked") await this.work(approve);
      if (fact.kind === "TurnSettled" && turn !== null && fact.turn === turn) return this.turn(turn);
    }
    throw new Error("a stream ends with an error");
  }

  /** Answers the open questions, and runs the calls that wait for this client's tools. */
  private async work(approve: Approver | undefined): Promise<void> {
    if (approve !== undefined) {
      for (const approval of await this.approvals()) {
        const answer = await approve(approval);
        if (answer !== undefined) await tolerant(this.answer(approval, answer), "not_asked");
      }
    }
    if (this.tools.size === 0) return;
    for (const call of await this.clientCalls()) {
      const tool = this.tools.get(call.tool);
      if (tool !== undefined) await this.runTool(tool, call);
    }
  }

  private async runTool(tool: Tool, waiting: ClientCall): Promise<void> {
    const call: Call = {
      session: waiting.session,
      turn: waiting.turn,
      call: waiting.call,
      tool: waiting.tool,
      idempotencyKey: waiting.idempotency_key,
      deadline: waiting.deadline,
    };
    let output: string;
    let failed = false;
    try {
      output = await tool.run(JSON.parse(waiting.arguments) as Record<string, unknown>, call);
    } catch (error) {
      if (!(error instanceof ToolFailed)) throw error;
      [output, failed] = [error.message, true];
    }
    // The turn may have been stopped, or another process has returned a result first.
    await tolerant(this.returnResult(call.call, output, failed), "not_awaited");
  }

  private post<T>(path: string, body: unknown, key?: string): Promise<T> {
    return this.client.request("POST", `${this.path}${path}`, { body, key: key ?? newKey() });
  }
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

async function tolerant(act: Promise<void>, code: string): Promise<void> {
  try {
    await act;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== code) throw error;
  }
}
