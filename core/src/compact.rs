//! Compaction: chooses the parts of a conversation to drop, so that the rest fits. Pure; the log
//! stays complete.
//!
//! Pinned parts stay verbatim at any position: the requests and the context of the open turn, and
//! lasting context until a later one of the same name replaces it, and answers with a lasting result
//! in the same way, the latest ones up to a limit. The latest answer of the open
//! turn stays with its calls, and results stay, whole or cut, until an answer was made with them.
//! All other parts may be dropped, oldest first, as a whole.

mod apply;
mod arguments;
mod list;
mod parse;
mod question;
mod requests;
mod results;
mod summary;
mod survey;

#[cfg(test)]
#[path = "compact/kit_tests.rs"]
pub(crate) mod kit;
#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod requests_tests;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use crate::budget;
use crate::compaction::{CompactionStrategy, CutPoint, ResultForm};
use crate::context;
use crate::history::History;
use crate::id::TurnId;
use crate::input::CompactionResult;
use crate::render::{Prompt, PromptItem};
use crate::settings::Settings;

pub(crate) use apply::apply;
pub use list::fallback_summary;
pub use parse::parse_summary;
pub use requests::{SummaryAnswer, SummaryRequests, SummaryStep};
pub use summary::SUMMARY_INSTRUCTIONS;

use survey::Survey;

/// Most bytes of a plain list of dropped parts, with its frame.
const LIST_BYTES: u64 = 6 * 1024;

/// Bytes that such a list has at least, if there is enough to name.
const MIN_LIST_BYTES: u64 = 1024;

/// Bytes reserved for a model's summary, with its frame. These sizes are at most a quarter of the
/// target.
pub(crate) const SUMMARY_ROOM: u64 = 8 * 1024;

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
/// The results of the latest answer are not seen yet: no answer was made with them. They are never
/// cleared. In this order, each only as far as necessary:
///
/// 1. Clear the results that an answer was made with, oldest first ([`CompactionStrategy::Clear`]
///    alone).
/// 2. Cut the unseen results to head and tail, down to half of the target.
/// 3. Drop the oldest parts and insert a text in their place.
/// 4. Clear the other results of the parts that cannot be dropped, and cut the unseen ones further.
///
/// Room that a step leaves goes back to the results that were cut. If all that is not enough,
/// returns the best cut, and the caller finds the conversation too large. No cut makes the
/// conversation larger.
#[must_use]
pub fn plan_compaction(
    history: &History,
    settings: &Arc<Settings>,
    turn: TurnId,
    strategy: CompactionStrategy,
    target_bytes: u64,
) -> CompactionPlan {
    let form = unlimited_form(settings);
    let survey = Survey::of(history, Some(turn), form);
    let planner = Planner { survey, history, settings, turn, strategy, target: target_bytes, form };
    let (cut, room) = planner.cut();
    let asked = room.filter(|_| strategy == CompactionStrategy::Summary);
    let Some(room) = asked else {
        return CompactionPlan { cut_point: cut, summary_prompt: None, summary_bytes: 0 };
    };
    let free = target_bytes.saturating_sub(planner.survey.bytes(&cut));
    let summary_bytes = if free < room.list { room.taken } else { free };
    let question =
        question::summary_prompt(history, settings, turn, &cut, target_bytes, summary_bytes);
    CompactionPlan { cut_point: cut, summary_prompt: Some(question), summary_bytes }
}

/// Returns the form of results that are not cut.
fn unlimited_form(settings: &Settings) -> ResultForm {
    let at_once = budget::result_form(settings).map_or(0, |form| form.at_once);
    ResultForm { max_bytes: 0, at_once, readable: settings.offers_read_output() }
}

/// Returns true if the conversation has reports on inline programs.
fn has_reports(history: &History) -> bool {
    let is_report = |item: &PromptItem| matches!(item, PromptItem::ProgramReport { .. });
    history.items().iter().any(is_report)
}

/// Inputs of a plan.
struct Planner<'a> {
    survey: Survey<'a>,
    history: &'a History,
    settings: &'a Settings,
    turn: TurnId,
    strategy: CompactionStrategy,
    target: u64,
    form: ResultForm,
}

/// Room for the text that replaces the dropped parts, in bytes with its frame.
#[derive(Debug, Clone, Copy)]
struct SummaryRoom {
    /// Bytes of the plain list.
    list: u64,
    /// Bytes to reserve for the wanted text.
    taken: u64,
}

fn taken(room: Option<SummaryRoom>) -> u64 {
    room.map_or(0, |room| room.taken)
}

impl Planner<'_> {
    /// Returns the cut, and the room for the text in place of dropped parts.
    fn cut(&self) -> (CutPoint, Option<SummaryRoom>) {
        let survey = &self.survey;
        let unseen = survey.start_of_unseen();
        let reports = has_reports(self.history);
        let mut cut = CutPoint { results: Some(self.form), reports, ..CutPoint::default() };
        if self.strategy == CompactionStrategy::Clear {
            cut.clear_before = survey.clear_before(&cut, unseen, self.target);
        }
        if survey.bytes(&cut) <= self.target {
            return (cut, None);
        }
        self.share(&mut cut, unseen, self.target, self.target / 2);
        let mut room = None;
        if survey.bytes(&cut) > self.target {
            room = self.drop_oldest(&mut cut, unseen.min(survey.start_of_own_answer()));
            let least = CutPoint { results: Some(self.form(1)), ..cut.clone() };
            let least = survey.bytes(&least).saturating_add(taken(room));
            if unseen < survey.start_of_own_answer() && least > self.target {
                // The answer belongs to a turn that is over, and is too large without its results.
                room = self.drop_oldest(&mut cut, survey.start_of_own_answer()).or(room);
            }
        }
        let target = self.target.saturating_sub(taken(room));
        cut.clear_before = survey.clear_before(&cut, unseen, target);
        let uncleared = usize::try_from(cut.clear_before).unwrap_or(usize::MAX);
        self.share(&mut cut, uncleared, target, 0);
        (cut, room)
    }

    /// Limits the results from the item `from` on to the room that all else leaves, or to `least`
    /// bytes together if that is more.
    fn share(&self, cut: &mut CutPoint, from: usize, target: u64, least: u64) {
        let whole = CutPoint { results: Some(self.form), ..cut.clone() };
        let results = self.survey.result_bytes(&whole, from);
        let others = self.survey.bytes(&whole).saturating_sub(results);
        let room = target.saturating_sub(others).max(least);
        cut.results = Some(self.form(self.survey.limit(&whole, from, room)));
    }

    fn form(&self, max_bytes: u64) -> ResultForm {
        ResultForm { max_bytes, ..self.form }
    }

    /// Drops the oldest parts before the item `end`; `None` if that saves nothing.
    ///
    /// The plain list has the room that is free afterwards: no part leaves for a longer list.
    fn drop_oldest(&self, cut: &mut CutPoint, end: usize) -> Option<SummaryRoom> {
        let within = |most: u64| most.min(self.target / 4).max(summary::framed_bytes(""));
        let list = within(LIST_BYTES);
        let least = list.min(MIN_LIST_BYTES);
        let wanted = match self.strategy {
            CompactionStrategy::Clear | CompactionStrategy::Slide => least,
            CompactionStrategy::Summary => within(SUMMARY_ROOM),
        };
        let whole = CutPoint { drop_before: 0, summary: None, ..cut.clone() };
        let before = self.survey.bytes(&whole);
        let left = self.survey.drop_before(&whole, wanted, self.target, end);
        let slid = CutPoint { drop_before: left, ..whole };
        let after = self.survey.bytes(&slid);
        let (gone, free) = (before.saturating_sub(after), self.target.saturating_sub(after));
        let most = list.min(free.max(least)).min(gone);
        let text = list::dropped_list(self.history, self.settings, Some(self.turn), &slid, most);
        let list = summary::framed_bytes(&text);
        if gone <= list {
            return None;
        }
        *cut = CutPoint { summary: Some(text.into()), ..slid };
        let taken = match self.strategy {
            CompactionStrategy::Clear | CompactionStrategy::Slide => list,
            CompactionStrategy::Summary => wanted.min(gone).max(list),
        };
        Some(SummaryRoom { list, taken })
    }
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
