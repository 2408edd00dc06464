// Text that would like to be markup, script or something else than it looks like.

import { assert, begin, ended, holds, scenario, shot, speak } from "./lib.mjs";

const HOSTILE = "<img src=x onerror=hit()></script><script>hit()</script> \u001b[31mred\u001b[0m \u202etxt.exe\u202c \"><svg onload=hit()> {{hit()}} ${hit()}";
const SHOWN = HOSTILE.replaceAll("\u001b", "\u27e8ESC\u27e9").replaceAll("\u202e", "\u27e8U+202E\u27e9").replaceAll("\u202c", "\u27e8U+202C\u27e9");

async function harmless(page) {
  assert.equal(await page.evaluate(() => window.hits), 0, "nothing ran");
  const strange = await page.evaluate(() => [...document.querySelectorAll("#session script, #session img, #session iframe, #session object, #session [onerror], #session [onload], #session b, a[href^='javascript']")].map((one) => one.outerHTML));
  assert.deepEqual(strange, []);
  const text = await page.evaluate(() => document.body.innerText + document.title);
  assert.ok(!/[\u001b\u202a-\u202e\u2066-\u2069]/.test(text), "nothing turns text round");
}

await scenario([
  ["in the user's words, the model's and a question", async (page) => {
    await begin(page);
    await speak(page, HOSTILE);
    await page.locator(".card").waitFor();
    await holds(page, ".said", SHOWN);
    await holds(page, ".sample > .parts > .prose", SHOWN);
    await holds(page, ".sample > .parts > .prose", "[click](javascript:alert(1)) <b>");
    await holds(page, ".card > .code", "\\u{202e}txt.exe\\u{202c}");
    await holds(page, ".card > .code", "git log [9000 blanks] ; rm");
    await holds(page, ".card .raw .code", "\u27e8U+202E\u27e9");
    await holds(page, ".card", "spelled out");
    await page.locator(".reasoning summary").click();
    await holds(page, ".reasoning .prose", SHOWN);
    await harmless(page);
    await shot(page, "hostile");
  }],
  ["in what a tool gave out, and in the answer", async (page) => {
    await page.getByRole("button", { name: "Allow" }).click();
    await ended(page, 1);
    await page.locator(".call summary").click();
    await holds(page, '[aria-label="Output"]', SHOWN);
    await harmless(page);
  }],
  ["in the list, the log and the timeline", async (page) => {
    await holds(page, ".session-title", "<img src=x");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator(".bars").waitFor();
    await page.getByRole("tab", { name: "Log" }).click();
    await page.locator(".log-row", { hasText: "ItemAdded" }).first().click();
    await holds(page, ".log-detail .code", "hit()");
    await harmless(page);
  }],
  ["the policy holds against what is put in by hand", async (page, wrong) => {
    const kept = await page.evaluate(async () => {
      const told = new Promise((done) => { addEventListener("securitypolicyviolation", done, { once: true }); });
      try {
        document.createElement("div").innerHTML = "<img>";
        return "markup was taken";
      } catch (error) {
        await told;
        return error.name;
      }
    });
    assert.equal(kept, "TypeError");
    // Each of the two ways in which the browser tells of it has come.
    for (const way of ["console", "policy"]) {
      while (!wrong.some((line) => line.startsWith(way))) await page.waitForTimeout(10);
    }
    const told = wrong.splice(0);
    assert.ok(told.length > 0 && told.every((line) => /[Tt]rusted|require-trusted-types-for/.test(line)), told.join("\n"));
    await harmless(page);
  }],
]);
