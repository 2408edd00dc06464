// Dialogs: the token, a new session, the keys.

import { fresh_key, of, post } from "./api.js";
import { h, id, text } from "./dom.js";
import { ASK_USER } from "./interaction.js";
import { ELSEWHERE, KEYS, set_single_keys, single_keys } from "./keys.js";
import { keep } from "./token.js";

/** Asks for a token; `signed_in` is called once there is one. */
export function ask_token(why, signed_in) {
  const dialog = id("ask-token");
  // What is being typed stays.
  if (dialog.open) return;
  const field = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const form = h("form", { method: "dialog", onsubmit: () => { keep(field.value); field.value = ""; signed_in(); } },
    h("h2", { id: "ask-token-title" }, "Token"),
    h("p", null, why || "The server asks for a token with every request."),
    h("p", { class: "note" }, "windlass serve prints a link that holds one. It is kept in this tab only, and forgotten when the tab is closed."),
    h("label", { for: "token" }, "Token"), field,
    h("div", { class: "row actions" }, h("button", { type: "submit", class: "primary" }, "Use it")));
  dialog.replaceChildren(form);
  dialog.addEventListener("cancel", (event) => event.preventDefault(), { once: true });
  dialog.showModal();
  field.focus();
}

/** Asks what a new session is to be like; `open` is called with its id. */
export function new_session(open) {
  const dialog = id("new");
  const select = (name, options) => h("select", { id: `new-${name}` }, options.map(([value, words]) => h("option", { value }, words)));
  const mode = select("mode", [["", "As the server has it"], ["build", "Build: tools may change things"], ["plan", "Plan: only read-only tools run"]]);
  const permissions = select("permissions", [["", "As the server has it"], ["ask", "Ask before anything is changed"], ["auto", "Run every tool"], ["read_only", "Only read-only tools"]]);
  const model = h("input", { id: "new-model", type: "text", autocomplete: "off", spellcheck: "false", placeholder: "As the server has it" });
  const wrong = h("p", { class: "note bad", role: "alert" });
  const begin = h("button", { type: "submit", class: "primary" }, "Begin");
  let sent = null;
  let key = null;
  const submit = async (event) => {
    event.preventDefault();
    const wish = { client_tools: [ASK_USER] };
    if (mode.value) wish.mode = mode.value;
    if (permissions.value) wish.permissions = permissions.value;
    if (model.value.trim()) wish.model = model.value.trim();
    begin.disabled = true;
    text(wrong, "");
    // The same wish that went unanswered opens one session, however often it is sent.
    const body = JSON.stringify(wish);
    if (body !== sent) key = fresh_key();
    sent = body;
    try {
      const session = await post("/v1/sessions", body, key);
      dialog.close();
      open(session.id);
    } catch (error) {
      text(wrong, error.message);
    } finally {
      begin.disabled = false;
    }
  };
  dialog.replaceChildren(h("form", { onsubmit: submit },
    h("h2", { id: "new-title" }, "New session"),
    h("p", { class: "note" }, "You may ask for less than the server allows, and never for more."),
    h("label", { for: "new-mode" }, "Mode"), mode,
    h("label", { for: "new-permissions" }, "Permissions"), permissions,
    h("label", { for: "new-model" }, "Model"), model, wrong,
    h("div", { class: "row actions" }, begin, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  dialog.showModal();
  begin.focus();
}

/** Asks what a compaction of this session is to keep; `requested` is called once it is on record. */
export function compact(session, requested) {
  const dialog = id("compact");
  const focus = h("input", { id: "compact-focus", type: "text", autocomplete: "off", placeholder: "Nothing in particular" });
  const wrong = h("p", { class: "note bad", role: "alert" });
  const begin = h("button", { type: "submit", class: "primary" }, "Compact it");
  let sent = null;
  let key = null;
  const submit = async (event) => {
    event.preventDefault();
    const words = focus.value.trim();
    begin.disabled = true;
    text(wrong, "");
    // The same request that went unanswered compacts once, however often it is sent.
    if (words !== sent) key = fresh_key();
    sent = words;
    try {
      const { turn } = await post(of(session, "/compact"), words ? { focus: words } : {}, key);
      dialog.close();
      requested(turn);
    } catch (error) {
      text(wrong, error.message);
    } finally {
      begin.disabled = false;
    }
  };
  dialog.replaceChildren(h("form", { onsubmit: submit },
    h("h2", { id: "compact-title" }, "Compact the conversation"),
    h("p", { class: "note" }, "The model is shown a summary in place of the older part. The log stays complete."),
    h("label", { for: "compact-focus" }, "What the summary must keep"), focus, wrong,
    h("div", { class: "row actions" }, begin, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  dialog.showModal();
  focus.focus();
}

/** Tells the keys. */
export function help() {
  const dialog = id("help");
  const on = h("input", { type: "checkbox", id: "single-keys", checked: single_keys(), onchange: () => set_single_keys(on.checked) });
  const rows = (all) => all.map(([key, what]) => h("tr", null, h("td", null, key.split(", ").map((each) => h("kbd", null, each))), h("td", null, what)));
  dialog.replaceChildren(
    h("h2", { id: "help-title" }, "Keys"),
    h("table", { class: "keys" }, h("thead", { class: "unseen" }, h("tr", null, h("th", null, "Key"), h("th", null, "Does"))), h("tbody", null, rows(KEYS), rows(ELSEWHERE))),
    h("p", null, h("label", { class: "choice" }, on, "Keys without a modifier do these things")),
    h("div", { class: "row actions" }, h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}
