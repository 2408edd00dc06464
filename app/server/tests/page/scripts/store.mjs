// A store that fails for a while, and works again.

import { begin, ended, holds, order, reads, scenario, shot, speak } from "./lib.mjs";

await scenario([
  ["a store that fails is told", async (page) => {
    await begin(page);
    await speak(page, "Tell me.");
    await order("reached works");
    await holds(page, "#link", "the store failed");
    await holds(page, "#link", "turns continue once it works again");
    await shot(page, "store-failed");
  }],
  ["so is that it works again, and the turn settles", async (page) => {
    await order("open works");
    await ended(page, 1);
    await reads(page, "#link", "live");
    await holds(page, ".outcome", "completed");
  }],
]);
