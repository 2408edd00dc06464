//! Compacting: which parts of a conversation leave, so that the rest fits. Pure; the log stays whole.
//!
//! What is pinned stays verbatim wherever it stands: the requests of the open turn and its context,
//! and lasting context until a later one of the same name takes its place. The latest answer
//! of the open turn stays with its calls. Everything else may leave, oldest first, in whole parts.

mod apply;
mod question;
mod summary;
mod survey;

#[cfg(test)]
pub(crate) mod kit;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod random_tests;
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
pub use summary::{SUMMARY_INSTRUCTIONS, fallback_summary, parse_summary};

use survey::Survey;

/// How many of the latest answers keep their results while clearing older ones is enough.
const RECENT_ANSWERS: usize = 2;

/// The most bytes that a plain list of what left has, with its frame.
const LIST_BYTES: u64 = 2 * 1024;

/// The bytes that are kept free for a model's summary, with its frame. Both are a quarter of the
/// target at most.
const SUMMARY_ROOM: u64 = 8 * 1024;

/// A compaction as far as it needs nobody's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    /// What leaves. Where anything does, a plain list of it stands in for the summary.
    pub cut_point: CutPoint,
    /// What the model is asked when a summary is wanted: the parts that leave, as a conversation.
    pub summary_prompt: Option<Prompt>,
    /// The most bytes that the model's summary may have, with its frame.
    pub summary_bytes: u64,
}

/// Works out what is to leave so that at most `target_bytes` of text are shown. Deterministic.
///
/// The steps, each only as far as it must go: results of all but the latest two answers are
/// cleared, oldest first ([`CompactionStrategy::Clear`] alone); the oldest parts leave, and a text takes
/// their place; results that are left are cleared too, because an answer that has to run a tool
/// again is better than a turn that cannot go on. Where even that is not enough the cut is the best
/// there is, and the caller finds it too large; none shows more than there was.
#[must_use]
pub fn plan_compaction(
    history: &History,
    settings: &Arc<Settings>,
    turn: TurnId,
    strategy: CompactionStrategy,
    target_bytes: u64,
) -> CompactionPlan {
    let survey = Survey::of(history, Some(turn));
    let mut cut = CutPoint {
        clear_before: 0,
        drop_before: 0,
        summary: None,
    };
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
        return CompactionPlan {
            cut_point: cut,
            summary_prompt: None,
            summary_bytes: 0,
        };
    };
    let free = target_bytes.saturating_sub(survey.bytes(&cut));
    let summary_bytes = if free < room.list { room.taken } else { free };
    let question =
        question::summary_prompt(history, settings, turn, &cut, target_bytes, summary_bytes);
    CompactionPlan {
        cut_point: cut,
        summary_prompt: Some(question),
        summary_bytes,
    }
}

/// Room for the text in the place of what leaves, in bytes with its frame.
#[derive(Debug, Clone, Copy)]
struct SummaryRoom {
    /// Of the plain list.
    list: u64,
    /// What is counted for the text that is wanted.
    taken: u64,
}

/// Lets the oldest parts leave; `None` where that gains nothing.
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
        let slid = CutPoint {
            drop_before: left,
            ..cut.clone()
        };
        let text = summary::dropped_list(history, Some(turn), &slid, within(LIST_BYTES));
        (slid, text)
    };
    let rough = survey.drop_before(cut, wanted, target_bytes);
    let (mut slid, mut text) = at(rough);
    if strategy != CompactionStrategy::Summary {
        // A list is mostly shorter than it may be. With its true length less has to leave.
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
    *cut = CutPoint {
        summary: Some(text.into()),
        ..slid
    };
    let taken = match strategy {
        CompactionStrategy::Clear | CompactionStrategy::Slide => list,
        CompactionStrategy::Summary => wanted.min(gone).max(list),
    };
    Some(SummaryRoom { list, taken })
}

impl CompactionPlan {
    /// The compaction with this summary in the place of what leaves; `None` where there is none.
    /// Where one was asked for and is missing or too large, the plain list stands, with the reason.
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
            fallback,
        }
    }
}

/// The model's summary if it can be used.
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
