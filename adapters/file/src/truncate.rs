//! Cutting a log off at a position, offline: what a person decides to lose so that the rest goes on.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_kit_log::{Batch, End, Seat, Unit};
use windlass_ports::{Repair, StoreError, StoreErrorKind};

use crate::disk::RealDisk;
use crate::format::Key;
use crate::lane::{Appended, SEGMENT};
use crate::log::Log;
use crate::medium::FileMedium;
use crate::places::Places;
use crate::remains::{Behind, Remains};
use crate::shelf::{Shelf, Standing};
use crate::store::FileStore;
use crate::upkeep::Upkeep;
use crate::{erasing, error, snapshots};

/// Nothing is kept up meanwhile.
const NONE: Upkeep = Upkeep {
    gather_after: None,
    erase_after: None,
};

/// A session's log that is about to be cut off: no other process can have the session as long as this
/// is there, and nothing is changed until it is [finished](Self::finish).
pub struct Cut {
    medium: FileMedium,
    shelf: Arc<Shelf>,
    session: SessionId,
    at: Seq,
}

impl std::fmt::Debug for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cut")
            .field("session", &self.session)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// Begins to cut a session's log off behind position `at`, for good: a damaged log ends there and
    /// goes on, a sound one is shorter. No other process may hold the session, and nobody may write
    /// to the store meanwhile.
    ///
    /// # Errors
    /// `Locked` when a process holds the session, `Unknown` when there is none, `Invalid` when `at` is
    /// 0 (erase it instead) or the log cannot be read up to it, `ReadOnly`, `Io`.
    pub fn cut(dir: &Path, session: &SessionId, at: Seq) -> Result<Cut, StoreError> {
        let shelf = Arc::new(Shelf::new(Arc::new(Places::new(dir.to_owned()))));
        let mut cut = Cut {
            medium: FileMedium::new(shelf.clone(), Arc::new(RealDisk), SEGMENT, NONE),
            shelf,
            session: session.clone(),
            at,
        };
        cut.begin()?;
        Ok(cut)
    }
}

impl Cut {
    fn begin(&mut self) -> Result<(), StoreError> {
        if self.at == Seq::ZERO {
            return Err(self.invalid("nothing would be left: erase the session instead"));
        }
        self.medium.lock(&self.session, Key::of(&self.session))?;
        let places = self.shelf.places();
        if erasing::is_begun(places, &self.session) {
            return Err(error::unknown(&self.session, places.root()));
        }
        let standing = self.shelf.standing(&self.session)?;
        if standing.parts.is_empty() && standing.damages.is_empty() {
            return Err(error::unknown(&self.session, places.root()));
        }
        self.up_to(&standing)?;
        Ok(())
    }

    /// The log up to the position, checked from its beginning.
    fn up_to(&self, standing: &Standing) -> Result<UpTo, StoreError> {
        let log = Log {
            shelf: &self.shelf,
            session: &self.session,
        };
        let read = log.units_to(standing, self.at)?;
        match read.last == self.at {
            true => Ok(read),
            false => Err(self.unreadable(read.last)),
        }
    }

    /// Hands over all that the cut takes away, unit by unit, whatever stands between: what is to be
    /// saved before it is finished. `take` answers whether it wants more.
    ///
    /// # Errors
    /// `Newer`, `Io`.
    pub fn behind(
        &self,
        take: &mut dyn FnMut(Remains<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let behind = Behind {
            shelf: &self.shelf,
            session: &self.session,
            after: self.at,
        };
        behind.hand_over(take)
    }

    /// Cuts the log off. What stood behind is overwritten.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; the log is then as it was, or cut off in part: cut it off again.
    pub fn finish(mut self) -> Result<Repair, StoreError> {
        let (session, shelf, at) = (self.session.clone(), self.shelf.clone(), self.at);
        let (session, places) = (&session, shelf.places());
        let key = Key::of(session);
        let standing = shelf.standing(session)?;
        let read = self.up_to(&standing)?;
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
        let cut_bytes = self.erase(key)?;
        let path = places.snapshot(session);
        snapshots::remove(places, session)
            .map_err(|error| error::from_io(error, "removing", &path))?;
        Ok(Repair {
            kept: at,
            cut_bytes,
        })
    }

    /// Erases what stands behind the position, wherever it does.
    fn erase(&self, key: Key) -> Result<u64, StoreError> {
        let places = self.shelf.places();
        let folder = places.lanes();
        let failed = |error| error::from_io(error, "cutting a log off in", &folder);
        let mut bytes = 0;
        for place in places.list_all().map_err(failed)? {
            bytes += erasing::erase(places, &RealDisk, place, key, self.at).map_err(failed)?;
        }
        for (place, damage) in self.shelf.standing(&self.session)?.damages {
            if damage.half.is_some() {
                let blanked = erasing::blank(places, &RealDisk, place, key, &damage, self.at);
                bytes += blanked.map_err(failed)?;
            }
        }
        erasing::note(places).map_err(failed)?;
        Ok(bytes)
    }

    fn unreadable(&self, last: Seq) -> StoreError {
        self.invalid(&match last {
            Seq::ZERO => "nothing of it can be read: erase the session instead".to_owned(),
            last => format!("it can be read up to position {last} and not farther: name that"),
        })
    }

    fn invalid(&self, what: &str) -> StoreError {
        let context = format!("cutting off the log of {}: {what}", self.session);
        StoreError::new(StoreErrorKind::Invalid, context)
    }
}

/// The seat of the one session that is written to.
const SEAT: Seat = Seat(0);

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
        let batch = Batch {
            session: session.clone(),
            after: self.before.last,
            bytes: self.texts.iter().map(Vec::len).sum(),
            facts: facts.into(),
            texts: self.texts.clone().into(),
        };
        Ok(Unit::new(self.before.clone(), batch))
    }
}

impl FileMedium {
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
            writer.note_apart(SEAT, key, read.before.summary.clone());
            writer.append(&[Appended {
                seat: SEAT,
                key,
                unit: &unit,
            }])?;
        }
        Ok(())
    }
}
