// Steering, following up, stopping now and after the step, and going on with what waits.

import { assert, begin, ended, holds, order, scenario, shot, speak } from "./lib.mjs";

const prose = (page) => page.locator(".turn .prose").allTextContents();

await scenario([
  ["what is said to a turn is heard in it", async (page) => {
    await begin(page);
    await speak(page, "Tell me a story.");
    await order("reached first");
    await holds(page, ".turn .prose", "A long story begins here and would go on.");
    await page.getByLabel("Steer this turn").check();
    await speak(page, "A short one, please.");
    await order("reached second");
    await page.waitForFunction(() => document.querySelectorAll(".turn .input").length === 2);
    assert.equal(await page.locator(".turn").count(), 1, "it is the same turn");
    await holds(page, ".sample-note", "you spoke");
  }],
  ["what is to follow waits in the tray, and then has a turn of its own", async (page) => {
    await page.getByLabel("Follow up after it").check();
    await speak(page, "Is there a sequel?");
    await holds(page, "#waiting", "Is there a sequel?");
    await shot(page, "follow-up-waits");
    await order("open second");
    await ended(page, 2);
    assert.deepEqual(await prose(page), ["A long story begins here and would go on.", "As you wish: a short one.", "And the sequel."]);
    await page.locator("#waiting").waitFor({ state: "hidden" });
  }],
  ["a turn is stopped now, and what waits is held until somebody goes on", async (page) => {
    await speak(page, "One more.");
    await order("reached third");
    await holds(page, "#state", "running");
    await page.getByLabel("Follow up after it").check();
    await speak(page, "And this afterwards.");
    await holds(page, "#waiting", "And this afterwards.");
    await page.getByRole("button", { name: "Stop now" }).click();
    await ended(page, 3);
    await holds(page, ".turn:last-child .outcome", "interrupted by a person");
    await page.getByRole("button", { name: "Go on with it" }).click();
    await ended(page, 4);
    assert.equal((await prose(page)).at(-1), "Gone on with.");
  }],
  ["a turn that fails says so, in the list too, and after a reload", async (page) => {
    await speak(page, "And now fail.");
    await ended(page, 5);
    await holds(page, ".turn:last-child .outcome", "failed (authentication)");
    await holds(page, "#state", "failed");
    await holds(page, ".session-state", "failed");
    await page.evaluate(() => { location.hash = "#/"; });
    await page.reload();
    await page.locator("#welcome").waitFor();
    await holds(page, ".session-state", "failed");
  }],
]);
