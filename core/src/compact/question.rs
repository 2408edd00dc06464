//! Request for a summary of the conversation.
//!
//! The prompt describes the parts as text, one frame each, instead of sending calls and results.
//! Some providers reject calls in a request that offers no tools. A model that sees an unfinished
//! step continues it instead of reporting on it. And no tool output can pass for the question.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::apply::{UnitSpan, unit_spans};
use super::list::quote;
use super::summary::{SUMMARY, SUMMARY_INSTRUCTIONS, count, shorten, words};
use crate::append_list::AppendList;
use crate::call::{Observation, ObservationStatus, excerpt};
use crate::compaction::{CutPoint, ResultForm};
use crate::context;
use crate::history::{ConversationUnitKind, History};
use crate::id::TurnId;
use crate::options::RequestOptions;
use crate::render::{Prompt, PromptItem, result_text};
use crate::settings::Settings;

/// Bytes of English per requested word. The estimate is generous: a summary that is too long is
/// discarded.
const WORD_BYTES: u64 = 8;

/// A part described as text.
struct DescribedPart {
    full: String,
    /// The text with long results cut, at most a quarter of the prompt's limit.
    brief: String,
    /// Priority of the part when parts are omitted.
    order: OmissionOrder,
}

/// Order in which parts are omitted from the prompt: the least important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OmissionOrder {
    Step,
    Request,
    Summary,
}

/// Builds the prompt for a summary of at most `summary_bytes` of the dropped parts, in at most
/// `target_bytes`. If that is too little, shortens the oldest parts, then omits parts.
///
/// The prompt includes the requests of the open turn. They stay in the conversation, but the
/// dropped steps are not understandable without them.
pub(super) fn summary_prompt(
    history: &History,
    settings: &Arc<Settings>,
    turn: TurnId,
    cut: &CutPoint,
    target_bytes: u64,
    summary_bytes: u64,
) -> Prompt {
    let words = summary_bytes / WORD_BYTES;
    let ask = format!(
        "Write the summary of the parts above under the four headings, in {words} words at most."
    );
    let reserve = ask.len().saturating_add(100) as u64;
    let most = target_bytes.saturating_sub(reserve);
    let (told, omitted) = fit_parts(describe_parts(history, turn, cut, most), most);
    let mut items: AppendList<PromptItem> = told.into_iter().map(framed).collect();
    let text = if omitted == 0 {
        ask
    } else {
        format!("{} not shown for want of room. {ask}", count(omitted, "part"))
    };
    items.push(PromptItem::User { text: text.into() });
    let settings = Settings {
        instructions: SUMMARY_INSTRUCTIONS.into(),
        tools: Vec::new(),
        options: RequestOptions { web_search: None, ..settings.options.clone() },
        ..Settings::clone(settings)
    };
    Prompt { settings: Arc::new(settings), items }
}

fn framed(text: String) -> PromptItem {
    PromptItem::Context { text: text.into() }
}

/// Describes the parts before the cut: those that are dropped, and the requests that stay.
fn describe_parts(
    history: &History,
    turn: TurnId,
    cut: &CutPoint,
    most: u64,
) -> Vec<DescribedPart> {
    let quarter = usize::try_from(most / 4).unwrap_or(usize::MAX);
    let items = history.items();
    let stretches = unit_spans(history.units(), items, Some(turn)).into_iter();
    let told = stretches.filter(|stretch| {
        let request = stretch.unit.kind == ConversationUnitKind::Request
            && stretch.end as u64 <= cut.drop_before;
        request || stretch.is_dropped(cut)
    });
    let told = told.map(|stretch| {
        let (from, order) = kind(&stretch.unit.kind);
        let mut brief = part_text(&stretch, items, true);
        shorten(&mut brief, quarter.saturating_sub(context::frame(from, "").len()));
        DescribedPart {
            full: context::frame(from, &part_text(&stretch, items, false)),
            brief: context::frame(from, &brief),
            order,
        }
    });
    told.collect()
}

/// Returns the title of a part's frame, and the part's omission order.
fn kind(kind: &ConversationUnitKind) -> (&'static str, OmissionOrder) {
    match kind {
        ConversationUnitKind::Request => ("the user", OmissionOrder::Request),
        ConversationUnitKind::Context { .. } => ("context", OmissionOrder::Step),
        ConversationUnitKind::Sample => ("the assistant", OmissionOrder::Step),
        ConversationUnitKind::Summary => (SUMMARY, OmissionOrder::Summary),
    }
}

/// Returns the parts that fit, and the number of omitted ones.
fn fit_parts(told: Vec<DescribedPart>, most: u64) -> (Vec<String>, usize) {
    let whole = |sum: u64, told: &DescribedPart| sum.saturating_add(told.full.len() as u64);
    let mut bytes = told.iter().fold(0, whole);
    let mut texts: Vec<(OmissionOrder, Option<String>)> = Vec::with_capacity(told.len());
    for part in told {
        let (full, brief) = (part.full.len(), part.brief.len());
        if bytes > most && brief < full {
            bytes = bytes.saturating_sub(full.saturating_sub(brief) as u64);
            texts.push((part.order, Some(part.brief)));
        } else {
            texts.push((part.order, Some(part.full)));
        }
    }
    for turn in [OmissionOrder::Step, OmissionOrder::Request, OmissionOrder::Summary] {
        for (order, text) in &mut texts {
            if bytes > most && *order == turn {
                let text = text.take().unwrap_or_default();
                bytes = bytes.saturating_sub(text.len() as u64);
            }
        }
    }
    let all = texts.len();
    let kept: Vec<String> = texts.into_iter().filter_map(|(_, text)| text).collect();
    let omitted = all.saturating_sub(kept.len());
    (kept, omitted)
}

/// Form of long results in a brief text.
const BRIEF: ResultForm = ResultForm { max_bytes: 512, at_once: 0, readable: false };

/// Most bytes of a call in the name of its result.
const CALL_BYTES: usize = 120;

/// Returns the text of a part without the model's reasoning.
fn part_text(stretch: &UnitSpan<'_>, items: &AppendList<PromptItem>, brief: bool) -> String {
    let mut calls: BTreeMap<&Arc<str>, String> = BTreeMap::new();
    let lines = stretch.items(items).filter_map(|item| match item {
        PromptItem::User { .. }
        | PromptItem::Context { .. }
        | PromptItem::Text { .. }
        | PromptItem::Refusal { .. } => Some(String::from(words(item))),
        PromptItem::Image { .. } => Some(String::from("(an image)")),
        PromptItem::Reasoning { .. } => None,
        PromptItem::Call { id, call, .. } => {
            let named = format!("{} {}", call.name, call.arguments);
            calls.insert(id, quote(&named, CALL_BYTES));
            Some(format!("Calls {}: {}", call.name, call.arguments))
        }
        PromptItem::Result { id, observation, edited } => {
            let call = calls.get(id).map_or("", String::as_str);
            Some(result(observation, edited.as_deref(), call, brief))
        }
        PromptItem::CallReport { calls } => Some(calls.words()),
        PromptItem::ProgramReport { observation, .. } => Some(report(observation, brief)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn result(observation: &Observation, edited: Option<&str>, call: &str, brief: bool) -> String {
    let status = match observation.status {
        ObservationStatus::Done => "done",
        ObservationStatus::Failed => "failed",
        ObservationStatus::Denied => "denied",
        ObservationStatus::Aborted => "aborted",
        ObservationStatus::Unknown => "unknown",
        ObservationStatus::NotStarted => "not started",
    };
    let short = if brief { excerpt(observation, BRIEF, "") } else { None };
    let shown = short.as_ref().unwrap_or(observation);
    format!("Result of {call}, {status}: {}", result_text(shown, edited))
}

/// Returns the report on an inline program.
fn report(observation: &Observation, brief: bool) -> String {
    let short = if brief { excerpt(observation, BRIEF, "") } else { None };
    short.map_or_else(|| observation.output.clone(), |short| short.output)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn step(full: &str, brief: &str) -> DescribedPart {
        DescribedPart {
            full: String::from(full),
            brief: String::from(brief),
            order: OmissionOrder::Step,
        }
    }

    #[test]
    fn what_just_fits_is_told_in_full() {
        let told = || vec![step("a first part", "a first"), step("another", "other")];
        let told_in = |most: u64| fit_parts(told(), most);
        let texts = |texts: [&str; 2]| texts.map(String::from).to_vec();
        assert_eq!(told_in(19), (texts(["a first part", "another"]), 0));
        assert_eq!(told_in(18), (texts(["a first", "another"]), 0));
        assert_eq!(told_in(14), (texts(["a first", "another"]), 0));
        assert_eq!(told_in(12), (texts(["a first", "other"]), 0));
        assert_eq!(told_in(11), (vec![String::from("other")], 1));
    }

    #[test]
    fn what_gains_nothing_by_being_brief_is_told_in_full_or_left_out() {
        let told = vec![step("gone", "left"), step("full", "cut.")];
        assert_eq!(fit_parts(told, 4), (vec![String::from("full")], 1));
    }
}
