// A tool call: what runs, how it goes, what came out; and the card that asks a person about it.

import { fetched, get_text, of } from "./api.js";
import { children, h, text } from "./dom.js";
import { bytes, clock, count, duration, first, who, words } from "./format.js";
import { answer_card, plan_list, plan_of, question_of } from "./interaction.js";
import { fault, laid_out } from "./json.js";
import { exact, hides, visible } from "./visible.js";

/** Outputs longer than this are shown in part until they are asked for, in characters. */
const LONG = 4000;

/** The most of a kept output that is shown, in bytes. */
const SHOWN = 1024 * 1024;

/** How a call stands: a sign, words, a class of colour. */
export function standing(call) {
  const { observed, asked, answered, decided, runs, block } = call;
  if (observed) {
    if (observed.status === "done") return { sign: "\u2713", words: "done", tone: "good" };
    const tone = observed.status === "failed" || observed.status === "unknown" ? "bad" : "ask";
    return { sign: tone === "bad" ? "\u2717" : "\u2013", words: words(observed.status), tone };
  }
  if (block.settled) return { sign: "\u2013", words: "not started", tone: "idle" };
  if (asked && !answered) return { sign: "?", words: "waiting for approval", tone: "ask" };
  if (asks_person(call)) return { sign: "?", words: "waiting for your answer", tone: "ask" };
  if (runs.at(-1)?.client) return { sign: "\u2026", words: "waiting for its client", tone: "ask" };
  if (runs.length) return { sign: "\u25b6", words: runs.at(-1).asks ? "asking what became of it" : "running", tone: "run" };
  if (decided?.verdict === "deny") return { sign: "\u2013", words: "denied", tone: "ask" };
  return { sign: "\u00b7", words: "about to run", tone: "run" };
}

/** What the model, or the tool of a suspended call, asks a person who has not answered; null if nothing is asked. */
export function asks_person(call) {
  const { question, observed, block } = call;
  if (question && !observed && !block.settled) {
    return { choices: [], ...question, by: call.item.name };
  }
  const waits = call.runs.at(-1)?.client && !call.observed && !call.block.settled;
  return waits ? question_of(call.item.name, runs_with(call)) : null;
}

/** The arguments that a call runs with: the model's own, or what took their place. */
export function runs_with(call) {
  return call.edits.at(-1)?.text ?? call.item.arguments;
}

/** The element of a call, and how it is brought up to date. */
export function call_part(call, context) {
  const sign = h("span", { class: "sign", "aria-hidden": "true" });
  const name = h("strong", { class: "call-name" }, exact(call.item.name));
  const brief = h("span", { class: "brief" });
  const state = h("span", { class: "call-state" });
  const took = h("span", { class: "took" });
  const body = h("div", { class: "call-body" });
  const summary = h("summary", null, sign, name, brief, state, took);
  const details = h("details", { class: "call", "data-call": call.seq }, summary, body);
  const progress = h("pre", { class: "progress", "aria-label": "Progress", tabindex: "0" });
  const card = h("div", { class: "card-place" });
  const element = h("div", { class: "call-part" }, details, progress, card);
  let drawn = -1;
  let question = null;
  const fill = () => {
    if (details.open) children(body, call_body(call, context));
  };
  details.addEventListener("toggle", fill);
  const update = () => {
    if (drawn === call.rev) return;
    drawn = call.rev;
    const stands = standing(call);
    element.dataset.tone = stands.tone;
    text(sign, stands.sign);
    text(brief, first(exact(runs_with(call)), 160));
    text(state, stands.words);
    const ran = call.runs.at(-1);
    text(took, ran && call.observed ? duration(call.observed.ts - ran.ts) : "");
    progress.hidden = call.progress.length === 0;
    text(progress, visible(call.progress.slice(-8).join("\n")));
    fill();
    const part = person_part(call, context);
    if (part.key !== question) {
      question = part.key;
      children(card, [part.make?.()]);
    }
  };
  return { element, update };
}

/** What a call shows a person without being opened: a question, or a plan. It is made once a key. */
function person_part(call, context) {
  const { asked, answered, observed, block, item } = call;
  if (asked && !answered && !observed && !block.settled) {
    return { key: `approval ${asked.seq}`, make: () => question_card(call, context) };
  }
  const asks = asks_person(call);
  if (asks) return { key: `asks ${asks.question}`, make: () => answer_card(call, asks, (words) => context.submit(call, words)) };
  const plan = observed?.status === "done" ? plan_of(item.name, runs_with(call)) : null;
  return plan ? { key: "plan", make: () => plan_list(plan) } : { key: null };
}

function call_body(call, context) {
  const { item, observed } = call;
  const parts = [];
  const changed = call.edits.length > 0;
  parts.push(h("h4", null, changed ? "Arguments it runs with" : "Arguments"), code(exact(laid_out(runs_with(call))), "Arguments"));
  if (changed) {
    const by = call.edits.map((edit) => edit.by).join(", then ");
    parts.push(h("p", { class: "note" }, `Changed by ${visible(by)}. The model asked for:`), code(exact(laid_out(item.arguments)), "The model's arguments"));
  }
  if (item.fault) parts.push(h("p", { class: "note bad" }, `The arguments do not fit: ${visible(item.fault)}`));
  const story = story_of(call);
  if (story) parts.push(h("p", { class: "note" }, story));
  if (observed) parts.push(h("h4", null, `Output, ${bytes(observed.output_bytes)}`), ...output(call, context));
  return parts;
}

function story_of({ decided, answered, runs }) {
  const told = [];
  if (decided) told.push(`${decided.by}: ${decided.verdict} (${decided.reason})`);
  if (answered) {
    const why = answered.reason ? ` (${answered.reason})` : "";
    told.push(`${who(answered.by)}: ${answered.verdict}${why}`);
  }
  for (const run of runs) told.push(`${run.plan ? "planned" : run.asks ? "asked about" : "run"} ${run.attempt} at ${clock(run.ts)}`);
  return visible(told.join(" \u00b7 "));
}

function output(call, context) {
  const { observed } = call;
  const exited = Number.isInteger(observed.exit_code) ? [h("p", { class: "note" }, `Exit code ${observed.exit_code}.`)] : [];
  if (observed.output === "") return [...exited, h("p", { class: "note" }, "Nothing.")];
  const whole = visible(observed.output);
  const long = whole.length > LONG;
  const shown = code(long ? whole.slice(0, LONG) : whole, "Output");
  const parts = [...exited, shown];
  if (long) {
    const more = h("button", { type: "button", class: "small", onclick: () => { text(shown, whole); more.remove(); } },
      `Show all ${count(whole.length)} characters`);
    parts.push(more);
  }
  if (observed.omitted_bytes > 0) parts.push(h("p", { class: "note" }, `${bytes(observed.omitted_bytes)} are left out of what the model saw.`));
  if (observed.stored_output) parts.push(kept(call, context, shown));
  return parts;
}

/** An output that is kept beside the log: shown as far as a page can, or saved as a file. */
function kept(call, context, shown) {
  const path = of(context.session(), `/calls/${call.seq}/output`);
  const note = h("span", { class: "note", role: "status" });
  const show = async () => {
    try {
      const { text: words, whole } = await get_text(path, SHOWN);
      text(shown, visible(words));
      text(note, whole ? "" : `The first ${bytes(SHOWN)} are shown.`);
    } catch (error) {
      context.problem(error);
    }
  };
  const save = async () => {
    try {
      const response = await fetched(path, {});
      const url = URL.createObjectURL(await response.blob());
      const anchor = h("a", { href: url, download: `call-${call.seq}.txt` });
      anchor.click();
      URL.revokeObjectURL(url);
    } catch (error) {
      context.problem(error);
    }
  };
  return h("p", { class: "row" },
    h("button", { type: "button", class: "small", onclick: show }, `Show the stored output, ${bytes(call.observed.stored_output.bytes)}`),
    h("button", { type: "button", class: "small", onclick: save }, "Save it"), note);
}

/** A block of code that scrolls within itself. */
export function code(words, label) {
  return h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, words);
}

/** The card that asks about a call. */
function question_card(call, context) {
  const { item, asked } = call;
  const raw = runs_with(call);
  const title = `question-${asked.seq}`;
  const pretty = code(exact(laid_out(raw)), "Arguments, laid out");
  // The server's view counts blanks and what it leaves out; the one of this page shows until it is there.
  const shown_by_server = async () => {
    const found = await context.question(call, asked.seq);
    if (!found) return;
    text(pretty, visible(found.view.join("\n")));
    if (!found.grant) return;
    text(granted, visible(`For longer: ${found.grant}`));
    for (const part of [granted, granting]) part.hidden = false;
  };
  shown_by_server().catch(() => {});
  const granted = h("p", { class: "note", hidden: true });
  const status = h("p", { class: "note bad", role: "alert" });
  const reason = h("input", { type: "text", id: `${title}-reason`, maxlength: "4000", autocomplete: "off" });
  const edited = h("textarea", { id: `${title}-edit`, rows: "8", spellcheck: "false", "aria-describedby": `${title}-fault` });
  const wrong = h("p", { class: "note bad", id: `${title}-fault`, role: "status" });
  const buttons = [];
  const send = async (body) => {
    text(status, "");
    buttons.forEach((button) => { button.disabled = true; });
    try {
      await context.answer(call, body);
    } catch (error) {
      text(status, error.message);
      buttons.forEach((button) => { button.disabled = false; });
      check();
    }
  };
  const digest = JSON.stringify(asked.digest);
  const allow = button("Allow", "primary", "a", () => send(`{"decision":"allow","digest":${digest}}`));
  const remember = (lifetime) => send(`{"decision":"allow","digest":${digest},"remember":"${lifetime}"}`);
  const for_session = button("Allow for the session", "", null, () => remember("session"));
  const for_good = button("Always allow", "", null, () => remember("always"));
  const deny = button("Deny\u2026", "danger", "d", () => step(denying, reason));
  const edit = button("Edit\u2026", "", "e", () => {
    edited.value = laid_out(raw);
    check();
    step(editing, edited);
  });
  const check = () => {
    const found = fault(edited.value);
    text(wrong, found ?? "");
    edited.setAttribute("aria-invalid", String(found !== null));
    allow_edited.disabled = found !== null;
    return found === null;
  };
  edited.addEventListener("input", check);
  const allow_edited = button("Allow with these arguments", "primary", null, () => {
    if (check()) send(`{"decision":"allow","digest":${digest},"arguments":${edited.value}}`);
  });
  const say_no = button("Deny", "danger", null, () => {
    send(JSON.stringify({ decision: "deny", digest: asked.digest, reason: reason.value.trim() || undefined }));
  });
  const back = () => { step(deciding, allow); };
  buttons.push(allow, for_session, for_good, deny, edit, allow_edited, say_no);
  const granting = h("span", { hidden: true }, for_session, for_good);
  const deciding = h("div", { class: "row actions" }, allow, granting, edit, deny);
  const denying = h("form", { class: "answer", hidden: true, onsubmit: (event) => { event.preventDefault(); say_no.click(); } },
    h("label", { for: reason.id }, "Why not? The model is told."), reason,
    h("div", { class: "row actions" }, say_no, button("Back", "", null, back)));
  const editing = h("form", { class: "answer", hidden: true, onsubmit: (event) => event.preventDefault() },
    h("label", { for: edited.id }, "Arguments it is to run with instead, a JSON object"), edited, wrong,
    h("div", { class: "row actions" }, allow_edited, button("Back", "", null, back)));
  const step = (shown, focus) => {
    for (const part of [deciding, denying, editing]) part.hidden = part !== shown;
    focus.focus();
  };
  const card = h("section", { class: "card", tabindex: "-1", "aria-labelledby": title, "data-question": call.seq },
    h("h3", { id: title }, "Allow ", h("code", null, exact(item.name)), " to run?"),
    h("p", { class: "note" }, context.posture(call), asked.deadline ? ` Without an answer by ${new Date(asked.deadline).toLocaleString()} it is denied.` : ""),
    pretty,
    hides(raw) ? h("p", { class: "note bad" }, "The arguments hold characters that do not show or that turn text round: they are spelled out.") : null,
    h("details", { class: "raw" }, h("summary", null, `The exact text, ${count(raw.length)} characters`), code(exact(raw), "The exact arguments")),
    granted, deciding, denying, editing, status);
  card.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && deciding.hidden) {
      event.stopPropagation();
      back();
      return;
    }
    if (event.target.matches("input, textarea") || event.ctrlKey || event.altKey || event.metaKey || deciding.hidden) return;
    const found = { a: allow, d: deny, e: edit }[event.key];
    if (!found || !context.single_keys()) return;
    event.preventDefault();
    event.stopPropagation();
    found.click();
  });
  return card;
}

function button(words, kind, key, click) {
  return h("button", { type: "button", class: kind, "aria-keyshortcuts": key, onclick: click }, words, key && h("kbd", null, key));
}
