//! Live updates: the live state as it is sent to other nodes.

use std::ops::Bound;

use windlass_core::{Delta, Seq, Timestamp};

use super::{LiveState, StreamingPart, StreamingPartKind, StreamingSample};
use crate::event::LiveEvent;
use crate::live::{self, CatchUpProgress, TextPiece};

/// Text to send to other nodes.
#[derive(Debug, Default)]
pub(crate) struct LiveUpdate {
    /// True if no text of the run was sent before.
    pub(crate) begins: bool,
    pub(crate) pieces: Vec<TextPiece>,
    /// Complete parts, each with the index of its item in the run.
    pub(crate) whole: Vec<(u32, Option<u32>)>,
}

impl LiveUpdate {
    /// Records the addition of a delta to its part.
    pub(super) fn add(&mut self, delta: &Delta, kind: live::PartKind, offset: u64) {
        let (slot, text) = match delta {
            Delta::Text { slot, text }
            | Delta::Refusal { slot, text }
            | Delta::Reasoning { slot, text }
            | Delta::Arguments { slot, text } => (*slot, text.as_str()),
            // A part has one name.
            Delta::Call { slot, name } if offset == 0 => (*slot, name.as_str()),
            Delta::Call { slot, .. } => (*slot, ""),
        };
        let text = text.to_owned();
        self.pieces.push(TextPiece { slot, kind, offset, text });
    }
}

impl LiveState {
    /// Returns the streaming run.
    pub(crate) fn run(&self) -> Option<live::MessageRun> {
        let saying = self.current_sample()?;
        Some(live::MessageRun {
            turn: saying.run.turn,
            started: saying.run.started,
            items: saying.items,
            begins: false,
        })
    }

    /// Returns the time of the last change.
    pub(crate) fn latest(&self) -> Timestamp {
        let said = self.current_sample().map(|saying| saying.run.ts);
        let reported = self.reports.values().map(|report| report.ts).max();
        said.max(reported).unwrap_or(Timestamp(0))
    }

    /// Returns true if this is the last report of its call.
    pub(crate) fn has_reported(&self, report: &LiveEvent) -> bool {
        self.reports.values().any(|last| last == report)
    }

    /// Returns the next pieces of the run with which the catch-up began, about this many bytes.
    /// Returns none if that run is over or was sent completely.
    pub(crate) fn catch_up(&self, passing: &mut CatchUpProgress, most: usize) -> LiveUpdate {
        let mut said = LiveUpdate::default();
        let Some(saying) = self.current_sample() else {
            return said;
        };
        if *passing.run.get_or_insert(saying.run.started) != saying.run.started {
            return said;
        }
        let mut room = most.max(4);
        while room > 0 {
            let rest = saying.parts.iter().filter(|part| part.slot >= passing.slot);
            let Some(part) = rest.min_by_key(|part| part.slot) else {
                break;
            };
            if part.slot > passing.slot {
                (passing.slot, passing.offset) = (part.slot, 0);
            }
            let (text, ends) = part.piece(passing.offset, room);
            // A part has a cost even without text.
            room = room.saturating_sub(text.len().saturating_add(64));
            said.pieces.push(TextPiece {
                slot: part.slot,
                kind: part.kind(),
                offset: passing.offset,
                text: text.clone(),
            });
            // Sent with each piece, since its item may be in the log before the next piece.
            if let Some(place) = saying.whole.iter().position(|slot| *slot == part.slot) {
                let place = u32::try_from(place).unwrap_or(u32::MAX);
                let place = saying.items.saturating_add(place);
                said.whole.push((part.slot, Some(place)));
            }
            if !ends {
                passing.offset = passing.offset.saturating_add(text.len() as u64);
                break;
            }
            let Some(next) = part.slot.checked_add(1) else {
                passing.run = Some(Seq(u64::MAX));
                break;
            };
            (passing.slot, passing.offset) = (next, 0);
        }
        said
    }

    /// Returns the run's whole text, as its beginning.
    pub(crate) fn whole_run(&self) -> LiveUpdate {
        LiveUpdate { begins: true, ..self.catch_up(&mut CatchUpProgress::default(), usize::MAX) }
    }

    /// Returns the next report that the catch-up has not sent.
    pub(crate) fn next_report(&self, passing: &mut CatchUpProgress) -> Option<LiveEvent> {
        let after = passing.call.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.reports.range((after, Bound::Unbounded));
        let (call, report) = rest.next()?;
        passing.call = Some(*call);
        Some(report.clone())
    }
}

impl StreamingSample {
    /// Returns the index of the next complete part in the run.
    pub(super) fn next_item(&self) -> u32 {
        let waiting = u32::try_from(self.whole.len()).unwrap_or(u32::MAX);
        self.items.saturating_add(waiting)
    }
}

impl StreamingPart {
    /// Returns the kind of the part, for other nodes.
    pub(super) fn kind(&self) -> live::PartKind {
        match &self.kind {
            StreamingPartKind::Text => live::PartKind::Text,
            StreamingPartKind::Refusal => live::PartKind::Refusal,
            StreamingPartKind::Reasoning => live::PartKind::Reasoning,
            StreamingPartKind::Call { name } => live::PartKind::Call(name.len() as u64),
        }
    }

    fn name(&self) -> &str {
        match &self.kind {
            StreamingPartKind::Text | StreamingPartKind::Refusal | StreamingPartKind::Reasoning => {
                ""
            }
            StreamingPartKind::Call { name } => name,
        }
    }

    /// Returns the bytes of the part, including those of a call's name.
    pub(super) fn len(&self) -> u64 {
        (self.name().len() as u64).saturating_add(self.text.len() as u64)
    }

    /// Returns a piece of the part, at most this long, and true if the part ends with it.
    fn piece(&self, offset: u64, most: usize) -> (String, bool) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let name = self.name();
        let (text, more) = match offset.checked_sub(name.len()) {
            Some(offset) => (self.text.get(offset..).unwrap_or_default(), ""),
            None => (name.get(offset..).unwrap_or_default(), self.text.as_str()),
        };
        let end = text.floor_char_boundary(most);
        let mut piece = text.get(..end).unwrap_or_default().to_owned();
        if piece.len() < text.len() {
            return (piece, false);
        }
        let room = most.saturating_sub(piece.len());
        let more_now = more.get(..more.floor_char_boundary(room)).unwrap_or_default();
        piece.push_str(more_now);
        let ends = more_now.len() == more.len();
        (piece, ends)
    }
}
