// The page's pure parts, over the golden logs and over streams that are cut anywhere.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const page = new URL("../../src/page/", import.meta.url);
const { facts } = await import(new URL("facts.js", page));
const { cost, forget, fresh, live, streaming, take, tokens, waiting } = await import(new URL("fold.js", page));
const { bars, shares } = await import(new URL("timeline.js", page));
const { fault, laid_out } = await import(new URL("json.js", page));
const { Reader } = await import(new URL("stream.js", page));
const { exact, visible } = await import(new URL("visible.js", page));
const { asks_person, standing } = await import(new URL("call.js", page));
const { count, duration, other_model } = await import(new URL("format.js", page));

const golden = new URL("../../../../testkit/golden/v1/", import.meta.url).pathname;
const logs = readdirSync(golden).filter((name) => name.endsWith(".jsonl")).map((name) => {
  const lines = readFileSync(join(golden, name), "utf8").trimEnd().split("\n");
  return { name, lines, log: lines.map((line) => JSON.parse(line)).filter((line) => line.kind) };
});

/** Numbers that look random, and are the same each time. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function folded(log) {
  const view = fresh();
  for (const fact of log) assert.equal(take(view, fact, JSON.stringify(fact)), true);
  return view;
}

test("a version of the requested model is no other model", () => {
  for (const [model, reported, other] of [
    ["m", "m-small", true], ["gpt-5", "gpt-5-2025-08-07", false], ["vendor/gpt-5", "gpt-5", false],
    ["a-latest", "a", false], ["sonnet-4-5", "sonnet-4-5-20250929", false], ["x-4", "x-5", true],
  ]) {
    assert.equal(other_model({ model, reported_model: reported }), other ? reported : null, `${model}, ${reported}`);
  }
  assert.equal(other_model({ model: "m" }), null);
  assert.equal(other_model(undefined), null);
});

test("there are golden logs to look at", () => {
  assert.ok(logs.length >= 20, `${logs.length} logs`);
});

test("each kind of fact is known to the page", () => {
  const source = readFileSync(new URL("../../../../core/src/fact/table.rs", import.meta.url), "utf8");
  const kinds = [...source.matchAll(/^ {8}([A-Z]\w+)[^;:{]*;$/gm)].map((found) => found[1]);
  assert.ok(kinds.length >= 29, kinds.join(" "));
  for (const kind of kinds) assert.equal(typeof facts[kind], "function", kind);
});

test("what a log says is what the page shows", () => {
  for (const { name, log } of logs) {
    const view = folded(log);
    assert.equal(view.log.length, log.length, name);
    const settled = log.filter((fact) => fact.kind === "TurnSettled");
    assert.equal(view.spent.turns, settled.length, name);
    const calls = settled.reduce((sum, fact) => sum + (fact.body.spent.calls ?? 0), 0);
    assert.equal(view.spent.calls, calls, name);
    const opened = log.filter((fact) => fact.kind === "TurnOpened").map((fact) => fact.seq);
    assert.deepEqual(view.blocks.filter((block) => block.id !== null).map((block) => block.id), opened, name);
    assert.equal(view.open, opened.length > settled.length ? opened.at(-1) : null, name);
    for (const fact of log.filter((fact) => fact.kind === "CallObserved")) {
      assert.equal(view.calls.get(fact.body.call).observed.output, fact.body.observation.output, name);
    }
    const heard = log.filter((fact) => ["InputAccepted", "InputBlocked"].includes(fact.kind)).map((fact) => fact.body.input);
    for (const input of heard) assert.notEqual(view.inputs.get(input).status, "waiting", name);
    for (const input of waiting(view)) assert.ok(!heard.includes(input.seq), name);
    for (const block of view.blocks) {
      const order = block.entries.map((entry) => entry.seq);
      assert.deepEqual(order, [...order].sort((a, b) => a - b), name);
    }
  }
});

test("a fact that comes again changes nothing", () => {
  for (const { log } of logs) {
    const view = folded(log);
    const { rev } = view;
    for (const fact of log) assert.equal(take(view, fact, ""), false);
    assert.equal(view.rev, rev);
  }
});

test("a question is open until it is answered, observed or its turn is over", () => {
  let questions = 0;
  for (const { name, log } of logs) {
    const view = fresh();
    const open = new Set();
    for (const fact of log) {
      take(view, fact, "");
      if (fact.kind === "ApprovalAsked") { open.add(fact.body.call); questions += 1; }
      if (fact.kind === "ApprovalAnswered" || fact.kind === "CallObserved") open.delete(fact.body.call);
      if (fact.kind === "TurnSettled") open.clear();
      assert.deepEqual([...view.questions.keys()].sort(), [...open].sort(), `${name} ${fact.seq}`);
    }
  }
  assert.ok(questions > 10, `${questions} questions`);
});

test("a call of a client waits for it until there is a result", () => {
  const item = { name: "open_file", arguments: "{}" };
  const call = { item, edits: [], observed: null, asked: null, answered: null, decided: null, runs: [], block: { settled: null } };
  const run = (client) => ({ ...call, runs: [{ ts: 1, attempt: 1, plan: false, asks: false, client }] });
  assert.equal(standing(run(false)).words, "running");
  assert.equal(standing(run(true)).words, "waiting for its client");
  assert.equal(standing({ ...run(true), observed: { status: "done" } }).words, "done");
  const asks = (args) => standing({ ...run(true), item: { name: "ask_user", arguments: args } }).words;
  assert.equal(asks('{"question":"Which?"}'), "waiting for your answer");
  for (const wrong of ["", "[]", '{"question":1}', '{"question":"a","choices":[1]}']) assert.equal(asks(wrong), "waiting for its client");
  const log = logs.find(({ log }) => log.some(({ kind }) => kind === "CallStarted"))?.log;
  const at = log.findIndex(({ kind }) => kind === "CallStarted");
  const started = { ...log[at], body: { ...log[at].body, client: true } };
  const view = folded([...log.slice(0, at), started]);
  assert.equal(standing(view.calls.get(started.body.call)).words, "waiting for its client");
});

test("a suspended call asks until it is answered", () => {
  const { log } = logs.find(({ log }) => log.some(({ kind }) => kind === "CallResumed"));
  const at = log.findIndex(({ kind, body }) => kind === "CallSuspended" && body.suspension.question);
  const view = folded(log.slice(0, at + 1));
  const { call } = log[at].body;
  const calls = () => [...view.calls.values()].filter(({ seq }) => seq === call);
  assert.deepEqual(calls().map(asks_person), [{ choices: [], ...log[at].body.suspension.question, by: calls()[0].item.name }]);
  assert.equal(standing(calls()[0]).words, "waiting for your answer");
  const answered = log.findIndex(({ kind }, index) => kind === "CallResumed" && index > at);
  for (const fact of log.slice(at + 1, answered + 1)) take(view, fact, JSON.stringify(fact));
  assert.equal(asks_person(calls()[0]), null);
});

test("a turn's time is told whole, and nothing of it twice", () => {
  let seen = 0;
  for (const { name, log } of logs) {
    const view = folded(log);
    for (const block of view.blocks.filter((block) => block.id !== null)) {
      const now = Math.max(block.ended ?? log.at(-1).ts, block.ts);
      const all = bars(block.facts, now, view.inputs);
      const from = Math.min(block.ts, ...all.map((bar) => bar.from));
      const parts = shares(all, from, now);
      assert.equal(parts.reduce((sum, part) => sum + part.ms, 0), now - from, name);
      for (const bar of all) assert.ok(bar.to >= bar.from, `${name} ${bar.label}`);
      if (block.settled) assert.ok(all.every((bar) => bar.status !== "running"), name);
      const started = block.facts.filter((fact) => ["CallStarted", "ReconcileStarted"].includes(fact.kind)).length;
      assert.equal(all.filter((bar) => bar.kind === "call").length, started, name);
      const samples = block.facts.filter((fact) => fact.kind === "SampleStarted").length;
      assert.equal(all.filter((bar) => bar.kind === "sample").length, samples, name);
      seen += all.length;
    }
  }
  assert.ok(seen > 100, `${seen} bars`);
});

test("what a rewind took out of the conversation is faded, also in a turn that it went back into", () => {
  const { log } = logs.find(({ name }) => name === "sessions_are_rewound.jsonl");
  const rewinds = log.filter((fact) => fact.kind === "SessionRewound");
  assert.ok(rewinds.some(({ seq, turn, body }) => log.some((fact) => fact.turn && fact.turn < body.to && body.to < fact.seq && fact.seq < seq)));
  const view = folded(log);
  const shown = (turn) => view.turns.get(turn).entries.map(({ kind, rewound }) => `${kind}${rewound ? ", faded" : ""}`);
  assert.deepEqual(shown(3), ["input", "sample", "sample, faded", "sample, faded"], "the session went back to its first result");
  assert.deepEqual(shown(23), ["input", "sample"]);
  assert.deepEqual(shown(30), ["input, faded", "sample, faded"]);
  const between = view.blocks.filter((block) => block.id === null).flatMap((block) => block.entries);
  assert.ok(between.every((entry) => !entry.rewound));
});

test("time in two bars at once counts once", () => {
  const all = [{ kind: "call", from: 0, to: 10 }, { kind: "call", from: 5, to: 20 }, { kind: "sample", from: 8, to: 12 }];
  const parts = Object.fromEntries(shares(all, 0, 30).map((part) => [part.kind, part.ms]));
  assert.deepEqual([parts.sample, parts.call, parts.other], [4, 16, 10]);
});

/** An answer as it streams: deltas, the items that they add up to, and a new connection anywhere. */
function streamed(seed) {
  const next = random(seed);
  const texts = Array.from({ length: 1 + next(4) }, (_, slot) => ({
    slot, type: ["text", "reasoning", "text", "call"][next(4)], text: slot + "abcdefghij klmno\n".repeat(1 + next(4)).slice(next(5)),
  }));
  return { next, texts };
}

const DELTA = { text: "TextDelta", reasoning: "ReasoningDelta", call: "ArgumentsDelta" };

test("each character is shown once, wherever the connection begins anew", () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const { next, texts } = streamed(seed);
    let view = fresh();
    const log = [];
    const fact = (kind, body) => {
      const made = { v: 1, session: "s", seq: log.length + 1, turn: log.length ? 3 : null, ts: log.length, kind, body };
      log.push(made);
      take(view, made, JSON.stringify(made));
    };
    const say = (kind, body) => live(view, { seq: null, turn: 3, ts: 1, kind, body });
    fact("SessionOpened", { settings: {}, lineage: { from: "root" } });
    fact("InputQueued", { text: "x", delivery: "turn", scope: null });
    fact("TurnOpened", { because: { why: "opened", input: 2 }, limits: {}, settings: 1 });
    const early = next(2) === 0;
    if (!early) fact("SampleStarted", { sample: 1, attempt: 1, because: { why: "opened", input: 2 } });
    const said = texts.map(() => 0);
    const done = texts.map(() => false);
    const item = ({ type, text }) => (type === "call" ? { type, provider_id: "p", name: "tool", arguments: text } : { type, text });
    const check = () => {
      const sample = view.samples.get(4);
      const shown = (sample?.items ?? []).map((one) => one.text ?? one.arguments).concat(streaming(sample ?? { live: new Map() }).map((part) => part.text));
      const wanted = texts.map(({ text }, index) => (done[index] ? text : text.slice(0, said[index])));
      assert.equal(shown.join("").length, wanted.join("").length, `seed ${seed}`);
      assert.deepEqual(shown.filter(Boolean).sort(), wanted.filter(Boolean).sort(), `seed ${seed}`);
    };
    const again = () => {
      // A page that was loaded anew has nothing; one that only lost its connection has all it had.
      if (next(2)) view = fresh();
      forget(view);
      const told_first = next(2) === 0;
      const facts_again = () => log.forEach((one) => take(view, one, JSON.stringify(one)));
      if (!told_first) facts_again();
      texts.forEach(({ type, text, slot }, index) => {
        // Whether parts that are facts by now are told too is the server's own affair.
        if (said[index] === 0 || (done[index] && next(2))) return;
        if (type === "call") say("CallDelta", { started: 4, slot, name: "tool" });
        say(DELTA[type], { started: 4, slot, text: text.slice(0, said[index]) });
      });
      if (told_first) facts_again();
    };
    while (done.some((each) => !each)) {
      const index = next(texts.length);
      const { type, text, slot } = texts[index];
      if (done[index]) continue;
      if (said[index] < text.length) {
        if (said[index] === 0 && type === "call") say("CallDelta", { started: 4, slot, name: "tool" });
        const piece = text.slice(said[index], said[index] + 1 + next(6));
        said[index] += piece.length;
        say(DELTA[type], { started: 4, slot, text: piece });
      } else {
        if (log.length === 3) fact("SampleStarted", { sample: 1, attempt: 1, because: { why: "opened", input: 2 } });
        done[index] = true;
        fact("ItemAdded", { started: 4, item: item(texts[index]) });
      }
      if (next(5) === 0 && log.length > 3) again();
      check();
    }
  }
});

test("a part that begins as one that ended does is shown as soon as it goes on", () => {
  const view = fresh();
  const fact = (seq, kind, body) => take(view, { seq, turn: seq > 2 ? 3 : null, ts: 0, kind, body }, "");
  fact(3, "TurnOpened", { because: { why: "retry" }, limits: {}, settings: 1 });
  fact(4, "SampleStarted", { sample: 1, attempt: 1, because: { why: "retry" } });
  fact(5, "ItemAdded", { started: 4, item: { type: "text", text: "Yes" } });
  const say = (slot, text) => live(view, { seq: null, turn: 3, ts: 0, kind: "TextDelta", body: { started: 4, slot, text } });
  const shown = () => streaming(view.samples.get(4)).map((part) => part.text);
  say(0, "Yes");
  assert.deepEqual(shown(), [], "it is the item, told again");
  say(1, "Yes");
  assert.deepEqual(shown(), ["Yes"], "it is another");
  say(0, ", and no");
  assert.deepEqual(shown(), ["Yes, and no", "Yes"]);
});

test("server-sent events are the same however they are cut", () => {
  const text = ': hello\r\nid: 1\nevent: fact\ndata: {"a":1}\n\ndata: one\ndata: two\n\n:\n\nevent: live\r\ndata:x\r\n\r\n';
  const whole = new Reader().push(text);
  assert.deepEqual(whole, [
    { event: "fact", id: "1", data: '{"a":1}' },
    { event: "message", id: "", data: "one\ntwo" },
    { event: "live", id: "", data: "x" },
  ]);
  for (let seed = 1; seed <= 50; seed += 1) {
    const next = random(seed);
    const reader = new Reader();
    const found = [];
    for (let at = 0; at < text.length;) {
      const to = at + 1 + next(9);
      found.push(...reader.push(text.slice(at, to)));
      at = to;
    }
    assert.deepEqual(found, whole);
  }
});

test("arguments are laid out without changing a token", () => {
  const text = '{"n":12345678901234567890.10,"twice":1,"twice":2,"s":"a \\" {[,:]} \\u202e","e":[],"o":{},"l":[1,{"x":null}]}';
  const laid = laid_out(text);
  assert.ok(laid.includes("12345678901234567890.10") && laid.includes('"twice": 2'));
  const squeeze = (json) => json.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g).join("");
  assert.equal(squeeze(laid), squeeze(text));
  assert.deepEqual(JSON.parse(laid), JSON.parse(text));
  assert.equal(laid_out("no json {"), "no json {");
});

test("arguments that cannot be sent are told", () => {
  assert.equal(fault('{"a": {"b": [1, {"a": 2}]}}'), null);
  assert.match(fault("{"), /not JSON/);
  for (const text of ["[]", "null", "1", '"x"']) assert.match(fault(text), /object/);
  assert.match(fault('{"a":1,"b":{},"\\u0061":2}'), /twice/);
});

test("what hides is spelled out", () => {
  assert.equal(visible("a\u202eb\u001b[31m\r\n\tc\u200d"), "a\u27e8U+202E\u27e9b\u27e8ESC\u27e9[31m\u27e8CR\u27e9\n\tc\u200d");
  assert.equal(exact("a\u200bb\u{e0041}"), "a\u27e8U+200B\u27e9b\u27e8U+E0041\u27e9");
  assert.equal(exact("plain \u00fc\u4e2d\u{1f600}"), "plain \u00fc\u4e2d\u{1f600}");
});

test("usage costs what the engine says it costs", () => {
  const price = { input_micros: 2_500_000, cached_input_micros: 250_000, output_micros: 10_000_000 };
  assert.equal(cost(price, { input: 1000, cached_input: 400, output: 10 }), 1500 + 100 + 100);
  assert.equal(cost(price, { total: 1 }), 3);
  assert.equal(cost(null, { input: 1 }), 0);
  assert.equal(tokens({ total: 7 }), 7);
  assert.equal(tokens({ input: 1, output: 2, total: 9 }), 3);
});

test("numbers read as people read them", () => {
  assert.deepEqual([0, 999, 1500, 61_000, 3_660_000].map(duration), ["0 ms", "999 ms", "1.50 s", "1 min 1 s", "1 h 1 min"]);
  assert.equal(count(1234567), "1\u2009234\u2009567");
});
