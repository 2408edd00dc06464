// The link, a new session, an answer that streams, and a token that is wrong.

import { assert, begin, ended, holds, order, PAGE_TOKEN, reads, scenario, shot, speak } from "./lib.mjs";

const ANSWER = ".turn .prose:not(.reasoning .prose)";
const FIRST = "The first half of it, ";
const WHOLE = "The first half of it, and then the second.";

async function once(page, words) {
  await reads(page, ANSWER, words);
  assert.equal(await page.locator(ANSWER).count(), 1, "there is one answer");
}

await scenario([
  ["the token goes from the address into the tab", async (page) => {
    await page.locator("#welcome").waitFor();
    await page.waitForFunction(() => location.hash === "#/");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("windlass.token")), PAGE_TOKEN);
    assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);
    assert.ok(!(await page.content()).includes(PAGE_TOKEN));
    await page.goBack().catch(() => {});
    assert.ok(!page.url().includes("token"), page.url());
    if (!page.url().startsWith("http")) await page.goForward();
  }],
  ["a new session is open and in the list", async (page) => {
    await begin(page);
    await holds(page, "#state", "idle");
    await page.locator('.session-item[aria-current="page"]').waitFor();
  }],
  ["the answer is shown while it streams", async (page) => {
    await speak(page, "Tell me.");
    await order("reached half");
    await once(page, FIRST);
    await holds(page, "#state", "running");
    assert.equal(await page.locator(".reasoning").count(), 1);
    await shot(page, "streaming");
  }],
  ["nobody is told of each delta aloud", async (page) => {
    assert.ok(!(await page.locator("#told").textContent()).includes("half"));
  }],
  ["it goes on, and ends", async (page) => {
    await order("open half");
    await order("reached end");
    await once(page, WHOLE);
    await order("open end");
    await ended(page, 1);
    await once(page, WHOLE);
    await holds(page, ".outcome", "completed");
    await holds(page, "#told", WHOLE);
    await holds(page, "#state", "idle");
  }],
  ["a second turn follows the first", async (page) => {
    await speak(page, "Again.");
    await ended(page, 2);
    assert.deepEqual(await page.locator(ANSWER).allTextContents(), [WHOLE, "Once more."]);
    await shot(page, "conversation");
  }],
  ["a token that is wrong is asked for again", async (page, wrong) => {
    // Of the two that are refused at once, the list's answer comes when the right one is typed already.
    let typed;
    const until = new Promise((resolve) => { typed = resolve; });
    const list = /\/v1\/sessions\?/;
    await page.route(list, async (route) => { await until; await route.continue(); }, { times: 1 });
    const late = page.waitForResponse((response) => list.test(response.url()) && response.status() === 401);
    // At once: a request of the old page that is refused would drop the token before the new one reads it.
    const loaded = page.waitForEvent("load");
    await page.evaluate(() => {
      sessionStorage.setItem("windlass.token", "wrong");
      location.reload();
    });
    await loaded;
    await page.locator("#ask-token[open]").waitFor();
    const field = page.getByRole("textbox", { name: "Token" });
    await field.fill(PAGE_TOKEN);
    typed();
    await (await late).finished();
    await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 50); }));
    assert.equal(await field.inputValue(), PAGE_TOKEN, "what is typed stays");
    await page.getByRole("button", { name: "Use it" }).click();
    await ended(page, 2);
    const told = wrong.splice(0);
    assert.ok(told.length > 0 && told.every((line) => line.includes("401")), told.join("\n"));
  }],
  ["a refusal that comes after it asks for no other, and what was to be said stays", async (page, wrong) => {
    let signed_in;
    const until = new Promise((resolve) => { signed_in = resolve; });
    const turns = /\/turns$/;
    await page.route(turns, async (route) => { await until; await route.continue(); }, { times: 1 });
    const late = page.waitForResponse((response) => turns.test(response.url()) && response.status() === 401);
    await page.getByLabel("What to say").fill("Said with the wrong token.");
    // In one go, before the list is asked for with that token, and then at once.
    await page.getByRole("button", { name: "Send" }).evaluate((send) => {
      sessionStorage.setItem("windlass.token", "wrong");
      send.click();
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.locator("#ask-token[open]").waitFor();
    await page.getByRole("textbox", { name: "Token" }).fill(PAGE_TOKEN);
    await page.getByRole("button", { name: "Use it" }).click();
    await ended(page, 2);
    signed_in();
    await (await late).finished();
    await page.locator("#alert:not([hidden])").waitFor();
    assert.equal(await page.locator("#ask-token[open]").count(), 0, "no other is asked for");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("windlass.token")), PAGE_TOKEN);
    assert.equal(await page.getByLabel("What to say").inputValue(), "Said with the wrong token.");
    const told = wrong.splice(0);
    assert.ok(told.length > 0 && told.every((line) => line.includes("401")), told.join("\n"));
  }],
]);
