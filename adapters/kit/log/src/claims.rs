//! Who may append and where. The pipeline's thread changes it, and others look in seldom.

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{Link, StoreError, StoreErrorKind};

use crate::batch::Batch;
use crate::hash::Sessions;
use crate::medium::{End, Seat, Unit};
use crate::queue::Append;

/// The number of a group of appends that are kept together, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Group(pub(crate) u64);

/// What becomes of an append.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It is to be kept with the group.
    Unit(Box<Unit>),
    /// It needs no keeping.
    Answered {
        /// Its answer.
        answer: Result<(), StoreError>,
        /// Whether that holds only if the group at hand is kept.
        with_group: bool,
    },
}

/// The claims of all sessions.
#[derive(Debug)]
pub(crate) struct Claims {
    place: String,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By seat.
    claims: Vec<Option<Claim>>,
    seats: Sessions<Seat>,
    free: Vec<Seat>,
    epoch: u64,
    /// The last group that is acknowledged.
    kept: Group,
}

/// A session that is claimed. Its lines of memory are read for each append, so there are few.
///
/// Where its log ends is known twice, with the group at hand and without, and which of the two is
/// acknowledged is said by the group's number, once for all sessions.
#[derive(Debug)]
#[repr(align(64))]
struct Claim {
    epoch: Epoch,
    /// Whether the end is known: it is not once a group with an append to it failed.
    sound: bool,
    /// The group that brought the log to its end.
    group: Group,
    end: End,
    /// The last position before that group.
    before: Seq,
    latest: Option<Latest>,
}

/// A group that never is acknowledged.
const LOST: Group = Group(u64::MAX);

/// The append that brought a log to its end.
#[derive(Debug)]
struct Latest {
    after: Seq,
    before: Link,
}

impl Claims {
    pub(crate) fn new(place: String) -> Self {
        Self {
            place,
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No panic can leave the table half changed, so a poisoned lock is as good as any.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions that are claimed.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        self.table().seats.keys().cloned().collect()
    }

    /// The last position of a session's log as far as it is acknowledged, where it is claimed.
    pub(crate) fn kept(&self, session: &SessionId) -> Option<Seq> {
        let table = self.table();
        let (_, claim) = table.find(session)?;
        Some(claim.kept(table.kept))
    }

    /// The end of a log that is claimed, where it is known, while no group is at hand.
    pub(crate) fn end(&self, session: &SessionId) -> Option<End> {
        let table = self.table();
        let (_, claim) = table.find(session)?;
        claim.sound.then(|| claim.end.clone())
    }

    /// The seat of a session, or the one that it would have.
    pub(crate) fn seat(&self, session: &SessionId) -> Seat {
        let table = self.table();
        let seat = table.find(session).map(|(seat, _)| seat);
        seat.unwrap_or_else(|| table.next())
    }

    /// Gives a session, whose log ends there, to a new writer.
    pub(crate) fn claim(&self, session: &SessionId, end: End) -> (Epoch, Seat) {
        let mut table = self.table();
        table.epoch += 1;
        let epoch = Epoch(table.epoch);
        let claim = Claim {
            epoch,
            sound: true,
            group: Group::default(),
            before: end.last,
            end,
            latest: None,
        };
        let known = table.seats.get(session).copied();
        let seat = known.unwrap_or_else(|| table.next());
        if known.is_none() {
            table.free.pop();
            table.seats.insert(session.clone(), seat);
        }
        match table.claims.get_mut(seat.index()) {
            Some(at) => *at = Some(claim),
            None => table.claims.push(Some(claim)),
        }
        (epoch, seat)
    }

    /// Whether this is the latest claim, of which the end may be unknown.
    pub(crate) fn is_latest(&self, session: &SessionId, epoch: Epoch) -> bool {
        let table = self.table();
        let claim = table.find(session);
        claim.is_some_and(|(_, claim)| claim.epoch == epoch)
    }

    /// Whether this claim may write.
    pub(crate) fn holds(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let table = self.table();
        let claim = table.find(session);
        if claim.is_some_and(|(_, claim)| claim.epoch == epoch && claim.sound) {
            Ok(())
        } else {
            Err(not_claimed(&self.place, session, epoch))
        }
    }

    pub(crate) fn remove(&self, session: &SessionId) {
        let mut table = self.table();
        if let Some(seat) = table.seats.remove(session) {
            if let Some(claim) = table.claims.get_mut(seat.index()) {
                *claim = None;
            }
            table.free.push(seat);
        }
    }

    /// Notes that a group is kept: the ends of all sessions in it are acknowledged.
    pub(crate) fn keep(&self, group: Group) {
        self.table().kept = group;
    }

    /// Notes that nobody knows where a log ends: only a new claim finds out.
    pub(crate) fn doubt(&self, session: &SessionId) {
        let mut table = self.table();
        let kept = table.kept;
        let seat = table.seats.get(session).copied();
        if let Some(claim) = seat.and_then(|seat| table.at(seat)) {
            claim.before = claim.kept(kept);
            claim.group = LOST;
            claim.sound = false;
        }
    }

    /// Has the processor fetch the claims of these seats from memory.
    pub(crate) fn fetch(&self, seats: impl Iterator<Item = Seat>) {
        let mut table = self.table();
        for seat in seats {
            if let Some(claim) = table.at(seat) {
                let latest = claim.latest.as_ref().map(|latest| latest.after);
                black_box((
                    claim.epoch,
                    claim.end.last,
                    claim.end.link.0.first(),
                    latest,
                ));
            }
        }
    }

    /// Checks an append, and moves its log's end on. `seat` is that of the claim with this epoch, where
    /// whoever appends knew it.
    pub(crate) fn take(
        &self,
        append: Append,
        seat: Option<Seat>,
        epoch: Epoch,
        group: Group,
    ) -> Taken {
        let mut table = self.table();
        let batch = append.batch();
        let seat = seat.or_else(|| table.seats.get(&batch.session).copied());
        let claim = seat.and_then(|seat| Some((seat, table.at(seat)?)));
        // An epoch is of one claim, of all that there ever were.
        let claim = claim.filter(|(_, claim)| claim.epoch == epoch && claim.sound);
        let Some((seat, claim)) = claim else {
            return Taken::Answered {
                answer: Err(not_claimed(&self.place, &batch.session, epoch)),
                with_group: false,
            };
        };
        let last = claim.end.last;
        if last != batch.after {
            let answer = if claim.has(batch) {
                Ok(())
            } else {
                Err(conflict(&self.place, batch, last))
            };
            let with_group = claim.group == group;
            return Taken::Answered { answer, with_group };
        }
        let unit = append.on(&claim.end, seat);
        if claim.group != group {
            claim.group = group;
            claim.before = last;
        }
        claim.end.clone_from(&unit.end);
        claim.latest = Some(Latest {
            after: unit.batch.after,
            before: unit.before,
        });
        Taken::Unit(unit)
    }
}

impl Table {
    fn find(&self, session: &SessionId) -> Option<(Seat, &Claim)> {
        let seat = self.seats.get(session).copied()?;
        let claim = self.claims.get(seat.index())?.as_ref()?;
        Some((seat, claim))
    }

    fn at(&mut self, seat: Seat) -> Option<&mut Claim> {
        self.claims.get_mut(seat.index())?.as_mut()
    }

    /// The seat that the next session has.
    fn next(&self) -> Seat {
        let unused = || Seat(u32::try_from(self.claims.len()).unwrap_or(u32::MAX));
        self.free.last().copied().unwrap_or_else(unused)
    }
}

impl Claim {
    /// The last position that is acknowledged, where groups up to this one are.
    fn kept(&self, group: Group) -> Seq {
        match self.group <= group {
            true => self.end.last,
            false => self.before,
        }
    }

    /// Whether this is the append that brought the log to its end.
    fn has(&self, batch: &Batch) -> bool {
        let latest = self.latest.as_ref();
        latest.is_some_and(|latest| {
            latest.after == batch.after
                && self.end.last == batch.last()
                && batch.links(&latest.before).last() == Some(&self.end.link)
        })
    }
}

fn not_claimed(place: &str, session: &SessionId, epoch: Epoch) -> StoreError {
    StoreError::new(
        StoreErrorKind::NotClaimed,
        format!(
            "writing to session {session} in {place}: epoch {epoch} is not that of its latest claim; \
             another writer has taken over, it was released, or a write to it failed: claim it again"
        ),
    )
}

fn conflict(place: &str, batch: &Batch, last: Seq) -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict { last },
        format!(
            "appending to session {} in {place} after position {}: its log ends at {last}; read on \
             from there",
            batch.session, batch.after
        ),
    )
}
