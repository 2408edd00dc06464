//! Cutting a log off at a position, offline: what a person decides to lose so that the rest goes on.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_ports::{Repair, StoreError, StoreErrorKind, Summary};
use windlass_store::{Batch, End, Unit};

use crate::disk::RealDisk;
use crate::format::{Key, Place};
use crate::lane::{Appended, SEGMENT};
use crate::log::Log;
use crate::medium::FileMedium;
use crate::old::takeover::Old;
use crate::places::Places;
use crate::shelf::Shelf;
use crate::store::FileStore;
use crate::upkeep::Upkeep;
use crate::{erasing, error, snapshots};

/// Nothing is kept up meanwhile.
const NONE: Upkeep = Upkeep {
    gather_after: None,
    erase_after: None,
};

impl FileStore {
    /// Cuts a session's log off behind position `at`, for good: a damaged log ends there and goes on,
    /// a sound one is shorter. What is cut off is overwritten. No other process may hold the session,
    /// and nobody may write to the store meanwhile.
    ///
    /// # Errors
    /// `Locked` when a process holds the session, `Unknown` when there is none, `Invalid` when `at` is
    /// 0 (erase it instead) or the log cannot be read up to it, `Full`, `ReadOnly`, `Io`.
    pub fn truncate(dir: &Path, session: &SessionId, at: Seq) -> Result<Repair, StoreError> {
        let shelf = Arc::new(Shelf::new(Arc::new(Places::new(dir.to_owned()))));
        let medium = FileMedium::new(shelf.clone(), Arc::new(RealDisk), SEGMENT, NONE);
        let log = Log {
            shelf: &shelf,
            session,
        };
        Truncation { medium, log }.run(at)
    }
}

struct Truncation<'a> {
    medium: FileMedium,
    log: Log<'a>,
}

impl Truncation<'_> {
    fn run(&mut self, at: Seq) -> Result<Repair, StoreError> {
        let session = self.log.session;
        let places = self.log.shelf.places();
        if at == Seq::ZERO {
            return Err(self.invalid("nothing would be left: erase the session instead"));
        }
        let key = Key::of(session);
        self.medium.lock(session, key)?;
        if erasing::is_begun(places, session) {
            return Err(error::unknown(session, places.root()));
        }
        self.medium.take_over_to(session, key, at)?;
        let standing = self.log.shelf.standing(session)?;
        let read = self.log.units_to(&standing, at)?;
        if read.last != at {
            let what = format!("its log cannot be read farther than {}", read.last);
            return Err(self.invalid(&what));
        }
        let mut lanes: Vec<u16> = standing
            .damages
            .iter()
            .filter(|(_, damage)| damage.half.is_none())
            .map(|(place, _)| place.lane)
            .collect();
        lanes.sort_unstable();
        lanes.dedup();
        drop(standing);
        // The unit that ends with the position is written anew: behind the cut, where it is a part of
        // one that is erased; behind damage, so that nothing of this log can stand there.
        self.medium.keep_in_lanes(session, key, &lanes, &read)?;
        let cut_bytes = self.erase(key, at)?;
        let path = places.snapshot(session);
        snapshots::remove(places, session)
            .map_err(|error| error::from_io(error, "removing", &path))?;
        Ok(Repair {
            kept: at,
            cut_bytes,
        })
    }

    /// Erases what stands behind the position, wherever it does.
    fn erase(&self, key: Key, at: Seq) -> Result<u64, StoreError> {
        let places = self.log.shelf.places();
        let folder = places.lanes();
        let failed = |error| error::from_io(error, "cutting a log off in", &folder);
        let mut bytes = 0;
        for lane in places.list_lanes().map_err(failed)? {
            for number in places.list_segments(lane).map_err(failed)? {
                let place = Place { lane, number };
                bytes += erasing::erase(places, &RealDisk, place, key, at).map_err(failed)?;
            }
        }
        for (place, damage) in self.log.shelf.standing(self.log.session)?.damages {
            if damage.half.is_some() {
                let blanked = erasing::blank(places, &RealDisk, place, key, &damage, at);
                bytes += blanked.map_err(failed)?;
            }
        }
        erasing::note(places).map_err(failed)?;
        Ok(bytes)
    }

    fn invalid(&self, what: &str) -> StoreError {
        let context = format!("cutting off the log of {}: {what}", self.log.session);
        StoreError::new(StoreErrorKind::Invalid, context)
    }
}

/// A log up to a position: the piece of it that its last unit brought.
pub(crate) struct UpTo {
    /// The last position.
    pub(crate) last: Seq,
    /// The log before that piece.
    pub(crate) before: End,
    /// The piece.
    pub(crate) texts: Vec<Vec<u8>>,
}

impl UpTo {
    /// The piece as an append.
    pub(crate) fn unit(&self, session: &SessionId) -> Result<Unit, StoreError> {
        let mut facts = Vec::with_capacity(self.texts.len());
        for text in &self.texts {
            let fact = windlass_ports::codec::decode(text).map_err(|error| {
                let context = format!("reading session {session}: {error}");
                StoreError::new(StoreErrorKind::Io, context).caused_by(error)
            })?;
            facts.push(Arc::new(fact));
        }
        let summary = Summary::after(self.before.summary.clone(), facts.iter().map(AsRef::as_ref));
        let batch = Batch {
            session: session.clone(),
            after: self.before.last,
            bytes: self.texts.iter().map(Vec::len).sum(),
            facts,
            texts: self.texts.clone(),
        };
        let links = batch.links(&self.before.link);
        let end = End {
            last: batch.last(),
            link: links.last().copied().unwrap_or(self.before.link),
            summary,
        };
        Ok(Unit { batch, links, end })
    }
}

impl FileMedium {
    /// Takes a log of the first format over up to a position.
    fn take_over_to(&mut self, session: &SessionId, key: Key, at: Seq) -> Result<(), StoreError> {
        let shelf = self.shelf.clone();
        let Some(old) = Old::open(shelf.places(), session)? else {
            return Ok(());
        };
        let standing = shelf.standing(session)?;
        let log = Log {
            shelf: &shelf,
            session,
        };
        let (last, ..) = log.follow(&standing)?;
        drop(standing);
        let writer = self.writer()?;
        writer.note(key, last);
        old.hand_over(last, at, &mut |unit, before| {
            writer.append(&[Appended {
                key,
                unit: &unit,
                before,
            }])
        })?;
        old.remove(shelf.places())
    }

    /// Writes a piece of a log once more, where it is the last unit in its lane and in these lanes.
    fn keep_in_lanes(
        &mut self,
        session: &SessionId,
        key: Key,
        lanes: &[u16],
        read: &UpTo,
    ) -> Result<(), StoreError> {
        let unit = read.unit(session)?;
        let mut all = lanes.to_vec();
        if all.is_empty() {
            all.push(self.writer()?.lane());
        }
        for lane in all {
            let writer = self.writer_of(lane)?;
            // It is a stretch of its own, beside what stands there already.
            writer.note(key, Seq::ZERO);
            writer.append(&[Appended {
                key,
                unit: &unit,
                before: &read.before,
            }])?;
        }
        Ok(())
    }
}
