// Questions: what is shown is what runs, edits are checked, a denial is told.

import { assert, begin, ended, holds, reads, scenario, shot, speak } from "./lib.mjs";

await scenario([
  ["the question shows the tool and its exact arguments", async (page) => {
    await begin(page);
    await speak(page, "Pay Ann and Bob.");
    const card = page.locator(".card");
    await card.waitFor();
    await reads(page, ".card h3", "Allow pay to run?");
    await reads(page, ".card > .code", 'cents: 500\nto: ann');
    await reads(page, ".card .raw .code", '{"cents":500,"to":"ann"}');
    await holds(page, ".card", "permissions ask");
    await holds(page, "#state", "waiting for approval");
    await holds(page, "#pending", "1 question");
    await page.locator('.session-item[data-tone="ask"]').waitFor();
    await shot(page, "question");
  }],
  ["it survives a reload", async (page) => {
    await page.reload();
    await page.locator(".card").waitFor();
  }],
  ["arguments that are no object are not sent", async (page) => {
    await page.getByRole("button", { name: "Edit" }).click();
    const field = page.getByLabel("Arguments it is to run with");
    for (const [words, fault] of [["{", "not JSON"], ["[1]", "a JSON object"], ['{"a":1,"a":2}', "twice"]]) {
      await field.fill(words);
      await holds(page, ".card .answer .bad", fault);
      assert.ok(await page.getByRole("button", { name: "Allow with these arguments" }).isDisabled());
    }
    await shot(page, "question-edit");
  }],
  ["it runs with other arguments, to the digit", async (page) => {
    await page.getByLabel("Arguments it is to run with").fill('{"to":"ann","cents":499.10000000000000001}');
    await page.getByRole("button", { name: "Allow with these arguments" }).click();
    await page.locator(".call", { hasText: "done" }).click();
    await holds(page, ".call-body", '"cents": 499.10000000000000001');
    await holds(page, ".call-body", "Changed by the answer");
    await holds(page, ".call-body", '"cents": 500');
    await holds(page, ".call-body", 'paid by {"to":"ann","cents":499.10000000000000001}');
  }],
  ["the other is denied with a reason", async (page) => {
    await holds(page, ".card > .code", 'to: bob');
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByLabel("Why not?").fill("Bob was paid yesterday.");
    await page.locator(".card form:not([hidden])").getByRole("button", { name: "Deny" }).click();
    await ended(page, 1);
    const denied = page.locator(".call", { hasText: "denied" });
    await denied.click();
    await denied.filter({ hasText: "ann: deny (Bob was paid yesterday.)" }).waitFor();
    assert.equal(await page.locator(".card").count(), 0);
    await holds(page, "#state", "idle");
    await shot(page, "answered");
  }],
]);
