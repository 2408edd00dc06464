//! Who may append and where: pure, and the pipeline's thread alone has it.

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{Link, StoreError, StoreErrorKind};

use crate::batch::Batch;
use crate::hash::Sessions;
use crate::medium::{End, Unit};
use crate::queue::Append;

/// The number of a group of appends that are kept together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The claims of all sessions, with the ends of their logs as they will be once the group at hand is
/// kept.
#[derive(Debug)]
pub(crate) struct Claims {
    place: String,
    claims: Sessions<Claim>,
    epoch: Epoch,
}

#[derive(Debug)]
struct Claim {
    epoch: Epoch,
    end: End,
    /// Whether the end is known: it is not once a group with an append to it failed.
    sound: bool,
    latest: Option<Latest>,
}

/// The append that brought a log to its end.
#[derive(Debug)]
struct Latest {
    after: Seq,
    before: Link,
    group: Group,
}

impl Claims {
    pub(crate) fn new(place: String) -> Self {
        Self {
            place,
            claims: Sessions::default(),
            epoch: Epoch(0),
        }
    }

    /// The end of a log that is claimed, where it is known.
    pub(crate) fn end(&self, session: &SessionId) -> Option<&End> {
        let claim = self.claims.get(session).filter(|claim| claim.sound);
        claim.map(|claim| &claim.end)
    }

    /// Gives a session, whose log ends there, to a new writer.
    pub(crate) fn claim(&mut self, session: &SessionId, end: End) -> Epoch {
        self.epoch = Epoch(self.epoch.0 + 1);
        let claim = Claim {
            epoch: self.epoch,
            end,
            sound: true,
            latest: None,
        };
        self.claims.insert(session.clone(), claim);
        self.epoch
    }

    /// Whether this is the latest claim, of which the end may be unknown.
    pub(crate) fn is_latest(&self, session: &SessionId, epoch: Epoch) -> bool {
        let claim = self.claims.get(session);
        claim.is_some_and(|claim| claim.epoch == epoch)
    }

    /// Whether this claim may write.
    pub(crate) fn holds(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        match self.claims.get(session) {
            Some(claim) if claim.epoch == epoch && claim.sound => Ok(()),
            Some(_) | None => Err(self.not_claimed(session, epoch)),
        }
    }

    pub(crate) fn remove(&mut self, session: &SessionId) {
        self.claims.remove(session);
    }

    /// Notes that nobody knows where a log ends: only a new claim finds out.
    pub(crate) fn doubt(&mut self, session: &SessionId) {
        if let Some(claim) = self.claims.get_mut(session) {
            claim.sound = false;
        }
    }

    /// Checks an append, and moves its log's end on.
    pub(crate) fn take(&mut self, append: Append, epoch: Epoch, group: Group) -> Taken {
        let batch = append.batch();
        let claim = self.claims.get_mut(&batch.session);
        let Some(claim) = claim.filter(|claim| claim.epoch == epoch && claim.sound) else {
            return Taken::Answered {
                answer: Err(self.not_claimed(&batch.session, epoch)),
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
            let with_group = claim.latest.as_ref().is_some_and(|it| it.group == group);
            return Taken::Answered { answer, with_group };
        }
        let unit = append.on(&claim.end);
        claim.end.clone_from(&unit.end);
        claim.latest = Some(Latest {
            after: unit.before.last,
            before: unit.before.link,
            group,
        });
        Taken::Unit(unit)
    }

    fn not_claimed(&self, session: &SessionId, epoch: Epoch) -> StoreError {
        StoreError::new(
            StoreErrorKind::NotClaimed,
            format!(
                "writing to session {session} in {}: epoch {epoch} is not that of its latest claim; \
                 another writer has taken over, it was released, or a write to it failed: claim it \
                 again",
                self.place
            ),
        )
    }
}

impl Claim {
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
