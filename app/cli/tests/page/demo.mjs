// The built command with its demo model, driven by a person with a mouse: all of it in one session and
// its fork. The test that runs it is told the ids of both, and looks at what became of them.

import { assert, begin, ended, holds, reads, scenario, shot, speak } from "../../../server/tests/page/scripts/lib.mjs";

const ANSWER = ".turn .prose:not(.reasoning .prose)";

/** An answer that takes longer than the script may, and one of four seconds, which is heard to its end. */
const words = (name, count) => Array.from({ length: count }, (_, at) => `${name}${at + 1}`).join(" ");
const LONG = words("long", 6000);
const SHORT = words("short", 60);
const HEARD = `${SHORT} (I am demo-script, a script and not a model: these were your own words.)`;

const answers = (page) => page.locator(ANSWER).allTextContents();
const session = (page) => page.locator('.session-item[aria-current="page"]').getAttribute("data-session");
const picture = (page, name) => shot(page, `serve-${name}`);

/** Waits until the only answer is longer than this; it is a part of the whole, from its first character. */
async function goes_on(page, than) {
  await page.waitForFunction(([at, length]) => document.querySelector(at)?.textContent.length > length, [ANSWER, than]);
  const [said, ...more] = await answers(page);
  assert.deepEqual(more, [], "there is one answer");
  assert.ok(LONG.startsWith(said), `each character once, not ${said}`);
  assert.ok(said.length < LONG.length, "it is not at its end");
  return said.length;
}

let first = null;
let said = 0;
let turn = [];

await scenario([
  ["the printed link is opened, and its token leaves the address", async (page) => {
    await page.locator("#welcome").waitFor();
    await page.waitForFunction(() => location.hash === "#/");
    assert.ok(!(await page.content()).includes(new URL(process.env.PAGE_LINK).hash.slice("#token=".length)));
  }],
  ["a new session is begun, and an answer streams", async (page) => {
    await begin(page);
    first = await session(page);
    console.log(`session ${first}`);
    await speak(page, `slowly: ${LONG}`);
    said = await goes_on(page, 0);
    said = await goes_on(page, said);
    await holds(page, "#state", "running");
    await picture(page, "streaming");
  }],
  ["a reload in mid-stream shows each character once, and it goes on", async (page) => {
    await page.reload();
    // What was there before the reload is there again, and then more.
    said = await goes_on(page, said - 1);
    said = await goes_on(page, said);
    await holds(page, "#state", "running");
    assert.equal(await page.locator(".turn .input").count(), 1);
  }],
  ["the turn is steered, and the page loaded anew while it answers", async (page) => {
    await page.getByLabel("Steer this turn").check();
    await speak(page, `slowly: ${SHORT}`);
    await page.waitForFunction((at) => [...document.querySelectorAll(at)].at(-1).textContent.startsWith("short1 "), ANSWER);
    await holds(page, ".sample-note", "you spoke");
    await picture(page, "steered");
    await page.reload();
    await ended(page, 1);
    turn = await answers(page);
    assert.equal(turn.length, 2);
    assert.ok(LONG.startsWith(turn[0]) && turn[0].length >= said && turn[0].length < LONG.length, turn[0]);
    assert.equal(turn[1], HEARD);
    assert.equal(await page.locator(".turn").count(), 1, "it is the same turn");
    assert.equal(await page.locator(".turn .input").count(), 2);
  }],
  ["from the log alone it reads the same", async (page) => {
    await page.reload();
    await ended(page, 1);
    assert.deepEqual(await answers(page), turn);
  }],
  ["a call is approved with an edit", async (page) => {
    await speak(page, "write a.txt: from the model");
    await reads(page, ".card h3", "Allow write_file to run?");
    await reads(page, ".card > .code", 'content:\n  | from the model\n  | \npath: a.txt\nThe file is new.');
    await holds(page, "#state", "waiting for approval");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Arguments it is to run with").fill('{"path":"a.txt","content":"from a person\\n"}');
    await picture(page, "edit");
    await page.getByRole("button", { name: "Allow with these arguments" }).click();
    await ended(page, 2);
    // The model has read back what was written.
    assert.match((await answers(page)).at(-1), /Reading a\.txt back gave: \u201cfrom a person\u201d/);
    const call = page.locator(".call", { hasText: "write_file" });
    await call.locator("summary").click();
    await holds(page, ".call[open] .call-body", "Changed by the answer");
    await holds(page, ".call[open] .call-body", '"content": "from the model\\n"');
    await picture(page, "approved");
  }],
  ["the model's question is answered, and its plan is a list", async (page) => {
    await speak(page, 'repeat 1: ask_user {"question":"Tabs or spaces?","choices":["tabs","spaces"]}');
    await reads(page, ".card h3", "The model asks");
    await reads(page, ".card .asked", "Tabs or spaces?");
    await picture(page, "question");
    await page.getByRole("button", { name: "spaces" }).click();
    await ended(page, 3);
    assert.equal(await page.locator(".card").count(), 0);
    await speak(page, 'repeat 1: update_plan {"plan":[{"step":"read","status":"completed"},{"step":"write","status":"in_progress"}]}');
    await ended(page, 4);
    assert.deepEqual(await page.locator(".plan li").allTextContents(), ["\u25cfread (completed)", "\u25d0write (in progress)"]);
    await picture(page, "plan");
  }],
  ["a call that would take ten minutes is interrupted", async (page) => {
    await speak(page, "run: echo $$ > pid; echo started; exec sleep 600");
    await reads(page, ".card h3", "Allow shell to run?");
    await page.getByRole("button", { name: "Allow" }).click();
    await holds(page, ".progress:not([hidden])", "started");
    await picture(page, "running");
    await page.getByRole("button", { name: "Stop now" }).click();
    await ended(page, 5);
    await holds(page, ".turn:last-child .outcome", "interrupted by a person");
    await picture(page, "interrupted");
  }],
  ["the timeline has bars for samples and tools", async (page) => {
    await page.locator(".turn").nth(1).getByRole("button", { name: "Timeline" }).click();
    await page.locator(".bars").waitFor();
    const bars = await page.locator(".bars tbody tr").evaluateAll((rows) => rows.map((row) => ({
      kind: row.dataset.kind,
      label: row.querySelector("th").textContent,
      ended: row.querySelector("td").textContent,
      width: row.querySelector("svg.track rect").getBoundingClientRect().width,
    })));
    const of = (kind) => bars.filter((bar) => bar.kind === kind);
    const told = JSON.stringify(bars);
    assert.ok(bars.every((bar) => bar.width > 0), told);
    assert.deepEqual(of("sample").map((bar) => bar.ended), ["done", "done", "done"], told);
    assert.deepEqual(of("call").map((bar) => `${bar.label} ${bar.ended}`), ["write_file done", "read_file done"], told);
    assert.deepEqual(of("approval").map((bar) => bar.ended), ["allowed"], told);
    await holds(page, ".lead", "completed");
    await picture(page, "timeline");
    await page.getByLabel("Turn", { exact: true }).selectOption({ index: 0 });
    await page.waitForFunction(() => document.querySelectorAll('.bars tr[data-kind="sample"]').length === 2);
    await holds(page, '.bars tr[data-kind="sample"]', "cut");
    await picture(page, "timeline-steered");
    await page.getByRole("tab", { name: "Conversation" }).click();
  }],
  ["a fork goes on from the second turn, and leaves the session alone", async (page) => {
    await page.locator(".turn").nth(1).getByRole("button", { name: "Fork from here" }).click();
    await page.waitForFunction((id) => !location.hash.includes(id), first);
    await holds(page, "#chips", `fork of ${first}`);
    await ended(page, 2);
    const fork = await session(page);
    console.log(`session ${fork}`);
    assert.notEqual(fork, first);
    assert.equal(await page.locator(".turn").count(), 2);
    await speak(page, "read a.txt");
    await ended(page, 3);
    assert.match((await answers(page)).at(-1), /^read_file on a\.txt returned 1 line .*\u201cfrom a person\u201d/);
    await picture(page, "fork");
    await page.locator(`[data-session="${first}"]`).click();
    await holds(page, ".turn:last-child .outcome", "interrupted by a person");
    assert.equal(await page.locator(".turn").count(), 5);
    assert.deepEqual((await answers(page)).slice(0, 2), turn);
  }],
]);
