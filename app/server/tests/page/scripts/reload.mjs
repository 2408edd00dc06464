// A reload and a lost connection in the middle of an answer: each character once.

import { assert, begin, ended, holds, order, reads, scenario, speak } from "./lib.mjs";

const ANSWER = ".turn .prose:not(.reasoning .prose)";
const FIRST = "The first half of it, ";
const WHOLE = "The first half of it, and then the second.";

async function once(page, words) {
  await reads(page, ANSWER, words);
  assert.equal(await page.locator(ANSWER).count(), 1, "there is one answer");
}

/** Has the page's requests end when the test says so, as they do when a connection is lost. */
function cuttable() {
  const lost = [];
  const { fetch } = window;
  window.fetch = (path, options) => {
    const cut = new AbortController();
    lost.push(cut);
    const signal = AbortSignal.any([cut.signal, ...(options?.signal ? [options.signal] : [])]);
    return fetch(path, { ...options, signal });
  };
  window.cut = () => lost.splice(0).forEach((each) => each.abort());
}

await scenario([
  ["half of an answer is there", async (page) => {
    await begin(page);
    await speak(page, "Tell me.");
    await order("reached half");
    await once(page, FIRST);
  }],
  ["a reload in the middle shows each character once", async (page) => {
    await page.addInitScript(cuttable);
    await page.reload();
    await once(page, FIRST);
    assert.equal(await page.locator(".reasoning").count(), 1);
    assert.equal(await page.locator(".input").count(), 1);
  }],
  ["a lost connection comes back where it was", async (page) => {
    await page.context().setOffline(true);
    await page.evaluate(() => window.cut());
    await page.locator('#link[data-state="waiting"]').waitFor();
    await order("open half");
    await order("reached end");
    await page.context().setOffline(false);
    await page.evaluate(() => document.getElementById("retry").click());
    await page.locator('#link[data-state="live"]').waitFor();
    await once(page, WHOLE);
  }],
  ["another reload, and the end", async (page) => {
    await page.reload();
    await once(page, WHOLE);
    await order("open end");
    await ended(page, 1);
    await once(page, WHOLE);
    await page.reload();
    await ended(page, 1);
    await once(page, WHOLE);
  }],
]);
