//! Sizes of a conversation's parts: what a cut would leave, without applying it.

use alloc::vec::Vec;

use super::apply::{UnitSpan, unit_spans};
use super::results::{clear, image_bytes, limit};
use crate::call::Observation;
use crate::compaction::{CutPoint, MIN_RESULT_BYTES, ResultForm};
use crate::context;
use crate::history::{ConversationUnitKind, History};
use crate::id::TurnId;
use crate::render::PromptItem;

/// Sizes of a conversation's parts.
pub(super) struct Survey<'a> {
    parts: Vec<SurveyPart<'a>>,
    turn: Option<TurnId>,
}

struct SurveyPart<'a> {
    stretch: UnitSpan<'a>,
    /// Bytes without the outputs of its results.
    bytes: u64,
    results: Vec<SurveyResult>,
}

/// Sizes of a result.
struct SurveyResult {
    /// Index of the item.
    at: usize,
    /// Bytes of its output.
    bytes: u64,
    /// Bytes of its images, which stay until it is cleared.
    images: u64,
    /// Bytes after clearing, if that gains any.
    cleared: Option<u64>,
}

impl<'a> Survey<'a> {
    /// Reads a conversation once. Cleared results have the text of this form.
    pub(super) fn of(history: &'a History, turn: Option<TurnId>, form: ResultForm) -> Self {
        let items = history.items();
        let mut rest = items.iter().enumerate();
        let stretches = unit_spans(history.units(), items, turn).into_iter();
        let parts = stretches.map(|stretch| {
            let (mut bytes, mut results) = (0_u64, Vec::new());
            for (at, item) in rest.by_ref().take(stretch.len()) {
                let result = measure(at, item, form).filter(|_| !stretch.lasts(item));
                let own = context::prompt_item(item).bytes;
                let output = result.as_ref().map_or(0, |result| result.bytes);
                bytes = bytes.saturating_add(own.saturating_sub(output));
                results.extend(result);
            }
            SurveyPart { stretch, bytes, results }
        });
        Self { parts: parts.collect(), turn }
    }

    /// Returns the most bytes that a cut leaves, without its inserted text.
    pub(super) fn bytes(&self, cut: &CutPoint) -> u64 {
        self.staying(cut).fold(0, |sum, part| sum.saturating_add(part.shown(cut)))
    }

    /// Returns the bytes of the results from the item `from` on, as a cut leaves them.
    pub(super) fn result_bytes(&self, cut: &CutPoint, from: usize) -> u64 {
        let results = self.staying(cut).flat_map(|part| &part.results);
        let results = results.filter(|result| result.at >= from);
        results.fold(0, |sum, result| sum.saturating_add(result.shown(cut)))
    }

    /// Returns the end of the range to clear, oldest first, to reach the target: at most the item
    /// before `before`.
    pub(super) fn clear_before(&self, cut: &CutPoint, before: usize, target: u64) -> u64 {
        let mut bytes = self.bytes(cut);
        let mut end = cut.clear_before;
        for result in self.staying(cut).flat_map(|part| &part.results) {
            if bytes <= target || result.at >= before {
                break;
            }
            let Some(cleared) = result.cleared.filter(|_| result.at as u64 >= cut.clear_before)
            else {
                continue;
            };
            bytes = bytes.saturating_sub(result.shown(cut).saturating_sub(cleared));
            end = (result.at as u64).saturating_add(1);
        }
        end
    }

    /// Returns the limit with which the results from the item `from` on have at most
    /// `room` bytes together; 0 if they need none. Short results leave their share to longer ones.
    pub(super) fn limit(&self, cut: &CutPoint, from: usize, room: u64) -> u64 {
        let results = self.staying(cut).flat_map(|part| &part.results);
        let results = results.filter(|result| result.at >= from);
        let (mut room, mut sizes) = (room, Vec::new());
        for result in results {
            room = room.saturating_sub(result.images);
            sizes.push(result.bytes);
        }
        sizes.sort_unstable();
        let mut count = sizes.len() as u64;
        for size in sizes {
            let share = room / count.max(1);
            if size > share {
                return share.max(MIN_RESULT_BYTES);
            }
            room = room.saturating_sub(size);
            count = count.saturating_sub(1);
        }
        0
    }

    /// Returns the end of the range to drop, oldest first, to reach the target with a text of
    /// `room` bytes in its place. Stops before `end`.
    ///
    /// Drops an earlier summary too: the new text covers it and precedes everything that stays.
    pub(super) fn drop_before(&self, cut: &CutPoint, room: u64, target: u64, end: usize) -> u64 {
        let summary = self.kinds().rfind(|(kind, _)| **kind == ConversationUnitKind::Summary);
        let least = summary.map_or(0, |(_, stretch)| stretch.end);
        let mut bytes = self.bytes(cut).saturating_add(room);
        let mut left = 0;
        for part in &self.parts {
            if part.stretch.end > end || (bytes <= target && left >= least) {
                break;
            }
            if !part.stretch.pinned {
                bytes = bytes.saturating_sub(part.shown(cut));
                left = part.stretch.end;
            }
        }
        left as u64
    }

    /// Returns the first item of the latest answer, if the open turn made it: the model's latest
    /// step stays. Returns the end for a settled turn's answer, which may be dropped at any size.
    pub(super) fn start_of_own_answer(&self) -> usize {
        let own = self.latest_answer().filter(|part| part.stretch.unit.turn == self.turn);
        own.map_or(self.end(), |part| part.stretch.unit.first)
    }

    /// Returns the first item of the latest answer, if it has results: no later answer was made
    /// with them. Returns the end if there are none.
    pub(super) fn start_of_unseen(&self) -> usize {
        let unseen = self.latest_answer().filter(|part| !part.results.is_empty());
        unseen.map_or(self.end(), |part| part.stretch.unit.first)
    }

    fn latest_answer(&self) -> Option<&SurveyPart<'a>> {
        let mut parts = self.parts.iter();
        parts.rfind(|part| part.stretch.unit.kind == ConversationUnitKind::Sample)
    }

    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.stretch.end)
    }

    fn staying(&self, cut: &CutPoint) -> impl Iterator<Item = &SurveyPart<'a>> {
        self.parts.iter().filter(|part| !part.stretch.is_dropped(cut))
    }

    fn kinds(&self) -> impl DoubleEndedIterator<Item = (&ConversationUnitKind, &UnitSpan<'a>)> {
        let stretches = self.parts.iter().map(|part| &part.stretch);
        stretches.map(|stretch| (&stretch.unit.kind, stretch))
    }
}

impl SurveyPart<'_> {
    /// Returns its most bytes after a cut.
    fn shown(&self, cut: &CutPoint) -> u64 {
        let results = self.results.iter().map(|result| result.shown(cut));
        results.fold(self.bytes, u64::saturating_add)
    }
}

impl SurveyResult {
    fn new(at: usize, observation: &Observation, cleared: Option<Observation>) -> Self {
        Self {
            at,
            bytes: observation.output.len() as u64,
            images: image_bytes(observation),
            cleared: cleared.map(|cleared| cleared.output.len() as u64),
        }
    }

    /// Returns its most bytes after a cut.
    fn shown(&self, cut: &CutPoint) -> u64 {
        let most = cut.results.map_or(u64::MAX, limit);
        match self.cleared.filter(|_| (self.at as u64) < cut.clear_before) {
            Some(cleared) => cleared,
            None if (self.at as u64) < cut.clear_before => self.bytes.saturating_add(self.images),
            None => self.bytes.min(most).saturating_add(self.images),
        }
    }
}

fn measure(at: usize, item: &PromptItem, form: ResultForm) -> Option<SurveyResult> {
    match item {
        PromptItem::Result { id, observation, .. } => {
            let cleared = clear(observation, id, form);
            Some(SurveyResult::new(at, observation, cleared))
        }
        PromptItem::ProgramReport { call, observation } => {
            let cleared = clear(observation, &call.reference(), form);
            Some(SurveyResult::new(at, observation, cleared))
        }
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Text { .. }
        | PromptItem::Refusal { .. }
        | PromptItem::Reasoning { .. }
        | PromptItem::Call { .. }
        | PromptItem::CallReport { .. } => None,
    }
}
