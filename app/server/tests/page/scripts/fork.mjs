// A fork goes on from the end of a turn.

import { assert, begin, ended, holds, scenario, speak } from "./lib.mjs";

await scenario([
  ["a fork goes on from the turn, and leaves the other alone", async (page) => {
    await begin(page);
    await speak(page, "Look.");
    await ended(page, 1);
    const first = await page.locator('.session-item[aria-current="page"]').getAttribute("data-session");
    await page.getByRole("button", { name: "Fork from here" }).click();
    await page.waitForFunction((id) => !location.hash.includes(id), first);
    await holds(page, "#chips", `fork of ${first}`);
    await ended(page, 1);
    await speak(page, "And now?");
    await ended(page, 2);
    assert.equal((await page.locator(".turn .prose").allTextContents()).at(-1), "The fork says something else.");
    await page.locator(`[data-session="${first}"]`).click();
    // What the fork has, it has too, and no more.
    await page.waitForFunction((id) => location.hash.includes(id), first);
    await page.waitForFunction(() => !document.getElementById("chips").textContent.includes("fork of"));
    await page.locator('#link[data-state="live"]').waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".turn").length === 1);
    await ended(page, 1);
  }],
]);
