// What the scripts have in common: a browser at the page, orders to the test that runs them, and what
// must be true at the end of each: no word on the console, no error, no breach of the policy.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { WINDLASS_TEST_CHROMIUM, WINDLASS_TEST_PLAYWRIGHT, PAGE_URL, PAGE_TOKEN, PAGE_LINK, PAGE_SHOTS } = process.env;
const require = createRequire(join(WINDLASS_TEST_PLAYWRIGHT, "page.js"));
const { chromium } = require("playwright-core");

/** The longest that anything is waited for, in milliseconds. */
const SOON = 60_000;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something, and waits until it is done: `open GATE`, `reached GATE`, `advance MS`. */
export async function order(words) {
  process.stdout.write(`@${words}\n`);
  const { value } = await answers.next();
  assert.equal(value, "done", words);
}

/** Runs named steps on a page at the server, one after the other. A step is also given what the page has
 * complained of since the one before. */
export async function scenario(steps, options = {}) {
  const browser = await chromium.launch({
    executablePath: WINDLASS_TEST_CHROMIUM,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  let name = "opening the page";
  let page = null;
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(SOON);
    page = await context.newPage();
    const wrong = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()) && !expected(message.text())) wrong.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
    await page.exposeFunction("broken", (words) => { wrong.push(`policy: ${words}`); });
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => window.broken(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
      window.hits = 0;
      window.hit = () => { window.hits += 1; };
    });
    await page.goto(PAGE_LINK ?? `${PAGE_URL}#token=${encodeURIComponent(PAGE_TOKEN)}`);
    for (const [title, step] of steps) {
      name = title;
      await step(page, wrong);
      assert.deepEqual(wrong, [], "the page has nothing to complain of");
      console.log(`ok: ${title}`);
    }
  } catch (error) {
    console.log(`FAILED: ${name}\n${error.stack}`);
    if (page) {
      await shot(page, `failed-${name.replaceAll(/\W+/g, "-").slice(0, 60)}`).catch(() => {});
      console.log(await page.locator("body").innerText().catch(() => ""));
    }
    process.exitCode = 1;
  } finally {
    await browser.close();
    process.stdin.destroy();
  }
}

/** Chromium itself says that a connection was lost where a test cuts it. */
function expected(words) {
  return words.includes("net::ERR_INTERNET_DISCONNECTED") || words.includes("net::ERR_NETWORK_CHANGED");
}

/** Writes a screenshot for people to look at. */
export async function shot(page, name) {
  mkdirSync(PAGE_SHOTS, { recursive: true });
  await page.screenshot({ path: join(PAGE_SHOTS, `${name}.png`) });
}

/** Begins a session with the mouse. */
export async function begin(page) {
  await page.getByRole("button", { name: "New", exact: true }).click();
  await page.getByRole("button", { name: "Begin" }).click();
  await page.locator('#link[data-state="live"]').waitFor();
}

/** Says something with the mouse. */
export async function speak(page, words) {
  await page.getByLabel("What to say").fill(words);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Waits until so many turns have ended. */
export async function ended(page, turns) {
  await page.waitForFunction((wanted) => document.querySelectorAll(".turn-foot:not([hidden])").length >= wanted, turns);
}

/** Waits until an element's text is exactly this. */
export async function reads(page, selector, words) {
  try {
    await page.waitForFunction(([at, text]) => document.querySelector(at)?.textContent === text, [selector, words]);
  } catch (error) {
    const found = await page.locator(selector).allTextContents();
    throw new Error(`${selector} reads ${JSON.stringify(found)} and not ${JSON.stringify(words)}\n${error.message}`);
  }
}

/** Waits until an element's text holds this. */
export async function holds(page, selector, words) {
  try {
    await page.waitForFunction(([at, text]) => document.querySelector(at)?.textContent.includes(text), [selector, words]);
  } catch (error) {
    const found = await page.locator(selector).allTextContents();
    throw new Error(`${selector} reads ${JSON.stringify(found)}, without ${JSON.stringify(words)}\n${error.message}`);
  }
}

/** The stretches that the page works at while something is done, in milliseconds, the longest last: by the
 * clock of its thread, so that what the machine does besides does not count. */
export async function stretches(page, act) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: ["toplevel"] });
  await act();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const threads = traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const of_page = new Set(threads.map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = traceEvents.filter(({ ph, pid, tid, tdur }) => ph === "X" && tdur !== undefined && of_page.has(`${pid} ${tid}`));
  assert.ok(tasks.length > 0, "the page has worked");
  return tasks.map(({ tdur }) => tdur / 1000).sort((one, other) => one - other);
}

/** What axe finds to mend. */
export async function axe(page) {
  const source = readFileSync(join(WINDLASS_TEST_PLAYWRIGHT, "axe-core", "axe.min.js"), "utf8");
  await page.evaluate(source);
  const { violations, passes } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  assert.ok(passes.length > 10, "axe has looked at the page");
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => `${node.target} (${node.failureSummary})`).join("; ")}`);
}

export { assert, PAGE_TOKEN };
