//! Remote run: a run of another node, as far as its text was received and published.

use std::collections::VecDeque;

use windlass_core::{Delta, Seq, SessionId, Timestamp};

use super::message::{MessageRun, PartKind, TextPiece};
use crate::bus::EventBus;
use crate::live_state::StreamingRun;

/// Most bytes and parts of a run that are stored. Anything beyond that is dropped.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
pub(super) const MAX_PARTS: usize = 16_384;
/// Most positions that are stored for the received text of a part. Beyond it, the first ones are
/// merged into the next.
const MAX_MARKS: usize = 64;

/// A run of a sample on another node.
#[derive(Debug)]
pub(super) struct RemoteRun {
    pub(super) run: MessageRun,
    pub(super) at: Timestamp,
    /// Position at which the run had the number of items in `run`.
    pub(super) announced: Seq,
    pub(super) parts: Vec<RemotePart>,
    /// Number of its items that were published here, once known.
    pub(super) published: Option<u32>,
    /// Number of its items whose parts are known.
    pub(super) known: u32,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct RemotePart {
    pub(super) slot: u32,
    pub(super) kind: PartKind,
    /// Number of bytes received from its start.
    pub(super) received: u64,
    /// Received text that was not published yet.
    pub(super) unpublished: String,
    /// Bytes received at each announced position: they follow that position.
    pub(super) marks: VecDeque<(Seq, u64)>,
    /// True if some of its text was published.
    pub(super) published: bool,
    /// Index of the item in the run, once it is complete.
    pub(super) item: Option<u32>,
    /// True if it was received since the last catch-up began.
    pub(super) confirmed: bool,
}

impl RemoteRun {
    pub(super) fn new(run: MessageRun) -> Self {
        Self {
            run,
            at: Timestamp(0),
            announced: Seq::ZERO,
            parts: Vec::new(),
            published: None,
            known: 0,
            bytes: 0,
        }
    }

    /// Returns true if the part of each published item is known.
    pub(super) fn is_certain(&self) -> bool {
        self.published.is_some_and(|count| count <= self.known)
    }

    /// Returns the number of these items that were added after the announcement.
    pub(super) fn later_items(&self, items: &VecDeque<(Seq, Seq)>) -> u32 {
        let (started, told) = (self.run.started, self.announced);
        let later = items.iter().filter(|(run, at)| *run == started && *at > told);
        u32::try_from(later.count()).unwrap_or(u32::MAX)
    }

    /// Adds the new text of a piece that was sent with a position. Returns true if no text is
    /// missing before it.
    pub(super) fn merge(&mut self, piece: &TextPiece, told: Seq) -> bool {
        let place = self.parts.iter().position(|part| part.slot == piece.slot);
        let place = match place {
            Some(place) => place,
            None if piece.offset > 0 || self.parts.len() >= MAX_PARTS => return false,
            None => {
                self.parts.push(RemotePart::new(piece.slot, piece.kind));
                self.parts.len().saturating_sub(1)
            }
        };
        let Some(part) = self.parts.get_mut(place) else {
            return false;
        };
        let Some(known) = part.received.checked_sub(piece.offset) else {
            return false;
        };
        part.confirmed = true;
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let new = piece.text.get(known.min(piece.text.len())..);
        let Some(new) = new else { return false };
        let bytes = self.bytes.saturating_add(new.len() as u64);
        if bytes > MAX_BYTES {
            return false;
        }
        self.bytes = bytes;
        part.received = part.received.saturating_add(new.len() as u64);
        part.unpublished.push_str(new);
        part.mark(told);
        true
    }

    /// Records that a part is complete and is this item of the run.
    pub(super) fn name_item(&mut self, slot: u32, item: u32, whole: bool) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.slot == slot) {
            part.item = Some(item);
        }
        if whole {
            self.known = self.known.max(item.saturating_add(1));
        }
    }

    /// Removes parts, here and from the bus.
    pub(super) fn drop_parts(
        &mut self,
        bus: &EventBus,
        session: &SessionId,
        gone: impl Fn(&RemotePart) -> bool,
    ) {
        let mut shown = Vec::new();
        self.parts.retain(|part| {
            if gone(part) && part.published {
                shown.push((part.slot, false));
            }
            !gone(part)
        });
        bus.publish_deltas(&self.streaming_run(session), Vec::new(), &shown);
    }

    /// Publishes received text that follows no later position than this.
    pub(super) fn publish(&mut self, bus: &EventBus, session: &SessionId, at: Seq) {
        let deltas: Vec<Delta> =
            self.parts.iter_mut().flat_map(|part| part.take_deltas(at)).collect();
        bus.publish_deltas(&self.streaming_run(session), deltas, &[]);
    }

    pub(super) fn streaming_run(&self, session: &SessionId) -> StreamingRun {
        StreamingRun {
            session: session.clone(),
            turn: self.run.turn,
            started: self.run.started,
            ts: self.at,
        }
    }
}

impl RemotePart {
    pub(super) fn new(slot: u32, kind: PartKind) -> Self {
        Self {
            slot,
            kind,
            received: 0,
            unpublished: String::new(),
            marks: VecDeque::new(),
            published: false,
            item: None,
            confirmed: true,
        }
    }

    /// Marks the latest text as following that position.
    pub(super) fn mark(&mut self, told: Seq) {
        match self.marks.back_mut() {
            Some((last, heard)) if *last >= told => *heard = self.received,
            Some(_) | None => self.marks.push_back((told, self.received)),
        }
        if self.marks.len() > MAX_MARKS {
            self.marks.pop_front();
        }
    }

    /// Removes and returns the received text that follows no later position than this and was not
    /// published. A call begins with its name, once that is complete.
    pub(super) fn take_deltas(&mut self, at: Seq) -> Vec<Delta> {
        let (slot, mut deltas) = (self.slot, Vec::new());
        let mut upto = None;
        while let Some((_, heard)) = self.marks.pop_front_if(|(told, _)| *told <= at) {
            upto = Some(heard);
        }
        let Some(upto) = upto else { return deltas };
        let said = self.received.saturating_sub(self.unpublished.len() as u64);
        let mut text = self.take_text(upto.saturating_sub(said));
        if let (PartKind::Call(bytes), false) = (self.kind, self.published) {
            if upto < bytes {
                self.unpublished.insert_str(0, &text);
                return deltas;
            }
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let arguments = text.split_off(text.floor_char_boundary(bytes));
            let name = std::mem::replace(&mut text, arguments);
            deltas.push(Delta::Call { slot, name });
        }
        self.published = true;
        if !text.is_empty() {
            deltas.push(match self.kind {
                PartKind::Text => Delta::Text { slot, text },
                PartKind::Refusal => Delta::Refusal { slot, text },
                PartKind::Reasoning => Delta::Reasoning { slot, text },
                PartKind::Call(_) => Delta::Arguments { slot, text },
            });
        }
        deltas
    }

    /// Removes and returns this many bytes of unpublished text.
    pub(super) fn take_text(&mut self, bytes: u64) -> String {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let rest = self.unpublished.split_off(self.unpublished.floor_char_boundary(bytes));
        std::mem::replace(&mut self.unpublished, rest)
    }
}
