// Errors of the client.

import type { ProblemCode } from "./types.js";

/** Base of all errors of this package. */
export class WindlassError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server could not be reached, or the connection was lost. The request may have been done. */
export class ConnectionFailed extends WindlassError {}

/** The awaited input was withdrawn before a turn accepted it. */
export class Withdrawn extends WindlassError {}

/** The server ended a stream for a reason that reconnecting does not change. */
export class StreamEnded extends WindlassError {
  constructor(readonly reason: string) {
    super(`the stream ended: ${reason}`);
  }
}

/** The server answered with an error. `code` is stable; `detail` is for people. */
export class ApiError extends WindlassError {
  constructor(
    readonly status: number,
    readonly code: ProblemCode | "unknown",
    readonly detail: string,
    /** Seconds after which a retry is useful, if the server says so. */
    readonly retryAfter: number | undefined,
  ) {
    super(`${status} ${code}: ${detail}`);
  }
}
