// The meters: tokens, money and the model's window, of the turn that runs and of the whole session.

import { children, h, svg } from "./dom.js";
import { count, duration, money } from "./format.js";
import { add_usage, tokens } from "./fold.js";

/** Draws the meters of a view into a list of terms. */
export function draw_meters(list, view, now) {
  const open = view.open === null ? null : view.turns.get(view.open);
  const usage = { ...view.spent.usage };
  if (open) add_usage(usage, open.usage);
  const cost = view.spent.cost_micros + (open?.cost_micros ?? 0);
  const turns = view.spent.turns + (open ? 1 : 0);
  const ms = view.spent.ms + (open ? Math.max(0, now - open.ts) : 0);
  const cached = usage.input ? Math.round((100 * (usage.cached_input ?? 0)) / usage.input) : null;
  const told = [
    meter("Turns", count(turns)),
    meter("Samples", count(view.spent.samples + (open?.samples ?? 0))),
    meter("Calls", count(view.spent.calls + (open?.calls ?? 0))),
    meter("Tokens in", count(usage.input), usage.cached_input ? `${cached} % cached` : ""),
    meter("Tokens out", count(usage.output), usage.reasoning_output ? `${count(usage.reasoning_output)} reasoning` : ""),
    meter("Cost", priced(view, usage, cost)),
    window_meter(view),
    limit_meter(view, open),
    meter("Time in turns", duration(ms)),
  ];
  children(list, told.filter(Boolean));
}

function priced(view, usage, cost) {
  if (!view.settings?.price && !cost) return "no price set";
  return tokens(usage) || cost ? money(cost) : "n/a";
}

function meter(name, value, more = "", bar = null) {
  return h("div", { class: "meter" }, h("dt", null, name), h("dd", null, h("span", { class: "value" }, value), more && h("span", { class: "more" }, more), bar));
}

/** How full the model's window was when it was last asked. */
function window_meter(view) {
  const most = view.settings?.window?.tokens;
  if (!most) return null;
  const last = [...view.samples.values()].findLast((sample) => sample.usage);
  if (!last) return meter("Window", "n/a", `of ${count(most)}`);
  const used = tokens(last.usage);
  return meter("Window", `${Math.round((100 * used) / most)} %`, `of ${count(most)}`, bar(used, most));
}

/** How much of the turn's own budget is gone. */
function limit_meter(view, open) {
  const turn = open ?? view.blocks.findLast((block) => block.id !== null);
  const limits = turn?.limits;
  if (!limits) return null;
  if (limits.cost_micros) return meter("Budget", money(turn.cost_micros), `of ${money(limits.cost_micros)}`, bar(turn.cost_micros, limits.cost_micros));
  if (limits.tokens) return meter("Budget", count(tokens(turn.usage)), `of ${count(limits.tokens)}`, bar(tokens(turn.usage), limits.tokens));
  return null;
}

function bar(used, most) {
  const share = Math.min(100, (100 * used) / most);
  return svg("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar-rest", width: 100, height: 4 }), svg("rect", { class: share > 85 ? "bar-full" : "bar-used", width: share, height: 4 }));
}
