//! Fingerprints of the conversation's parts, as shown to the model.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use crate::call::Observation;
use crate::compaction::{ItemFingerprint, VisiblePart};
use crate::digest::Digest;
use crate::image::Image;
use crate::item::Item;
use crate::program::CallOutcome;
use crate::render::{PromptItem, exit_line, program_report_text};

fn fingerprint(kind: &[u8], texts: &[&str]) -> ItemFingerprint {
    let digest = Digest::EMPTY.part(kind);
    let mut part = ItemFingerprint { digest, bytes: 0 };
    for text in texts {
        part.digest = part.digest.part(text.as_bytes());
        part.bytes = part.bytes.saturating_add(text.len() as u64);
    }
    part
}

/// Returns the fingerprint of a user's text.
pub(crate) fn user(text: &str) -> ItemFingerprint {
    fingerprint(b"user", &[text])
}

/// Name of the workspace's context.
pub(crate) const WORKSPACE: &str = "workspace";
/// Name of the context that describes the permissions of calls.
pub(crate) const PERMISSIONS: &str = "permissions";
/// Name of the goal's context.
pub(crate) const GOAL: &str = "goal";

/// Name of the context that reports an invalid output.
pub(crate) const INVALID_OUTPUT: &str = "answer shape";

/// Name of the context that reports an empty answer.
pub(crate) const EMPTY_ANSWER: &str = "empty answer";

/// Name of the context that says by whom a turn was interrupted.
pub(crate) const INTERRUPT: &str = "interrupt";

/// Name of the context that says that the conversation was rewound.
pub(crate) const REWIND: &str = "rewind";

/// Name of the context that says that files were restored.
pub(crate) const UNDO: &str = "undo";

/// Name of the context that announces the last sample for work.
pub(crate) const LAST_SAMPLE: &str = "last sample";
/// Name of the context that reports the result of a program.
pub(crate) const PROGRAM: &str = "program";

/// Name of the frame with the result of a user's command.
pub(crate) const COMMAND: &str = "command";

/// Beginning of the name of a presenter's context.
pub(crate) const PRESENTER: &str = "presenter ";

/// Returns the name of a presenter's context. It never equals one of the engine's names.
pub(crate) fn presenter_name(from: &str) -> String {
    format!("{PRESENTER}{from}")
}

/// Returns the name of a hook's context.
pub(crate) fn hook_name(name: &str) -> String {
    format!("hook {name}")
}

/// Returns the fingerprint of framed context.
pub(crate) fn framed(text: &str) -> ItemFingerprint {
    fingerprint(b"context", &[text])
}

/// Frames a text. The text cannot close its own frame.
pub(crate) fn frame(from: &str, text: &str) -> String {
    let from: String = from
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '"' | '<' | '>' | '&'))
        .take(120)
        .collect();
    let mut kept = String::with_capacity(text.len());
    for (at, piece) in text.split('<').enumerate() {
        if at > 0 {
            kept.push('<');
        }
        if at > 0 && names_frame(piece) {
            kept.push('\\');
        }
        kept.push_str(piece);
    }
    format!("<context from=\"{from}\">\n{kept}\n</context>")
}

/// Returns true if a lenient reader could take a tag with this text for the frame's own.
fn names_frame(tag: &str) -> bool {
    let name = tag.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    let name = name.get(..FRAME.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(FRAME))
}

const FRAME: &str = "context";

/// Bytes of text that an image counts as: about what providers count for a large one.
pub(crate) const IMAGE_BYTES: u64 = 6_400;

/// Returns the fingerprint of an image.
pub(crate) fn image(image: &Image) -> ItemFingerprint {
    let mut shown = fingerprint(b"image", &[image.media.as_str(), &image.sha256]);
    shown.bytes = IMAGE_BYTES;
    shown
}

/// Returns the fingerprint of an item of an answer.
pub(crate) fn item(item: &Item) -> ItemFingerprint {
    match item {
        Item::Text { text, opaque: None, .. } => fingerprint(b"text", &[text]),
        Item::Text { text, opaque: Some(opaque), .. } => {
            fingerprint(b"cited text", &[text, &opaque.payload])
        }
        Item::Refusal { text } => fingerprint(b"refusal", &[text]),
        Item::Reasoning(item) => {
            let opaque = item.opaque.as_ref().map_or("", |opaque| opaque.payload.as_str());
            fingerprint(b"reasoning", &[&item.text, opaque])
        }
        Item::Call(call) => fingerprint(b"call", &[&call.name, &call.arguments]),
    }
}

/// Returns the fingerprint of edited arguments.
pub(crate) fn edited(text: &str) -> ItemFingerprint {
    fingerprint(b"edited", &[text])
}

/// Returns the fingerprint of an observation, with the call's arguments if they were edited.
pub(crate) fn observation(
    observation: &Observation,
    edited: Option<ItemFingerprint>,
) -> ItemFingerprint {
    let mut result = match exit_line(observation) {
        None => fingerprint(b"result", &[&observation.output]),
        Some(line) => fingerprint(b"result", &[&line, &observation.output]),
    };
    for shown in observation.images.iter().map(image).chain(edited) {
        result.digest = result.digest.digest(shown.digest);
        result.bytes = result.bytes.saturating_add(shown.bytes);
    }
    result
}

/// Returns the fingerprint of a program's call, as named to the model.
pub(crate) fn reported_call(line: &str) -> ItemFingerprint {
    fingerprint(b"told", &[line])
}

/// Returns the fingerprint of the report on a program's calls.
pub(crate) fn call_report(
    calls: impl Iterator<Item = (ItemFingerprint, CallOutcome)>,
    more: u32,
) -> ItemFingerprint {
    calls.fold(fingerprint(b"calls", &[&format!("{more}")]), |told, (call, fate)| ItemFingerprint {
        digest: told.digest.digest(call.digest).part(fate.name().as_bytes()),
        bytes: told.bytes.saturating_add(call.bytes),
    })
}

/// Returns the fingerprint of a prompt item. It equals that of the facts which the item comes from.
pub(crate) fn prompt_item(shown: &PromptItem) -> ItemFingerprint {
    match shown {
        PromptItem::User { text } => user(text),
        PromptItem::Image { image } => self::image(image),
        PromptItem::Context { text } => framed(text),
        PromptItem::Text { text, opaque, .. } => item(&Item::Text {
            text: text.clone(),
            citations: Arc::default(),
            opaque: opaque.clone(),
        }),
        PromptItem::Refusal { text, .. } => item(&Item::Refusal { text: text.clone() }),
        PromptItem::Reasoning { item: inner, .. } => item(&Item::Reasoning(inner.clone())),
        PromptItem::Call { call, .. } => item(&Item::Call(call.clone())),
        PromptItem::Result { observation: inner, edited: changed, .. } => {
            observation(inner, changed.as_deref().map(edited))
        }
        PromptItem::ProgramReport { observation, .. } => framed(&program_report_text(observation)),
        PromptItem::CallReport { calls } => {
            let named = calls.calls.iter();
            let named = named.map(|one| (reported_call(&one.call), one.outcome));
            call_report(named, calls.more)
        }
    }
}

/// Returns the size and digest of a whole conversation. Reads all of it.
pub(crate) fn visible_part<'a>(items: impl Iterator<Item = &'a PromptItem>) -> VisiblePart {
    items.fold(VisiblePart::EMPTY, |shown, item| shown.with(prompt_item(item)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> String {
        let framed = frame("a", text);
        let inner = framed.strip_prefix("<context from=\"a\">\n").unwrap();
        inner.strip_suffix("\n</context>").unwrap().into()
    }

    #[test]
    fn text_that_names_no_frame_is_kept_as_it_is() {
        for text in [
            "",
            "plain",
            "context first",
            "/context first",
            "a < b",
            "<b>bold</b>",
            "<<",
            "<cont",
            "<contex t>",
        ] {
            assert_eq!(inside(text), text);
        }
    }

    #[test]
    fn text_cannot_end_its_frame_nor_open_another() {
        for (text, kept) in [
            ("</context>", "<\\/context>"),
            ("<context>", "<\\context>"),
            ("a </CONTEXT> b", "a <\\/CONTEXT> b"),
            ("< / context>", "<\\ / context>"),
            ("<\n//context", "<\\\n//context"),
            ("<b></context><i>", "<b><\\/context><i>"),
        ] {
            assert_eq!(inside(text), kept);
        }
    }

    #[test]
    fn the_name_of_a_frame_has_no_marks_and_no_control_characters() {
        let framed = frame("a\"b<c>d&e\nf\0g", "x");
        assert_eq!(framed, "<context from=\"abcdefg\">\nx\n</context>");
    }
}
