// Client of the Windlass server. A session runs on the server and needs no client: what this package
// holds can be lost at any time.

export { Client } from "./client.js";
export type { ClientOptions, OpenOptions } from "./client.js";
export { ApiError, ConnectionFailed, StreamEnded, WindlassError, Withdrawn } from "./errors.js";
export { allow, deny, Session } from "./session.js";
export type { Answer, Approver, Body, RunOptions, SendOptions } from "./session.js";
export type { SessionEvent } from "./sse.js";
export { ToolFailed } from "./tools.js";
export type { Call, Tool } from "./tools.js";
export type * from "./types.js";
