// A model that nobody asked for is warned of once, and a person has the conversation compacted.

import { assert, axe, begin, ended, holds, scenario, shot, speak } from "./lib.mjs";

const WARNING = "The server reports the model m-small, and ";

await scenario([
  ["a model that nobody asked for is warned of once, read out too", async (page) => {
    await begin(page);
    await speak(page, "Which table is the longest?");
    await ended(page, 1);
    await holds(page, ".remark.model", WARNING);
    await holds(page, "#told", WARNING);
    await speak(page, "And the shortest?");
    await ended(page, 2);
    assert.equal(await page.locator(".remark.model").count(), 1);
    await page.reload();
    await ended(page, 2);
    assert.equal(await page.locator(".remark.model").count(), 1, "it is told again from the log");
  }],
  ["the button asks what the summary must keep", async (page) => {
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await page.locator(".remark.compaction").count(), 0, "nothing is done");
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    assert.deepEqual(await axe(page), []);
    await shot(page, "compact");
    await page.getByLabel("What the summary must keep").fill("the names of the tables");
    await page.getByRole("button", { name: "Compact it" }).click();
    await ended(page, 3);
    await holds(page, ".remark.compaction", "a user requested it, with the focus: the names of the tables");
    await holds(page, "#told", "The conversation is being compacted.");
    assert.equal(await page.locator(".remark.model").count(), 1);
  }],
  ["the session goes on", async (page) => {
    await speak(page, "Thank you.");
    await ended(page, 4);
  }],
]);
