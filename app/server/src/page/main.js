// The page: which session is open, what it is drawn from, and what the buttons do.

import { fetched, fresh_key, get, of, post } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { ask_token, compact, help, new_session } from "./dialogs.js";
import { children, h, id, text } from "./dom.js";
import { forget, fresh, live, take } from "./fold.js";
import { counted, duration, first, state, words } from "./format.js";
import { listen, single_keys, tabs } from "./keys.js";
import { LogView } from "./log_view.js";
import { draw_meters } from "./meters.js";
import { SessionList } from "./sessions.js";
import { follow } from "./stream.js";
import { colours } from "./theme.js";
import { TimelineView } from "./timeline_view.js";
import { arrive, drop, kept } from "./token.js";
import { visible } from "./visible.js";

/** The session that is open: `{id, view, stream, info, heard}`, or null. */
let open = null;
let tab = "talk";
let drawing = false;
let settled_for = null;
/** Whoever began a session goes on by speaking to it. */
let speak_next = false;

const context = {
  session: () => open?.id,
  current: () => open?.id ?? null,
  view: () => open?.view ?? fresh(),
  signed_in: () => kept() !== null,
  /** The server refused a token; what it says of one that is not used any more is old. */
  signed_out: (token) => {
    if (token === kept()) sign_in("The server does not accept this token.");
  },
  single_keys,
  now,
  problem,
  say,
  open: go_to,
  listed,
  posture: (call) => {
    const settings = call.block.settings ?? open?.view.settings;
    return settings ? `Mode ${words(settings.mode)}, permissions ${words(settings.permissions)}.` : "";
  },
  answer: async (call, body) => {
    const path = of(open.id, `/approvals/${call.seq}`);
    await fetched(path, { method: "POST", headers: { "content-type": "application/json" }, body });
    id("talk").focus();
  },
  /** Returns the answer to a question of the model. */
  submit: async (call, output) => {
    const path = of(open.id, `/client-calls/${call.seq}`);
    const body = JSON.stringify({ output });
    await fetched(path, { method: "POST", headers: { "content-type": "application/json" }, body });
    id("talk").focus();
  },
  /** The lines that show an open question, as the server lays them out; null if it is over. */
  question: async (call, at) => {
    const found = await get(of(open.id, "/approvals"));
    return found.approvals.find((one) => one.call === call.seq && one.asked === at) ?? null;
  },
  fork,
  timeline: (turn) => { timeline.choose(turn); choose("time"); id("time").focus(); },
};

const conversation = new Conversation(id("talk"), context);
const timeline = new TimelineView(id("time"), context);
const log = new LogView(id("log"), context);
const composer = new Composer(context);
const list = new SessionList(context);

/** The server's time, as far as its events tell: clocks need not agree. */
function now() {
  const heard = open?.heard;
  return heard ? heard.ts + (performance.now() - heard.at) : Date.now();
}

function go_to(session, view = tab) {
  const target = `#/s/${encodeURIComponent(session)}${view === "talk" ? "" : `/${view}`}`;
  if (location.hash === target) return route();
  location.hash = target;
}

function route() {
  const [, session, view] = /^#\/s\/([^/]+)(?:\/(\w+))?$/.exec(location.hash) ?? [];
  const wanted = session ? decodeURIComponent(session) : null;
  if (wanted !== (open?.id ?? null)) begin(wanted);
  choose(["talk", "time", "log"].includes(view) ? view : "talk", false);
  document.body.dataset.drawer = "false";
  id("drawer").setAttribute("aria-expanded", "false");
}

/** Opens a session, or none. */
function begin(session) {
  open?.stream.stop();
  conversation.clear();
  timeline.clear();
  log.clear();
  composer.clear();
  id("told").replaceChildren();
  alert_is("");
  open = session === null ? null : { id: session, view: fresh(), info: null, heard: null, caught_up: false };
  id("welcome").hidden = open !== null;
  id("session").hidden = open === null;
  list.draw();
  if (open === null) return;
  if (speak_next) id("words").focus();
  speak_next = false;
  settled_for = null;
  const own = open;
  open.stream = follow(session, {
    cursor: () => own.view.last,
    begin: () => forget(own.view),
    event: (event) => { if (own === open) heard(own, event); },
    state: (name, detail) => { if (own === open) link(name, detail); },
  });
  get(of(session)).then((info) => { own.info = info; draw(); }, () => {});
  draw();
}

function heard(own, { event, data }) {
  const envelope = JSON.parse(data);
  if (event === "fact") {
    if (!take(own.view, envelope, data)) return;
    if (["TurnOpened", "TurnSettled", "ApprovalAsked", "ApprovalAnswered", "InterruptRequested"].includes(envelope.kind)) settled_soon(own);
  } else if (event === "live") {
    live(own.view, envelope);
  } else if (event === "store") {
    link(envelope.status === "works" ? "live" : "store", envelope);
    return;
  } else {
    return;
  }
  own.heard = { ts: Math.max(envelope.ts, own.heard?.ts ?? 0), at: performance.now() };
  draw();
}

/** The session's own state, and the list, are asked for again soon after something ended. */
function settled_soon(own) {
  clearTimeout(settled_for);
  settled_for = setTimeout(async () => {
    list.look();
    try {
      own.info = await get(of(own.id));
      draw();
    } catch {
      // The list says that the server does not answer.
    }
  }, 150);
}

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (open) draw_session(open);
  });
}

function draw_session({ id: session, view, info }) {
  const spoken = view.title ?? [...view.inputs.values()][0]?.text ?? info?.title ?? "";
  const title = visible(first(spoken, 120)) || "New session";
  text(id("title"), title);
  document.title = `${title} \u00b7 Windlass`;
  const name = view.questions.size ? "asking" : view.open !== null ? "running" : info?.state === "damaged" ? "damaged" : "idle";
  const last = view.blocks.findLast((block) => block.settled);
  const failed = name === "idle" && last?.settled.outcome === "failed";
  const stands = state(name, failed);
  id("state").dataset.tone = stands.tone;
  text(id("state"), `${stands.sign} ${stands.words}`);
  draw_chips(session, view);
  draw_meters(id("meters"), view, now());
  composer.draw(view, info?.held ?? false);
  draw_pending(view);
  if (tab === "talk") {
    conversation.draw(view);
    conversation.stay();
    newest();
  }
  if (tab === "time") timeline.draw(view, now());
  if (tab === "log") log.draw(view);
  tell(view);
}

function draw_chips(session, view) {
  const { settings, opened } = view;
  const chips = [];
  if (settings) chips.push(`${settings.provider} / ${settings.model}`, `mode ${words(settings.mode)}`, `permissions ${words(settings.permissions)}`);
  if (opened?.lineage.from === "fork") chips.push(`fork of ${opened.lineage.of} at ${opened.lineage.at}`);
  if (opened?.lineage.from === "child") chips.push(`child of ${opened.lineage.of}`);
  if (view.goal && !view.goal.end) chips.push(`goal: ${first(view.goal.text, 60)}`);
  chips.push(session);
  const line = chips.join("\n");
  if (id("chips").dataset.line === line) return;
  id("chips").dataset.line = line;
  children(id("chips"), chips.map((chip) => h("span", { class: "chip" }, visible(chip))));
}

function draw_pending(view) {
  const { size } = view.questions;
  const pending = id("pending");
  pending.hidden = size === 0;
  if (pending.dataset.size === String(size)) return;
  pending.dataset.size = String(size);
  children(pending, size ? [h("button", { type: "button", class: "ask", onclick: question }, counted(size, "question"))] : []);
}

/** Reads out what ended and what is asked, and not what still streams or was there before. */
function tell(view) {
  const told = view.told.splice(0);
  const told_to = id("told");
  const old = !open.caught_up;
  open.caught_up ||= view.last > 0 && view.last >= (open.info?.last ?? Infinity);
  if (old) return;
  for (const line of told.slice(-5)) told_to.append(h("p", null, visible(line)));
  while (told_to.childNodes.length > 20) told_to.firstChild.remove();
}

function newest() {
  id("newest").hidden = tab !== "talk" || conversation.below() < 200;
}

function choose(name, navigate = true) {
  tab = name;
  for (const each of ["talk", "time", "log"]) {
    const button = id(`tab-${each}`);
    button.setAttribute("aria-selected", String(each === name));
    button.tabIndex = each === name ? 0 : -1;
    id(each).hidden = each !== name;
  }
  if (navigate && open) go_to(open.id, name);
  newest();
  draw();
}

function link(name, detail) {
  const shown = { connecting: "connecting\u2026", live: "live", ended: "ended" }[name];
  const why = { unauthorized: "the token is no longer valid", no_session: "there is no such session", erased: "the session was erased", damaged: "its log is damaged: the operator can repair it" };
  id("link").dataset.state = name;
  id("retry").hidden = name !== "waiting";
  if (name === "waiting") text(id("link"), `not connected: ${detail.why}; tries again in ${duration(detail.ms)}`);
  else if (name === "store") text(id("link"), `live, but the store failed (${words(detail.reason)}): turns continue once it works again`);
  else text(id("link"), name === "ended" ? `ended: ${why[detail] ?? words(detail)}` : shown);
  if (name === "ended" && detail === "unauthorized") context.signed_out(kept());
}

async function fork(at, button) {
  const from = open.id;
  button.disabled = true;
  button.dataset.key ??= fresh_key();
  try {
    const session = await post(of(from, "/forks"), { at }, button.dataset.key);
    say(`Forked at ${at}: the new session is open.`);
    list.look();
    go_to(session.id, "talk");
  } catch (error) {
    problem(error);
  } finally {
    button.disabled = false;
  }
}

function question() {
  choose("talk");
  requestAnimationFrame(() => {
    const cards = [...document.querySelectorAll("[data-question]")];
    const at = cards.findIndex((card) => card.contains(document.activeElement));
    const card = cards[(at + 1) % cards.length];
    card?.scrollIntoView({ block: "center" });
    card?.focus({ preventScroll: true });
  });
}

function say(line) {
  id("told").append(h("p", null, line));
}

let alert_timer = 0;

function problem(error) {
  // A refusal of a token that is not used any more is one of this request alone.
  if (error.status === 401 && error.token === kept()) return context.signed_out(error.token);
  const retry = error.retry ? ` Try again in ${counted(error.retry, "second")}.` : "";
  alert_is(`${error.message}${retry}`);
}

function alert_is(line) {
  clearTimeout(alert_timer);
  id("alert").hidden = line === "";
  if (line === "") return;
  const close = h("button", { type: "button", class: "small", onclick: () => alert_is("") }, "Close");
  id("alert").replaceChildren(h("span", null, visible(line)), close);
  alert_timer = setTimeout(() => alert_is(""), 20_000);
}

function listed(found) {
  const info = found.find((session) => session.id === open?.id);
  if (info && open) open.info = { ...open.info, ...info };
}

function sign_in(why) {
  drop();
  open?.stream.stop();
  ask_token(why, () => {
    const was = open?.id ?? null;
    const unsent = composer.unsent();
    open = null;
    begin(was);
    composer.restore(unsent);
    list.look();
  });
}

function sign_on() {
  colours(id("theme"));
  const there = arrive();
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=") && arrive()) list.look();
    route();
  });
  id("retry").addEventListener("click", () => open?.stream.retry());
  addEventListener("online", () => open?.stream.retry());
  id("talk").addEventListener("scroll", newest);
  id("newest").addEventListener("click", () => conversation.newest());
  id("skip").addEventListener("click", () => id("main").focus());
  id("open-help").addEventListener("click", help);
  id("open-compact").addEventListener("click", begin_compaction);
  for (const name of ["open-new", "welcome-new"]) id(name).addEventListener("click", begin_new);
  id("drawer").addEventListener("click", () => {
    const shown = document.body.dataset.drawer !== "true";
    document.body.dataset.drawer = String(shown);
    id("drawer").setAttribute("aria-expanded", String(shown));
    if (shown) id("session-list").querySelector('button[tabindex="0"]')?.focus();
  });
  id("sessions").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.body.dataset.drawer !== "true") return;
    id("drawer").click();
    id("drawer").focus();
  });
  for (const name of ["talk", "time", "log"]) id(`tab-${name}`).addEventListener("click", () => choose(name));
  tabs(document.querySelector('[role="tablist"]'), choose);
  setInterval(() => { if (open?.view.open !== null && !document.hidden) draw(); }, 500);
  listen({
    compose: () => id("words").focus(),
    new: begin_new,
    next: () => list.step(1),
    previous: () => list.step(-1),
    sessions: () => {
      if (getComputedStyle(id("drawer")).display !== "none") id("drawer").click();
      else id("session-list").querySelector('button[tabindex="0"]')?.focus();
    },
    talk: () => open && choose("talk"),
    time: () => open && choose("time"),
    log: () => open && choose("log"),
    search: () => { if (open) { choose("log"); log.search(); } },
    question,
    newest: () => id("newest").click(),
    stop: () => { if (open && open.view.open !== null) composer.stop("after_step"); },
    help,
  });
  if (!there) sign_in("");
  route();
  list.look();
}

function begin_compaction() {
  compact(open.id, (turn) => say(turn === null ? "The conversation is compacted after this turn." : "The conversation is being compacted."));
}

function begin_new() {
  new_session((session) => {
    list.look();
    speak_next = true;
    go_to(session, "talk");
  });
}

sign_on();
