//! Sizes of a conversation's parts: what a cut would leave, without applying it.

use alloc::vec::Vec;

use super::apply::{UnitSpan, clear_observation, unit_spans};
use crate::compaction::CutPoint;
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
    bytes: u64,
    clearable: Vec<ClearableResult>,
}

/// A result that can be cleared.
struct ClearableResult {
    /// Index of the item.
    at: usize,
    /// Bytes gained by clearing it.
    gain: u64,
}

impl<'a> Survey<'a> {
    /// Reads a conversation once.
    pub(super) fn of(history: &'a History, turn: Option<TurnId>) -> Self {
        let items = history.items();
        let mut rest = items.iter().enumerate();
        let stretches = unit_spans(history.units(), items.len(), turn).into_iter();
        let parts = stretches.map(|stretch| {
            let (mut bytes, mut long) = (0_u64, Vec::new());
            for (at, item) in rest.by_ref().take(stretch.len()) {
                bytes = bytes.saturating_add(context::prompt_item(item).bytes);
                let gain = gain(item);
                long.extend(gain.map(|gain| ClearableResult { at, gain }));
            }
            SurveyPart { stretch, bytes, clearable: long }
        });
        Self { parts: parts.collect(), turn }
    }

    /// Returns the bytes that a cut leaves, without its inserted text.
    pub(super) fn bytes(&self, cut: &CutPoint) -> u64 {
        let staying = self.parts.iter().filter(|part| !part.stretch.is_dropped(cut));
        staying.fold(0, |sum, part| sum.saturating_add(part.shown(cut)))
    }

    /// Returns the end of the range to clear, oldest first, to reach the target: at most the item
    /// before `before`.
    pub(super) fn clear_before(&self, cut: &CutPoint, before: usize, target: u64) -> u64 {
        let mut bytes = self.bytes(cut);
        let mut cleared = cut.clear_before;
        let staying = self.parts.iter().filter(|part| !part.stretch.is_dropped(cut));
        for long in staying.flat_map(|part| &part.clearable) {
            if bytes <= target || long.at >= before {
                break;
            }
            if long.at as u64 >= cut.clear_before {
                bytes = bytes.saturating_sub(long.gain);
                cleared = (long.at as u64).saturating_add(1);
            }
        }
        cleared
    }

    /// Returns the end of the range to drop, oldest first, to reach the target with a text of
    /// `room` bytes in its place. Stops before the latest answer of the open turn.
    ///
    /// Drops an earlier summary too: the new text covers it and precedes everything that stays.
    pub(super) fn drop_before(&self, cut: &CutPoint, room: u64, target: u64) -> u64 {
        let most = self.start_of_own_answer();
        let summary = self.kinds().rfind(|(kind, _)| **kind == ConversationUnitKind::Summary);
        let least = summary.map_or(0, |(_, stretch)| stretch.end);
        let mut bytes = self.bytes(cut).saturating_add(room);
        let mut left = 0;
        for part in &self.parts {
            if part.stretch.end > most || (bytes <= target && left >= least) {
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
    fn start_of_own_answer(&self) -> usize {
        let end = self.parts.last().map_or(0, |part| part.stretch.end);
        let latest = self.kinds().rfind(|(kind, _)| **kind == ConversationUnitKind::Sample);
        let own = latest.filter(|(_, stretch)| stretch.unit.turn == self.turn);
        own.map_or(end, |(_, stretch)| stretch.unit.first)
    }

    /// Returns the first item of the latest `answers`, or of all if there are fewer. Returns the
    /// end if there are none.
    pub(super) fn start_of_latest(&self, answers: usize) -> usize {
        let end = self.parts.last().map_or(0, |part| part.stretch.end);
        let samples = self.kinds().filter(|(kind, _)| **kind == ConversationUnitKind::Sample);
        let first = samples.rev().take(answers).last();
        first.map_or(end, |(_, stretch)| stretch.unit.first)
    }

    fn kinds(&self) -> impl DoubleEndedIterator<Item = (&ConversationUnitKind, &UnitSpan<'a>)> {
        let stretches = self.parts.iter().map(|part| &part.stretch);
        stretches.map(|stretch| (&stretch.unit.kind, stretch))
    }
}

impl SurveyPart<'_> {
    /// Returns its bytes after a cut.
    fn shown(&self, cut: &CutPoint) -> u64 {
        let cleared = self.clearable.iter().filter(|long| (long.at as u64) < cut.clear_before);
        cleared.fold(self.bytes, |bytes, long| bytes.saturating_sub(long.gain))
    }
}

fn gain(item: &PromptItem) -> Option<u64> {
    match item {
        PromptItem::Result { observation, .. } => {
            let less = clear_observation(observation)?.output.len();
            Some(observation.output.len().saturating_sub(less) as u64)
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
