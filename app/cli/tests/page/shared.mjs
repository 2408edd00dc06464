// A page and a terminal on one session of the built command. The test that runs this has the terminal; both
// go by what they see.

import { assert, begin, ended, holds, order, reads, scenario, shot, speak } from "../../../server/tests/page/scripts/lib.mjs";

const last = ".turn:last-child";

await scenario([
  ["a session is begun on the page", async (page) => {
    await begin(page);
    await speak(page, "hello from the page");
    await ended(page, 1);
    console.log(`session ${await page.locator('.session-item[aria-current="page"]').getAttribute("data-session")}`);
  }],
  ["what is typed in the terminal appears on the page", async (page) => {
    await ended(page, 2);
    await holds(page, `${last} .input`, "show markdown");
    await holds(page, `${last} .prose`, "What an answer may have");
    await shot(page, "shared-terminal");
  }],
  ["an approval that the terminal gives closes on the page", async (page) => {
    await speak(page, "write a.txt: from the page");
    await reads(page, ".card h3", "Allow write_file to run?");
    await ended(page, 3);
    assert.equal(await page.locator(".card").count(), 0);
  }],
  ["an approval that the page gives, of a turn of the terminal", async (page) => {
    await reads(page, ".card h3", "Allow write_file to run?");
    await holds(page, `${last} .input`, "write b.txt: from the terminal");
    await order("the terminal asks too");
    await page.locator('.card button[aria-keyshortcuts="a"]').click();
    await ended(page, 4);
    assert.equal(await page.locator(".card").count(), 0);
  }],
]);
