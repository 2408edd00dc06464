// A rewind into a turn fades what followed there, and nothing else.

import { assert, begin, ended, scenario, speak } from "./lib.mjs";

const { PAGE_URL, PAGE_TOKEN } = process.env;

/** Sends a request of the session that the page shows. */
async function ask(page, path, body) {
  const session = await page.locator('.session-item[aria-current="page"]').getAttribute("data-session");
  const headers = { authorization: `Bearer ${PAGE_TOKEN}`, "content-type": "application/json" };
  const request = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const answer = await fetch(new URL(`/v1/sessions/${session}${path}`, PAGE_URL), request);
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

/** Texts of the parts of the turns that are faded, or that are not. */
async function parts(page, faded) {
  const all = await page.locator(".turn .entries > *").all();
  const texts = [];
  for (const part of all) {
    const opacity = await part.evaluate((element) => getComputedStyle(element).opacity);
    if ((Number(opacity) < 1) === faded) texts.push(await part.innerText());
  }
  return texts.join("\n");
}

async function rewound(page) {
  const [faded, clear] = [await parts(page, true), await parts(page, false)];
  for (const words of ["Nothing there.", "And there?", "Nothing there either."]) assert.ok(faded.includes(words), `${words}: ${faded}`);
  for (const words of ["Look.", "look"]) assert.ok(clear.includes(words) && !faded.includes(words), `${words}: ${clear}`);
}

await scenario([
  ["a rewind into a turn fades what followed", async (page) => {
    await begin(page);
    await speak(page, "Look.");
    await ended(page, 1);
    await speak(page, "And there?");
    await ended(page, 2);
    assert.equal(await parts(page, true), "");
    const { facts } = await ask(page, "/history");
    const { seq } = facts.find((fact) => fact.kind === "CallObserved");
    await ask(page, "/rewind", { to: seq });
    await page.locator(".remark.rewound").waitFor();
    await rewound(page);
    assert.match(await page.locator(".remark.rewound").innerText(), /does not see what is faded/);
  }],
  ["a reload shows the same", async (page) => {
    await page.reload();
    await page.locator(".remark.rewound").waitFor();
    await rewound(page);
  }],
  ["the session goes on, and nothing of that is faded", async (page) => {
    await speak(page, "Go on.");
    await ended(page, 3);
    await rewound(page);
    const clear = await parts(page, false);
    assert.ok(clear.includes("Go on.") && clear.includes("As you wish."), clear);
  }],
]);
