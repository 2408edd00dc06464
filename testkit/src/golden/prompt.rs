//! What the model may see, as canonical text: also what the core's own digest of a prompt leaves
//! out, which is ids, the provenance of opaque items, and the sizes of outputs.

use windlass_core::{AppendList, History, Opaque, Prompt, PromptItem, program_report_text};

use super::canon::{Lines, sha256};
use super::settings;

/// A whole request.
pub(super) fn text(prompt: &Prompt) -> String {
    let Prompt { settings, items } = prompt;
    let mut lines = Lines::default();
    settings::lines(&mut lines, "settings", settings);
    conversation(&mut lines, items);
    lines.text().to_owned()
}

/// Digest of a conversation.
pub(super) fn digest(history: &History) -> String {
    let mut lines = Lines::default();
    conversation(&mut lines, history.items());
    sha256(&[lines.text().as_bytes()])
}

fn conversation(lines: &mut Lines, items: &AppendList<PromptItem>) {
    for (index, item) in items.iter().enumerate() {
        one(lines, &format!("item.{index}"), item);
    }
}

fn one(lines: &mut Lines, name: &str, item: &PromptItem) {
    let mut put = |what: &str, text: &str| lines.put(&format!("{name}.{what}"), &text);
    match item {
        PromptItem::User { text } => put("user", text),
        PromptItem::Image { image } => lines.put(&format!("{name}.image"), image),
        PromptItem::Context { text } => put("context", text),
        PromptItem::CallReport { calls } => put("told", &calls.text()),
        PromptItem::ProgramReport { observation, .. } => {
            put("context", &program_report_text(observation))
        }
        PromptItem::Text { sample, text, .. } => {
            put("text", text);
            lines.put(&format!("{name}.sample"), sample);
        }
        PromptItem::Refusal { sample, text } => {
            put("refusal", text);
            lines.put(&format!("{name}.sample"), sample);
        }
        PromptItem::Reasoning { sample, item } => {
            put("reasoning", &item.text);
            lines.put(&format!("{name}.sample"), sample);
            opaque(lines, name, item.opaque.as_ref());
        }
        PromptItem::Call { sample, id, call } => {
            put("call", &call.name);
            put("id", id);
            put("provider_id", &call.provider_id);
            put("arguments", &call.arguments);
            lines.put(&format!("{name}.sample"), sample);
            lines.maybe(&format!("{name}.fault"), call.fault.as_ref());
            opaque(lines, name, call.opaque.as_ref());
        }
        PromptItem::Result { id, observation, edited } => {
            put("result", &windlass_core::result_text(observation, edited.as_deref()));
            put("id", id);
            lines.put(&format!("{name}.observation"), observation);
            lines.maybe(&format!("{name}.edited"), edited.as_ref());
        }
    }
}

fn opaque(lines: &mut Lines, name: &str, opaque: Option<&Opaque>) {
    lines.maybe(&format!("{name}.opaque"), opaque);
}
