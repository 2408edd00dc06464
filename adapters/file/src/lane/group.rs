//! A group of units: where the logs of their sessions end, and their bytes.

use std::hint::black_box;

use windlass_core::Seq;
use windlass_kit_log::{End, Seat, Unit};
use windlass_ports::{StoreError, Summary};

use crate::error;
use crate::format::{self, Draft, Group, Key, Opening, Place};
use crate::lane::Writer;
use crate::map::{Added, UnitAt};

/// A session that is appended to.
#[derive(Clone)]
pub(super) struct Last {
    key: Key,
    /// The last position, where the session goes on in the segment at hand without an opening.
    seq: Option<Seq>,
    /// Its log in short.
    summary: Option<Summary>,
}

/// A unit to be written.
pub(crate) struct Appended<'a> {
    pub(crate) seat: Seat,
    pub(crate) key: Key,
    pub(crate) unit: &'a Unit,
}

/// How many units are fetched from memory at a time, fewer than the processor's nearest cache holds,
/// and how much of each: the processor goes on by itself.
const ABREAST: usize = 16;
const FETCHED: usize = 512;
const LINE: usize = 64;

impl Appended<'_> {
    /// Has the processor fetch the texts from memory.
    fn fetch(&self) {
        for text in &self.unit.batch.texts {
            for byte in text.iter().take(FETCHED).step_by(LINE) {
                black_box(*byte);
            }
        }
    }
}

impl Writer {
    /// Notes where the log of a session ends that has this seat from now on: whether it goes on from
    /// what stands in the segment at hand.
    pub(crate) fn note(&mut self, seat: Seat, key: Key, end: &End) {
        let goes_on = self.shelf.with_own(|map| {
            let run = map.tracks.get(&key).and_then(|track| track.runs.last());
            run.is_some_and(|run| run.stretch.last == end.last)
        });
        let last = Last {
            key,
            seq: (goes_on == Some(true)).then_some(end.last),
            summary: end.summary.clone(),
        };
        self.set_last(seat, last);
    }

    /// Has a session begin a stretch of its own with what is written next.
    pub(crate) fn note_apart(&mut self, seat: Seat, key: Key, summary: Option<Summary>) {
        self.set_last(
            seat,
            Last {
                key,
                seq: None,
                summary,
            },
        );
    }

    fn set_last(&mut self, seat: Seat, last: Last) {
        if self.lasts.len() <= seat.index() {
            self.lasts.resize(seat.index() + 1, None);
        }
        if let Some(at) = self.lasts.get_mut(seat.index()) {
            *at = Some(last);
        }
    }

    /// Has all sessions begin anew in the segment at hand.
    pub(super) fn open_all(&mut self) {
        for last in self.lasts.iter_mut().flatten() {
            last.seq = None;
        }
    }

    /// The bytes of a group, and what they add to the segment. Notes where its sessions' logs end with
    /// it.
    pub(super) fn encode(
        &mut self,
        place: Place,
        start: u64,
        units: &[Appended<'_>],
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<(Seat, Added)>, StoreError> {
        let mut added = Vec::with_capacity(units.len());
        for (at, Appended { seat, key, unit }) in units.iter().enumerate() {
            if at % ABREAST == 0 {
                let next = units.iter().skip(at).take(ABREAST);
                next.for_each(Appended::fetch);
            }
            let batch = &unit.batch;
            let last = self.lasts.get_mut(seat.index()).and_then(Option::as_mut);
            let Some(last) = last.filter(|last| last.key == *key) else {
                return Err(error::gone(&batch.session));
            };
            let seq = last.seq.replace(unit.end.last);
            let summary = std::mem::replace(&mut last.summary, unit.end.summary.clone());
            let opening = (seq != Some(batch.after)).then(|| Opening {
                id: batch.session.clone(),
                link: unit.before,
                summary,
            });
            let first = batch.after.next();
            let draft = Draft {
                key: *key,
                first,
                link: unit.end.link,
                opening,
                group: Group {
                    first: buffer.is_empty(),
                    series: self.series,
                },
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
            let unit = Added {
                key: *key,
                at: UnitAt {
                    offset,
                    len,
                    first,
                    count: u32::try_from(batch.texts.len()).unwrap_or(u32::MAX),
                },
                opening: draft.opening.map(Box::new),
                link: unit.end.link,
                summary: unit.end.summary.clone(),
            };
            added.push((*seat, unit));
        }
        Ok(added)
    }
}
