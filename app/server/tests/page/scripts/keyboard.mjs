// All of it by keyboard, with a focus that is seen.

import { assert, ended, holds, order, scenario, shot } from "./lib.mjs";

const focus = (page) => page.evaluate(() => {
  const at = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  return { id: at.id, text: at.textContent.trim().slice(0, 40), seen: outlineStyle !== "none" && outlineWidth !== "0px" };
});

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

/** Tabs until the focus is on what is wanted, which must be within reach. */
async function tab_to(page, wanted, key = "Tab") {
  for (let tried = 0; tried < 60; tried += 1) {
    await page.keyboard.press(key);
    const at = await focus(page);
    if (at.id === wanted || at.text.startsWith(wanted)) {
      assert.ok(at.seen, `the focus on ${wanted} is seen`);
      return;
    }
  }
  assert.fail(`${wanted} is out of reach`);
}

await scenario([
  ["a session is begun and spoken to", async (page) => {
    await page.locator("#welcome").waitFor();
    await press(page, "n");
    await page.locator("#new[open]").waitFor();
    assert.match((await focus(page)).text, /^Begin/);
    await press(page, "Enter");
    await page.locator('#link[data-state="live"]').waitFor();
    await page.waitForFunction(() => document.activeElement.id === "words");
    await page.keyboard.type("Pay one cent, please. n j q ?");
    await press(page, "Enter");
    await page.locator(".card").waitFor();
    await holds(page, ".said", "n j q ?");
  }],
  ["a question is edited, left, and allowed", async (page) => {
    await press(page, "Escape", "q");
    await page.waitForFunction(() => document.activeElement.classList.contains("card"));
    assert.ok((await focus(page)).seen);
    await press(page, "e");
    await page.waitForFunction(() => document.activeElement.tagName === "TEXTAREA" && document.activeElement.closest(".card"));
    await press(page, "Escape");
    await page.waitForFunction(() => document.activeElement.textContent.startsWith("Allow"));
    await press(page, "d");
    await page.waitForFunction(() => document.activeElement.tagName === "INPUT");
    await press(page, "Escape", "a");
    await ended(page, 1);
  }],
  ["the views, the search and the log", async (page) => {
    await press(page, "2");
    await page.locator(".bars").waitFor();
    await press(page, "3");
    await page.locator(".log-row").first().waitFor();
    await press(page, "/");
    await page.waitForFunction(() => document.activeElement.id === "log-words");
    await page.keyboard.type("ItemAdded");
    await press(page, "Tab");
    await page.waitForFunction(() => document.activeElement.classList.contains("log-rows"));
    await press(page, "ArrowDown", "ArrowDown");
    await page.locator('.log-row[aria-selected="true"]').waitFor();
    await page.locator(".log-detail:not([hidden])").waitFor();
    await press(page, "Escape");
    await page.locator(".log-detail").waitFor({ state: "hidden" });
    await press(page, "1");
    await page.locator("#talk:not([hidden])").waitFor();
  }],
  ["tabs go by arrows", async (page) => {
    await page.locator("#tab-talk").focus();
    await press(page, "ArrowRight");
    assert.deepEqual((await focus(page)).id, "tab-time");
    await press(page, "End");
    assert.deepEqual((await focus(page)).id, "tab-log");
    await press(page, "Home");
    assert.deepEqual((await focus(page)).id, "tab-talk");
  }],
  ["the list goes by arrows, and the keys are told", async (page) => {
    // What changed last comes first.
    await order("advance 1000");
    await press(page, "n");
    await page.locator("#new[open]").waitFor();
    await press(page, "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".session-item").length === 2);
    await page.waitForFunction(() => document.activeElement.id === "words");
    await press(page, "Escape", "s", "ArrowDown");
    const at = await focus(page);
    assert.ok(at.seen && at.text.startsWith("Pay one cent"), at.text);
    await press(page, "Enter");
    await ended(page, 1);
    await press(page, "?");
    await page.locator("#help[open]").waitFor();
    await shot(page, "keys");
    await press(page, "Escape");
    await page.locator("#help").waitFor({ state: "hidden" });
  }],
  ["whoever wants no such keys has none", async (page) => {
    await press(page, "?");
    await page.getByLabel("Keys without a modifier").uncheck();
    await press(page, "Escape", "2");
    assert.equal(await page.locator("#time").isVisible(), false);
    await tab_to(page, "open-help", "Shift+Tab");
    await press(page, "Enter");
    await page.locator("#help[open]").waitFor();
    await press(page, "Escape");
    await tab_to(page, "words");
    await page.keyboard.type("Hello");
    await tab_to(page, "Send");
    await press(page, "Enter");
    await ended(page, 2);
  }],
]);
