//! Compaction: chooses the parts of a conversation to drop, so that the rest fits. Pure; the log
//! stays complete.
//!
//! Pinned parts stay verbatim at any position: the requests and the context of the open turn, and
//! lasting context until a later one of the same name replaces it. The latest answer of the open
//! turn stays with its calls. All other parts may be dropped, oldest first, as a whole.

mod apply;
mod parse;
mod question;
mod requests;
mod summary;
mod survey;

#[cfg(test)]
#[path = "compact/kit_tests.rs"]
pub(crate) mod kit;
#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod requests_tests;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use crate::compaction::{CompactionStrategy, CutPoint};
use crate::context;
use crate::history::History;
use crate::id::TurnId;
use crate::input::CompactionResult;
use crate::render::Prompt;
use crate::settings::Settings;

pub(crate) use apply::apply;
pub use parse::parse_summary;
pub use requests::{SummaryAnswer, SummaryRequests, SummaryStep};
pub use summary::{SUMMARY_INSTRUCTIONS, fallback_summary};

use survey::Survey;

/// Number of latest answers whose results stay, if clearing older ones is enough.
const RECENT_ANSWERS: usize = 2;

/// Most bytes of a plain list of dropped parts, with its frame.
const LIST_BYTES: u64 = 2 * 1024;

/// Bytes reserved for a model's summary, with its frame. Both sizes are at most a quarter of the
/// target.
const SUMMARY_ROOM: u64 = 8 * 1024;

/// The part of a compaction that needs no model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    /// Items to drop or to clear. If any are dropped, a plain list of them replaces the summary for
    /// now.
    pub cut_point: CutPoint,
    /// Prompt for a summary, if one is wanted: the dropped parts, as a conversation.
    pub summary_prompt: Option<Prompt>,
    /// Most bytes of the model's summary, with its frame.
    pub summary_bytes: u64,
}

/// Plans a compaction to at most `target_bytes` of text. Deterministic.
///
/// Three steps, each only as far as necessary. First, clear the results of all but the latest two
/// answers, oldest first ([`CompactionStrategy::Clear`] alone). Second, drop the oldest parts and
/// insert a text in their place. Third, clear the remaining results too: an answer that runs a tool
/// again is better than a turn that cannot continue. If that is not enough, returns the best cut,
/// and the caller finds the conversation too large. No cut makes the conversation larger.
#[must_use]
pub fn plan_compaction(
    history: &History,
    settings: &Arc<Settings>,
    turn: TurnId,
    strategy: CompactionStrategy,
    target_bytes: u64,
) -> CompactionPlan {
    let survey = Survey::of(history, Some(turn));
    let mut cut = CutPoint { clear_before: 0, drop_before: 0, summary: None };
    if strategy == CompactionStrategy::Clear {
        let old = survey.start_of_latest(RECENT_ANSWERS);
        cut.clear_before = survey.clear_before(&cut, old, target_bytes);
    }
    let mut room = None;
    if survey.bytes(&cut) > target_bytes {
        room = drop_oldest(&survey, history, turn, strategy, target_bytes, &mut cut);
        let taken = room.map_or(0, |room| room.taken);
        let target = target_bytes.saturating_sub(taken);
        cut.clear_before = survey.clear_before(&cut, usize::MAX, target);
    }
    let asked = room.filter(|_| strategy == CompactionStrategy::Summary);
    let Some(room) = asked else {
        return CompactionPlan { cut_point: cut, summary_prompt: None, summary_bytes: 0 };
    };
    let free = target_bytes.saturating_sub(survey.bytes(&cut));
    let summary_bytes = if free < room.list { room.taken } else { free };
    let question =
        question::summary_prompt(history, settings, turn, &cut, target_bytes, summary_bytes);
    CompactionPlan { cut_point: cut, summary_prompt: Some(question), summary_bytes }
}

/// Room for the text that replaces the dropped parts, in bytes with its frame.
#[derive(Debug, Clone, Copy)]
struct SummaryRoom {
    /// Bytes of the plain list.
    list: u64,
    /// Bytes to reserve for the wanted text.
    taken: u64,
}

/// Drops the oldest parts; `None` if that saves nothing.
fn drop_oldest(
    survey: &Survey<'_>,
    history: &History,
    turn: TurnId,
    strategy: CompactionStrategy,
    target_bytes: u64,
    cut: &mut CutPoint,
) -> Option<SummaryRoom> {
    let within = |most: u64| most.min(target_bytes / 4).max(summary::framed_bytes(""));
    let wanted = match strategy {
        CompactionStrategy::Clear | CompactionStrategy::Slide => within(LIST_BYTES),
        CompactionStrategy::Summary => within(SUMMARY_ROOM),
    };
    let at = |left: u64| {
        let slid = CutPoint { drop_before: left, ..cut.clone() };
        let text = summary::dropped_list(history, Some(turn), &slid, within(LIST_BYTES));
        (slid, text)
    };
    let rough = survey.drop_before(cut, wanted, target_bytes);
    let (mut slid, mut text) = at(rough);
    if strategy != CompactionStrategy::Summary {
        // A list is mostly shorter than its limit. With its true length fewer parts must be
        // dropped.
        let (close, shorter) =
            at(survey.drop_before(cut, summary::framed_bytes(&text), target_bytes));
        let bytes = survey.bytes(&close);
        if bytes.saturating_add(summary::framed_bytes(&shorter)) <= target_bytes {
            (slid, text) = (close, shorter);
        }
    }
    let gone = survey.bytes(cut).saturating_sub(survey.bytes(&slid));
    let list = summary::framed_bytes(&text);
    if gone <= list {
        return None;
    }
    *cut = CutPoint { summary: Some(text.into()), ..slid };
    let taken = match strategy {
        CompactionStrategy::Clear | CompactionStrategy::Slide => list,
        CompactionStrategy::Summary => wanted.min(gone).max(list),
    };
    Some(SummaryRoom { list, taken })
}

impl CompactionPlan {
    /// Returns the compaction with this summary in place of the dropped parts; `None` if nothing is
    /// dropped. Uses the plain list if a requested summary is missing or too large, and records the
    /// reason.
    #[must_use]
    pub fn finish(
        self,
        history: &History,
        turn: TurnId,
        summary: Option<String>,
    ) -> CompactionResult {
        let mut cut = self.cut_point;
        let mut fallback = None;
        if self.summary_prompt.is_some() {
            match usable_summary(summary, self.summary_bytes) {
                Ok(text) => cut.summary = Some(text.into()),
                Err(why) => fallback = Some(why),
            }
        }
        let (items, _) = apply(history.items(), history.units(), Some(turn), &cut);
        CompactionResult {
            cut,
            visible: context::visible_part(items.iter()),
            usage: None,
            unmeasured: None,
            fallback,
        }
    }
}

/// Returns the model's summary if it is usable.
fn usable_summary(summary: Option<String>, most: u64) -> Result<String, String> {
    let text = summary.filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| String::from("the model gave no summary"))?;
    let bytes = summary::framed_bytes(&text);
    if bytes > most {
        return Err(format!(
            "the model's summary is too long: {bytes} bytes, and there is room for {most}"
        ));
    }
    Ok(text)
}
