// A turn with a retry and calls side by side: bars, shares, meters, long output, and the log's search.

import { assert, begin, ended, holds, order, scenario, shot, speak } from "./lib.mjs";

const rows = (page) => page.locator(".bars tbody tr").evaluateAll((all) => all.map((row) => [...row.querySelectorAll("th, td:not(.drawing)")].map((cell) => cell.textContent)));

await scenario([
  ["a turn of 6 seconds by the test's clock", async (page) => {
    await begin(page);
    await speak(page, "Look in both places.");
    await holds(page, ".sample-note", "Broke off (overloaded)");
    await order("advance 1000");
    await order("reached thinks");
    // Each step is on record before the clock goes on: calls that only read begin while the model speaks.
    await order("reached looks");
    await page.waitForFunction(() => [...document.querySelectorAll(".call-state")].filter((one) => one.textContent === "running").length === 2);
    await holds(page, ".progress:not([hidden])", "looking left\nlooking right");
    await order("advance 2000");
    await order("open thinks");
    await holds(page, "#meters", "1\u2009200");
    await order("advance 3000");
    await order("open looks");
    await ended(page, 1);
  }],
  ["long output is collapsed, and shown on demand", async (page) => {
    const call = page.locator(".call").first();
    await call.locator("summary").click();
    const shown = () => call.locator('[aria-label="Output"]').textContent();
    assert.equal((await shown()).length, 4000);
    await call.getByRole("button", { name: /Show all/ }).click();
    assert.equal((await shown()).length, 14 * 400);
  }],
  ["the timeline tells where the time went", async (page) => {
    await page.getByRole("button", { name: "Timeline" }).click();
    await holds(page, ".lead", "6.00 s");
    const found = await rows(page);
    const named = found.map(([step, end, , took]) => [step.replace(/,? \d+ (in|out).*$/, ""), end, took]);
    assert.ok(named.some(([step, , took]) => step.startsWith("Waits to ask again") && took === "1.00 s"), JSON.stringify(named));
    const looks = named.filter(([step]) => step === "look");
    assert.deepEqual(looks.map(([, end, took]) => [end, took]), [["done", "5.00 s"], ["done", "5.00 s"]]);
    assert.ok(named.some(([step, end, took]) => step.startsWith("Sample 1, attempt 2") && end === "done" && took === "2.00 s"), JSON.stringify(named));
    const legend = await page.locator(".legend").textContent();
    assert.match(legend, /Tools 3\.00 s 50 %/);
    assert.match(legend, /Model 2\.00 s 33 %/);
    assert.match(legend, /Waiting to ask again 1\.00 s 17 %/);
    await shot(page, "timeline");
  }],
  ["the meters tell what it took", async (page) => {
    const meters = Object.fromEntries(await page.locator(".meter").evaluateAll((all) => all.map((one) => [one.querySelector("dt").textContent, one.querySelector(".value").textContent])));
    assert.equal(meters["Tokens in"], "3\u2009600");
    assert.equal(meters["Tokens out"], "380");
    assert.equal(meters.Calls, "2");
    // 3,600 tokens at 2.50 and 380 at 10.00 a million.
    assert.equal(meters.Cost, "0.0128");
    assert.equal(meters.Window, "3 %");
  }],
  ["the log is searched by kind and by text", async (page) => {
    await page.getByRole("tab", { name: "Log" }).click();
    const said = () => page.locator(".log-head .note").textContent();
    // The tab is drawn a moment after the click.
    await page.locator(".log-head .note", { hasText: " of " }).waitFor();
    const [all] = (await said()).split(" of ");
    await page.getByLabel("Kind").selectOption("CallObserved");
    assert.match(await said(), /^2 of /);
    await page.getByLabel("Kind").selectOption("");
    await page.getByLabel("Search in the facts").fill('"place\\":\\"right');
    assert.match(await said(), /^1 of /);
    await page.locator(".log-row").click();
    await holds(page, ".log-detail", "ItemAdded");
    await shot(page, "log");
    await page.getByLabel("Search in the facts").fill("");
    assert.equal((await said()).split(" of ")[0], all);
  }],
]);
