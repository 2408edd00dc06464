// What a model tells and asks a person by the tools update_plan and ask_user.

import { h, text } from "./dom.js";
import { exact, visible } from "./visible.js";

/** The tool by which the model asks: the page declares it for the sessions that it opens, since it answers. */
export const ASK_USER = {
  name: "ask_user",
  description: "Asks the user a question and waits for the answer. Use it if the work cannot go on without a decision " +
    "that only the user can make. Offer choices where there are some; the user may answer with other words.",
  parameters: {
    type: "object",
    properties: {
      question: { type: "string", minLength: 1, maxLength: 4000, description: "The question, with what is needed to answer it." },
      choices: {
        type: "array", maxItems: 9, description: "Answers to choose from. Default none.",
        items: { type: "string", minLength: 1, maxLength: 500 },
      },
    },
    required: ["question"],
    additionalProperties: false,
  },
  effect: "read_only",
  timeout_ms: 24 * 60 * 60 * 1000,
};

const SIGNS = { pending: "\u25cb", in_progress: "\u25d0", completed: "\u25cf" };
const WORDS = { pending: "pending", in_progress: "in progress", completed: "completed" };

/** The steps of a call of update_plan; null for another tool, or for arguments of another shape. */
export function plan_of(name, args) {
  const plan = name === "update_plan" ? parsed(args)?.plan : null;
  const is_step = (one) => typeof one?.step === "string" && Object.hasOwn(SIGNS, one.status);
  return Array.isArray(plan) && plan.every(is_step) ? plan : null;
}

/** The question and the choices of a call of ask_user; null as above. */
export function question_of(name, args) {
  const asked = name === "ask_user" ? parsed(args) : null;
  const { question, choices = [] } = asked ?? {};
  const fits = typeof question === "string" && Array.isArray(choices) && choices.every((one) => typeof one === "string");
  return fits ? { question, choices } : null;
}

function parsed(args) {
  try {
    return JSON.parse(args);
  } catch {
    return null;
  }
}

/** A plan as a list. */
export function plan_list(steps) {
  const item = ({ step, status }) =>
    h("li", { "data-status": status },
      h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[status]), visible(step),
      h("span", { class: "unseen" }, ` (${WORDS[status]})`));
  return h("ol", { class: "plan", "aria-label": "Plan" }, steps.map(item));
}

/** The card that asks what the model wants to know. `send` returns the answer to the server. */
export function answer_card(call, { question, choices, by = null }, send) {
  const title = `model-asks-${call.seq}`;
  const status = h("p", { class: "note bad", role: "alert" });
  const own = h("textarea", { id: `${title}-own`, rows: "2" });
  const buttons = [];
  const answer = async (words) => {
    if (words.trim() === "") return own.focus();
    text(status, "");
    buttons.forEach((one) => { one.disabled = true; });
    try {
      await send(words);
    } catch (error) {
      text(status, error.message);
      buttons.forEach((one) => { one.disabled = false; });
    }
  };
  const button = (words, kind, click) => {
    const made = h("button", { type: "button", class: kind, onclick: click }, words);
    buttons.push(made);
    return made;
  };
  const offered = choices.map((choice) => button(visible(choice), "", () => answer(choice)));
  const submit = button("Answer", "primary", () => answer(own.value));
  return h("section", { class: "card", tabindex: "-1", "aria-labelledby": title, "data-asks": call.seq },
    h("h3", { id: title }, by ? ["The tool ", exact(by), " asks"] : "The model asks"),
    h("p", { class: "asked" }, exact(question)),
    offered.length ? h("div", { class: "row actions" }, offered) : null,
    h("form", { class: "answer", onsubmit: (event) => { event.preventDefault(); submit.click(); } },
      h("label", { for: own.id }, offered.length ? "Or in other words" : "Your answer"), own,
      h("div", { class: "row actions" }, submit)),
    status);
}
