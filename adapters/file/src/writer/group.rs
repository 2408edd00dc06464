//! Encoding of a group, and the ends of the logs in it.

use windlass_core::Seq;
use windlass_kit_log::{AppendRequest, LogEnd};
use windlass_ports::{SessionSummary, StoreError};

use crate::error;
use crate::format::{self, CommitGroup, SegmentId, SessionKey, SessionOpening, UnitDraft};
use crate::segment_map::{AddedUnit, UnitLocation};
use crate::writer::SegmentWriter;

/// The end of a log that the writer appends to.
pub(super) struct WrittenEnd {
    /// Last position, if the log can continue in the current segment without an opening.
    seq: Option<Seq>,
    /// Summary of the log.
    summary: Option<SessionSummary>,
}

/// An append with the key of its session.
pub(crate) struct KeyedRequest<'a> {
    pub(crate) key: SessionKey,
    pub(crate) request: &'a AppendRequest,
}

impl SegmentWriter {
    /// Records the end of a claimed session's log, and so if the log can continue in the current segment
    /// without an opening.
    pub(crate) fn note(&mut self, key: SessionKey, end: &LogEnd) {
        let goes_on = self.catalog.with_own(|map| {
            let run = map.tracks.get(&key).and_then(|track| track.runs.last());
            run.is_some_and(|run| run.extent.last == end.last)
        });
        let last = WrittenEnd {
            seq: (goes_on == Some(true)).then_some(end.last),
            summary: end.summary.clone(),
        };
        self.lasts.insert(key, last);
    }

    /// Forgets a session that was released.
    pub(crate) fn forget(&mut self, key: SessionKey) {
        self.lasts.remove(&key);
    }

    /// Starts a new extent of a session with its next unit.
    pub(crate) fn note_apart(&mut self, key: SessionKey, summary: Option<SessionSummary>) {
        self.lasts.insert(key, WrittenEnd { seq: None, summary });
    }

    /// Starts a new extent of all sessions, for a new segment.
    pub(super) fn open_all(&mut self) {
        for last in self.lasts.values_mut() {
            last.seq = None;
        }
    }

    /// Encodes a group and returns its units. Updates the ends of their logs.
    pub(super) fn encode(
        &mut self,
        place: SegmentId,
        start: u64,
        units: &[KeyedRequest<'_>],
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<AddedUnit>, StoreError> {
        let mut added = Vec::with_capacity(units.len());
        for KeyedRequest { key, request } in units {
            let batch = &request.batch;
            let Some(last) = self.lasts.get_mut(key) else {
                return Err(error::gone(&batch.session));
            };
            let seq = last.seq.replace(request.end.last);
            let summary = std::mem::replace(&mut last.summary, request.end.summary.clone());
            let opening = (seq != Some(batch.after)).then(|| SessionOpening {
                id: batch.session.clone(),
                link: request.before,
                summary,
            });
            let first = batch.after.next();
            let draft = UnitDraft {
                key: *key,
                first,
                link: request.end.link,
                opening,
                group: CommitGroup { first: buffer.is_empty(), series: self.series },
                texts: &batch.texts,
            };
            let offset = start + buffer.len() as u64;
            let len = format::encode_unit(buffer, place, offset, &draft);
            let offset = u32::try_from(offset).ok();
            let (Some(len), Some(offset)) = (len, offset) else {
                return Err(error::too_large(
                    &batch.session,
                    "an append",
                    batch.bytes,
                    format::MOST_UNIT as u64,
                ));
            };
            added.push(AddedUnit {
                key: *key,
                at: UnitLocation {
                    offset,
                    len,
                    first,
                    count: u32::try_from(batch.texts.len()).unwrap_or(u32::MAX),
                },
                opening: draft.opening.map(Box::new),
                link: request.end.link,
                summary: request.end.summary.clone(),
            });
        }
        Ok(added)
    }
}
