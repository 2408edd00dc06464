// Wide and narrow, light and dark: pictures for people, and what a program can check of them.

import { assert, axe, begin, ended, holds, order, scenario, shot, speak } from "./lib.mjs";

async function fits(page, where) {
  const wide = await page.evaluate(() => ["html", "body", "#talk", "#time", "#log", ".session-head", ".composer"].map((at) => {
    const element = document.querySelector(at);
    return element.scrollWidth > element.clientWidth ? `${at} ${element.scrollWidth} > ${element.clientWidth}` : null;
  }).filter(Boolean));
  assert.deepEqual(wide, [], `${where} fits`);
  const out = await page.evaluate(() => [...document.querySelectorAll("button, input, select, textarea")].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width > 0 && one.checkVisibility({ visibilityProperty: true }) && (left < -0.5 || right > innerWidth + 0.5);
  }).map((one) => one.outerHTML.slice(0, 120)));
  assert.deepEqual(out, [], `${where}: nothing to press is cut off`);
}

async function view(page, name) {
  await page.locator(`#tab-${name}`).click();
  await page.locator(`#${name}:not([hidden])`).waitFor();
}

const steps = [
  ["two turns, the second with a question", async (page) => {
    await begin(page);
    await speak(page, "What is in both places?");
    await holds(page, ".sample-note", "Broke off");
    await order("advance 1200");
    await ended(page, 1);
    await speak(page, "Then pay Ann.");
    await page.locator(".card").waitFor();
  }],
];

for (const theme of ["light", "dark"]) {
  steps.push([`${theme}, wide`, async (page) => {
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.locator("#theme").selectOption(theme);
    for (const name of ["talk", "time", "log"]) {
      await view(page, name);
      if (name === "time") await page.locator("#turn-choice").selectOption({ index: 0 });
      if (name === "log") await page.locator(".log-row").nth(3).click();
      await shot(page, `${theme}-wide-${name}`);
      await fits(page, `${theme} ${name}`);
      assert.deepEqual(await axe(page), [], `axe on ${name}, ${theme}`);
    }
    await page.locator("#open-help").click();
    assert.deepEqual(await axe(page), [], `axe on the keys, ${theme}`);
    await page.keyboard.press("Escape");
    await page.locator("#open-new").click();
    await shot(page, `${theme}-wide-new`);
    assert.deepEqual(await axe(page), [], `axe on a new session, ${theme}`);
    await page.keyboard.press("Escape");
  }]);
  steps.push([`${theme}, 320 pixels`, async (page) => {
    await page.setViewportSize({ width: 320, height: 640 });
    for (const name of ["talk", "time", "log"]) {
      await view(page, name);
      await shot(page, `${theme}-narrow-${name}`);
      await fits(page, `${theme} narrow ${name}`);
      assert.deepEqual(await axe(page), [], `axe on ${name}, ${theme}, narrow`);
    }
    await view(page, "talk");
    const allow = page.getByRole("button", { name: "Allow" });
    await allow.scrollIntoViewIfNeeded();
    assert.ok(await allow.isVisible());
    await page.locator("#drawer").click();
    await page.locator(".session-item").first().waitFor();
    await shot(page, `${theme}-narrow-sessions`);
    assert.deepEqual(await axe(page), [], `axe on the list, ${theme}, narrow`);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.id), "drawer");
  }]);
}

steps.push(["the system's own choice of colours is followed", async (page) => {
  await page.locator("#theme").selectOption("auto");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  assert.notEqual(await ground(), dark);
}]);

steps.push(["nothing moves for whoever wants no motion", async (page) => {
  const moving = await page.evaluate(() => document.getAnimations().length);
  assert.equal(moving, 0);
}]);

await scenario(steps);
