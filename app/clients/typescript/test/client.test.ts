// Inputs, streams, approvals and client tools over a real server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import {
  allow,
  ApiError,
  Client,
  ConnectionFailed,
  deny,
  ToolFailed,
  type Call,
  type Session,
  type SessionEvent,
  type Tool,
} from "@windlass/client";

import { Cutter, Server } from "./server.js";

const SLOWLY = `slowly: ${"word ".repeat(2000)}`;
const ASK = 'repeat 1: open_file {"path": "a.txt"}';

function openFile(run: Tool<{ path: string }>["run"]): Tool<{ path: string }> {
  return {
    name: "open_file",
    description: "Opens a file in the editor.",
    parameters: {
      type: "object",
      properties: { path: { type: "string" } },
      required: ["path"],
      additionalProperties: false,
    },
    effect: "effectful",
    run,
  };
}

/** Waits for a fact of this kind. */
async function first(session: Session, kind: string): Promise<SessionEvent> {
  for await (const event of session.events(undefined, false)) {
    if (event.data.kind === kind) return event;
  }
  throw new Error("a stream ends with an error");
}

/** The positions of the facts up to the end of the turn. */
async function positions(client: Client, session: string, after?: number): Promise<number[]> {
  const seen: number[] = [];
  for await (const event of client.stream(session, after)) {
    if (event.seq !== undefined) seen.push(event.seq);
    if (event.data.kind === "TurnSettled") break;
  }
  return seen;
}

function fails(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.code === code;
}

test("a turn runs to its answer", async (t) => {
  const server = await Server.of(t);
  await writeFile(join(server.workspace, "README.md"), "# A winch\n");
  const session = await server.client.open();
  const turn = await session.run("Read README.md", { key: "read" });
  assert.deepEqual(turn.outcome, { outcome: "completed" });
  assert.match(turn.answer ?? "", /A winch/);
  assert.deepEqual(await session.run("Read README.md", { key: "read" }), turn);
  await assert.rejects(session.send("Other words", { key: "read" }), fails("key_reused"));
  for await (const one of server.client.sessions()) assert.equal(one.id, session.id);
});

test("an answer streams while it is made", async (t) => {
  const server = await Server.of(t);
  const session = await server.client.open();
  const { turn } = await session.send(SLOWLY);
  let streamed = "";
  let stopping: Promise<unknown> | undefined;
  for await (const event of session.events()) {
    if (event.name === "live") streamed += event.data.body.text ?? "";
    if (streamed.includes("word word word")) stopping ??= session.interrupt();
    if (event.data.kind === "TurnSettled") break;
  }
  await stopping;
  const { answer } = await session.turn(turn!);
  assert.ok(streamed.startsWith(answer!.slice(0, 14)), streamed);
});

test("a stream that is cut goes on at its cursor", async (t) => {
  const server = await Server.of(t);
  const session = await server.client.open();
  await session.run('repeat 3: list_dir {"path": "."}');
  const cutter = await Cutter.of(t, server, 3);
  const seen = await positions(new Client(cutter.url, server.token), session.id);
  assert.equal(cutter.cuts, 3);
  assert.deepEqual(seen, seen.map((_, index) => index + 1));
  assert.deepEqual(await positions(server.client, session.id, seen.at(-3)), seen.slice(-2));
});

test("a turn is steered and interrupted", async (t) => {
  const server = await Server.of(t);
  const session = await server.client.open();
  const { turn } = await session.send(SLOWLY);
  await first(session, "SampleStarted");
  await session.steer("Hello", { turn });
  const steered = await session.turn(turn!, 60);
  assert.equal(steered.state, "settled");
  assert.match(steered.answer ?? "", /^Hello!/);

  const other = await server.client.open();
  const slow = await other.send(SLOWLY);
  await first(other, "SampleStarted");
  assert.equal(await other.interrupt({ reason: "enough" }), slow.turn);
  const ended = await other.turn(slow.turn!, 30);
  assert.equal(ended.outcome?.outcome, "interrupted");
  await assert.rejects(other.interrupt({ turn: slow.turn! }), fails("turn_over"));
  assert.equal(await other.resume(), null);
});

test("a person allows edits and denies", async (t) => {
  const server = await Server.of(t);
  const session = await server.client.open({ permissions: "ask" });
  const edited = { path: "a.txt", content: "edited\n" };
  await session.run("write a.txt: hello", { approve: () => allow({ arguments: edited }) });
  assert.equal(await readFile(join(server.workspace, "a.txt"), "utf8"), "edited\n");
  await session.run("write b.txt: hello", { approve: async () => deny("not on a Friday") });
  await assert.rejects(stat(join(server.workspace, "b.txt")));
});

test("errors are typed", async (t) => {
  const server = await Server.of(t);
  await assert.rejects(new Client(server.url, "wrong").open(), fails("unauthorized"));
  await assert.rejects(server.client.open({ model: "no\nmodel" }), fails("refused"));
  await assert.rejects(server.client.session("01none").info(), fails("no_session"));
  const away = new Client("http://127.0.0.1:9", server.token, { retryMs: 300 });
  await assert.rejects(away.open(), ConnectionFailed);
  const taken = { ...openFile(() => ""), name: "read_file" };
  await assert.rejects(server.client.open({ tools: [taken] }), fails("refused"));
});

test("the client runs its tools, and the first result counts", async (t) => {
  const server = await Server.of(t);
  const run = ({ path }: { path: string }) => {
    if (path === "2") throw new ToolFailed("no such file: 2");
    return `opened ${path}`;
  };
  const session = await server.client.open({ tools: [openFile(run)] });
  const turn = await session.run('together 3: open_file {"path": "{step}"}');
  for (const words of ["opened 1", "no such file: 2", "opened 3"]) {
    assert.ok(turn.answer?.includes(words), turn.answer ?? "");
  }

  const waiting = await server.client.open({ tools: [openFile(run)] });
  await waiting.send(ASK);
  await first(waiting, "CallStarted");
  const [call] = await waiting.clientCalls();
  await waiting.returnResult(call!.call, "opened");
  await waiting.returnResult(call!.call, "opened");
  await assert.rejects(waiting.returnResult(call!.call, "other"), fails("not_awaited"));
  await assert.rejects(waiting.returnResult(1, "opened"), fails("no_call"));
});

const DIES = `
import { Client } from "@windlass/client";
const [url, token, text] = process.argv.slice(-3);
const run = (_, call) => {
  console.log(call.call + " " + call.idempotencyKey);
  setTimeout(() => {}, 600_000);
  return new Promise(() => {});
};
const tool = { name: "open_file", description: "Opens.", parameters: { type: "object" },
               effect: "effectful", run };
const session = await new Client(url, token).open({ tools: [tool] });
console.log(session.id);
await session.run(text);
`;

test("a client that dies and comes back answers the same call", async (t) => {
  const server = await Server.of(t);
  const words = ["--input-type=module", "--eval", DIES, server.url, server.token, ASK];
  const dies = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: dies.stdout })[Symbol.asyncIterator]();
  const id: string = (await lines.next()).value;
  const told: string = (await lines.next()).value;
  dies.kill("SIGKILL");
  await once(dies, "exit");

  let again = "";
  const tool = openFile((_, call: Call) => {
    again = `${call.call} ${call.idempotencyKey}`;
    return "opened by the second";
  });
  const settled = await server.client.session(id, [tool]).resume();
  assert.equal(again, told);
  assert.match(settled?.answer ?? "", /opened by the second/);
});

test("a call outlives the server that waits for it", async (t) => {
  const server = await Server.of(t);
  const keys = new Set<string>();
  const tool = openFile(async (_, call) => {
    keys.add(call.idempotencyKey);
    await server.kill();
    await server.start();
    return "opened, and the server died meanwhile";
  });
  const session = await server.client.open({ tools: [tool] });
  const turn = await session.run(ASK);
  assert.match(turn.answer ?? "", /the server died meanwhile/);
  assert.equal(keys.size, 1);
});
