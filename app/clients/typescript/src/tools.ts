// Tools that run in the client. The session waits durably for the results of their calls.

import type { EffectClass } from "./types.js";

/** Thrown by a tool to tell the model that its call failed, with the reason in words. */
export class ToolFailed extends Error {}

/** The call that a tool runs. */
export interface Call {
  session: string;
  turn: number;
  /** Number of the call: the position of its fact. */
  call: number;
  tool: string;
  /**
   * The same for each delivery of this call. A tool that changes something passes it on, or remembers
   * it, so that a call that is delivered twice takes effect once.
   */
  idempotencyKey: string;
  /** Time after which the result is not awaited any more, in milliseconds since 1970. */
  deadline: number;
}

/**
 * A tool that this client runs.
 *
 * `run` gets the arguments, which fit `parameters`, and the call. It returns the text for the model, or
 * throws `ToolFailed`. A client that dies before the result is durable gets the same call again.
 */
export interface Tool<Arguments = Record<string, unknown>> {
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object schema. */
  parameters: Record<string, unknown>;
  /** Effect class of the tool. The session's permissions apply to it. */
  effect: EffectClass;
  run(args: Arguments, call: Call): string | Promise<string>;
  /** Longest wait for the result of a call, in milliseconds; by default an hour. */
  timeoutMs?: number;
}

/** Returns what the server is told of a tool. */
export function declaration(tool: Tool): Record<string, unknown> {
  const { name, description, parameters, effect, timeoutMs } = tool;
  const declared = { name, description, parameters, effect };
  return timeoutMs === undefined ? declared : { ...declared, timeout_ms: timeoutMs };
}
