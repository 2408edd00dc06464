// Ten thousand facts: folded while they come, listed and searched without the tab hanging.

import { assert, begin, ended, scenario, shot, speak, stretches } from "./lib.mjs";

/** The longest that the tab may work at a stretch, in milliseconds; a slow machine is given time. */
const LONGEST = 1000;

/** Does something, and holds what the page works meanwhile to its bound. */
async function without_hanging(page, what, act) {
  const began = Date.now();
  const worked = await stretches(page, act);
  const longest = Math.round(worked.at(-1));
  console.log(`${what} after ${Date.now() - began} ms, in ${worked.length} stretches of ${longest} ms at most`);
  assert.ok(longest < LONGEST, `the tab worked for ${longest} ms`);
}

await scenario([
  ["a turn of 1,700 calls", async (page) => {
    await begin(page);
    await speak(page, "Look around for a long time.");
    await ended(page, 1);
  }],
  ["the whole log is taken in anew", async (page) => {
    await without_hanging(page, "taken in and drawn", async () => {
      await page.reload();
      await ended(page, 1);
    });
    assert.ok((await page.locator(".call").count()) <= 150);
    await page.getByRole("button", { name: /Show earlier steps/ }).click();
    await page.waitForFunction(() => document.querySelectorAll(".call").length > 250);
  }],
  ["the log lists what is seen and no more", async (page) => {
    await page.getByRole("tab", { name: "Log" }).click();
    await page.locator(".log-row").first().waitFor();
    const told = await page.locator(".log-head .note").textContent();
    const all = Number(told.split(" of ")[1].replaceAll("\u2009", ""));
    assert.ok(all >= 10_000, told);
    assert.ok((await page.locator(".log-row").count()) < 100);
    await page.locator(".log-rows").focus();
    await page.keyboard.press("End");
    await page.locator(".log-row", { hasText: "TurnSettled" }).waitFor();
    assert.ok((await page.locator(".log-row").count()) < 100);
    await without_hanging(page, `${told}: searched`, async () => {
      await page.getByLabel("Search in the facts").fill('step\\":1699');
      await page.waitForFunction(() => document.querySelector(".log-head .note").textContent.startsWith("1 of"));
    });
    await shot(page, "long-log");
  }],
  ["the timeline is drawn in part, and asks for more", async (page) => {
    await without_hanging(page, "drawn in part", async () => {
      await page.getByRole("tab", { name: "Timeline" }).click();
      await page.locator(".bars").waitFor();
      assert.equal(await page.locator(".bars tbody tr").count(), 300);
      await page.getByRole("button", { name: /Show more of/ }).click();
      await page.waitForFunction(() => document.querySelectorAll(".bars tbody tr").length === 600);
    });
  }],
]);
