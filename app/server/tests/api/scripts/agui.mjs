// The protocol's own client runs an agent that is a session: its verifier takes each event, and what it
// makes of them is what was said.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { AGUI_MODULES, AGUI_URL, AGUI_SESSION, AGUI_TOKEN } = process.env;
const require = createRequire(`${AGUI_MODULES}/`);
const { HttpAgent } = require("@ag-ui/client");

// The server's clock stands still: a question is open as long as it says.
const now = Number(process.env.AGUI_NOW);
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...words) {
    super(...(words.length > 0 ? words : [now]));
  }

  static now() {
    return now;
  }
};

const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));

const agent = new HttpAgent({
  url: AGUI_URL,
  threadId: AGUI_SESSION,
  headers: { Authorization: `Bearer ${AGUI_TOKEN}` },
});
const seen = [];
let finished;
const watcher = {
  onEvent: ({ event }) => void seen.push(event.type),
  onRunFinishedEvent: ({ event }) => void (finished = event),
};

agent.addMessage({ id: "u1", role: "user", content: "look" });
await agent.runAgent({ runId: "run-1" }, watcher);
assert.equal(finished.outcome.type, "interrupt");
const [interrupt] = finished.outcome.interrupts;
const asked = agent.messages.findLast((message) => message.role === "assistant");
assert.equal(asked.toolCalls[0].id, interrupt.toolCallId);
assert.equal(asked.toolCalls[0].function.name, "look");
assert.equal(asked.toolCalls[0].function.arguments, "{}");

const payload = { approved: true };
const resume = [{ interruptId: interrupt.id, status: "resolved", payload }];
await agent.runAgent({ runId: "run-2", resume }, watcher);
assert.equal(finished.outcome.type, "success");
const result = agent.messages.find((message) => message.role === "tool");
assert.deepEqual([result.toolCallId, result.content], [interrupt.toolCallId, "a file"]);
const told = agent.messages.at(-1);
assert.deepEqual([told.role, told.content], ["assistant", "done"]);

agent.addMessage({ id: "u2", role: "user", content: "and now" });
await agent.runAgent({ runId: "run-3" }, watcher);
assert.equal(agent.messages.at(-1).content, "again");
const thought = agent.messages.find((message) => message.role === "reasoning");
assert.equal(thought.content, "hm");
assert.ok(seen.includes("STEP_STARTED") && seen.includes("REASONING_END"), seen.join(" "));
assert.deepEqual(warnings, []);
console.log(`${seen.length} events`);
