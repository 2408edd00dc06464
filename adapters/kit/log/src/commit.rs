//! The pipeline's thread: it gathers the appends of all sessions into one commit, and answers them
//! once the medium has kept it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use windlass_core::{Epoch, SessionId};
use windlass_ports::{Claimed, Repair, StoreError, StoreErrorKind};

use crate::claims::{Claims, Group, Taken};
use crate::hints::{Hint, Hints};
use crate::medium::{End, Medium, Unit};
use crate::pipeline::Bounds;
use crate::queue::{Asked, Done, Request, Stopped, Waiting, same};
use crate::tails::Tails;
use crate::watch::{GivenUp, Watched};

/// What the store object and the pipeline's threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) place: String,
    pub(crate) bounds: Bounds,
    pub(crate) watched: Watched,
    pub(crate) stopped: Stopped,
    pub(crate) claims: Claims,
    pub(crate) hints: Hints,
    pub(crate) tails: Tails,
    pub(crate) room: Semaphore,
}

/// How many appends are looked at together, so that the processor fetches what all of them need from
/// memory at a time and not one after the other: fewer than its nearest cache holds.
const ABREAST: usize = 24;

/// The thread's state.
pub(crate) struct Committer<M> {
    shared: Arc<Shared>,
    medium: M,
    group: Group,
    /// Empty: for the appends that are looked at together.
    taken: Vec<Asked>,
    /// How many appends the last group had: about as many as the next will have.
    lately: usize,
}

/// Appends that are kept together.
#[derive(Default)]
#[expect(
    clippy::vec_box,
    reason = "whoever appends makes it and frees it; the pipeline's thread only passes it on"
)]
struct Gathered {
    units: Vec<Box<Unit>>,
    waiting: Vec<Waiting>,
    bytes: usize,
    room: usize,
}

/// What the medium did, and whoever waits for it.
type Did<T> = (Result<T, StoreError>, Vec<Waiting>);

impl<M: Medium> Committer<M> {
    pub(crate) fn new(shared: Arc<Shared>, medium: M) -> Self {
        Self {
            shared,
            medium,
            group: Group(1),
            taken: Vec::with_capacity(ABREAST),
            lately: 0,
        }
    }

    /// Serves requests until nobody can make any more, or the watch has given the medium up.
    pub(crate) fn run(mut self) {
        let shared = self.shared.clone();
        // After how long the medium wants to be called, where it does.
        let mut within = Some(Duration::ZERO);
        loop {
            let served = match shared.watched.next(within) {
                Ok(asked) => self.serve(asked).map(|()| Some(Duration::ZERO)),
                Err(RecvTimeoutError::Timeout) => self.rest(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            match served {
                Ok(next) => within = next,
                Err(GivenUp) => return,
            }
        }
    }

    /// Serves a request and what waits behind it, up to the first that is no append.
    fn serve(&mut self, first: Asked) -> Result<(), GivenUp> {
        let shared = self.shared.clone();
        let mut gathered = Gathered {
            units: Vec::with_capacity(self.lately),
            waiting: Vec::with_capacity(self.lately),
            ..Gathered::default()
        };
        let now = Instant::now();
        let mut other = None;
        let mut first = Some(first);
        while other.is_none() && !self.is_full(&gathered) {
            let mut taken = std::mem::take(&mut self.taken);
            let mut appends = gathered.units.len();
            let mut bytes = gathered.bytes;
            let mut take = |asked: Asked| {
                if !matches!(asked.request, Request::Append { .. }) {
                    other = Some(asked);
                    return false;
                }
                appends += 1;
                bytes = bytes.saturating_add(asked.bytes);
                taken.push(asked);
                let Bounds {
                    group_appends,
                    group_bytes,
                    ..
                } = shared.bounds;
                taken.len() < ABREAST && appends < group_appends && bytes < group_bytes
            };
            if first.take().is_none_or(&mut take) {
                shared.watched.gather(&mut take);
            }
            if taken.is_empty() {
                self.taken = taken;
                break;
            }
            shared.claims.fetch(taken.iter().filter_map(Asked::fetch));
            for asked in taken.drain(..) {
                self.gather(asked, now, &mut gathered);
            }
            self.taken = taken;
        }
        self.lately = gathered.units.len();
        shared.watched.put_behind(other);
        self.keep(gathered)?;
        if let Some(other) = shared.watched.take_behind() {
            let room = other.room;
            self.serve_other(other)?;
            shared.room.add_permits(room as usize);
        }
        Ok(())
    }

    fn is_full(&self, gathered: &Gathered) -> bool {
        let bounds = &self.shared.bounds;
        gathered.units.len() >= bounds.group_appends || gathered.bytes >= bounds.group_bytes
    }

    /// Takes an append into a group, or answers it.
    fn gather(&mut self, asked: Asked, now: Instant, gathered: &mut Gathered) {
        let Asked {
            request, at, room, ..
        } = asked;
        let Request::Append {
            append,
            seat,
            epoch,
            answer,
        } = request
        else {
            return;
        };
        gathered.room += room as usize;
        if let Err(error) = self.may_begin(at, now) {
            let _ = answer.send(Err(Box::new(error)));
            return;
        }
        match self.shared.claims.take(append, seat, epoch, self.group) {
            Taken::Unit(unit) => {
                gathered.bytes = gathered.bytes.saturating_add(unit.batch.bytes);
                gathered.units.push(unit);
                gathered.waiting.push(Waiting::Unit(answer));
            }
            Taken::Answered {
                answer: outcome,
                with_group: true,
            } => gathered
                .waiting
                .push(Waiting::Append(answer, Box::new(outcome))),
            Taken::Answered {
                answer: outcome,
                with_group: false,
            } => {
                let _ = answer.send(outcome.map(|()| None).map_err(Box::new));
            }
        }
    }

    /// Keeps a group and answers it.
    fn keep(&mut self, gathered: Gathered) -> Result<(), GivenUp> {
        let Gathered {
            units,
            waiting,
            room,
            ..
        } = gathered;
        if units.is_empty() {
            self.shared.room.add_permits(room);
            return Ok(());
        }
        let group = self.group;
        self.group = Group(group.0 + 1);
        let (kept, waiting) =
            self.guarded("appending to", waiting, |medium| medium.keep(&units))?;
        if let Err(error) = &kept {
            for unit in &units {
                self.shared.claims.doubt(&unit.batch.session);
            }
            tracing::warn!(%error, appends = units.len(), "a commit to {} failed", self.shared.place);
            // What was said of an append of this very group stands only if the group does.
            answer_all(kept, waiting);
            self.shared.room.add_permits(room);
            return Ok(());
        }
        self.shared.claims.keep(group);
        let sessions = units.iter().map(|unit| &unit.batch.session);
        self.shared.tails.wake(sessions);
        let mut units = units.into_iter();
        let mut waiting = waiting.into_iter();
        while !waiting.as_slice().is_empty() {
            let next = waiting.as_slice().iter().take(ABREAST);
            next.for_each(Waiting::fetch);
            for waiting in waiting.by_ref().take(ABREAST) {
                waiting.kept(&mut units);
            }
        }
        self.shared.room.add_permits(room);
        Ok(())
    }

    fn serve_other(&mut self, asked: Asked) -> Result<(), GivenUp> {
        if let Err(error) = self.may_begin(asked.at, Instant::now()) {
            asked.request.refuse(error);
            return Ok(());
        }
        match asked.request {
            Request::Claim { session, answer } => self.claim(&session, answer),
            Request::Release {
                session,
                epoch,
                answer,
            } => self.release(&session, epoch, answer),
            Request::Erase {
                session,
                epoch,
                answer,
            } => self.erase(&session, epoch, answer),
            // Appends are gathered.
            Request::Append { .. } => Ok(()),
        }
    }

    fn claim(
        &mut self,
        session: &SessionId,
        answer: oneshot::Sender<Result<Claimed, StoreError>>,
    ) -> Result<(), GivenUp> {
        if let Some(end) = self.shared.claims.end(session) {
            let claimed = self.shared.claim(session, end, None);
            let _ = answer.send(Ok(claimed));
            return Ok(());
        }
        let seat = self.shared.claims.seat(session);
        let waiting = vec![Waiting::Claim(answer)];
        let doing = format!("claiming session {session} in");
        let admit = |medium: &mut M| medium.admit(session, seat);
        let (admitted, waiting) = self.guarded(&doing, waiting, admit)?;
        let (end, repaired) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => {
                answer_all(Err(error), waiting);
                return Ok(());
            }
        };
        let claimed = self.shared.claim(session, end, repaired);
        for waiting in waiting {
            waiting.claimed(&claimed);
        }
        Ok(())
    }

    fn release(&mut self, session: &SessionId, epoch: Epoch, answer: Done) -> Result<(), GivenUp> {
        if !self.shared.claims.is_latest(session, epoch) {
            let _ = answer.send(Ok(()));
            return Ok(());
        }
        self.shared.forget(session);
        let waiting = vec![Waiting::Done(answer, Ok(()))];
        let doing = format!("releasing session {session} in");
        let let_go = |medium: &mut M| {
            medium.let_go(session);
            Ok(())
        };
        let (done, waiting) = self.guarded(&doing, waiting, let_go)?;
        answer_all(done, waiting);
        Ok(())
    }

    fn erase(&mut self, session: &SessionId, epoch: Epoch, answer: Done) -> Result<(), GivenUp> {
        if let Err(error) = self.shared.claims.holds(session, epoch) {
            let _ = answer.send(Err(error));
            return Ok(());
        }
        let waiting = vec![Waiting::Done(answer, Ok(()))];
        let doing = format!("erasing session {session} in");
        let (done, waiting) = self.guarded(&doing, waiting, |medium| medium.erase(session))?;
        if done.is_ok() {
            self.shared.forget(session);
        } else {
            self.shared.claims.doubt(session);
        }
        answer_all(done, waiting);
        self.shared.tails.wake(std::iter::once(session));
        Ok(())
    }

    /// Lets the medium do its upkeep, and says after how long it wants to do more.
    fn rest(&mut self) -> Result<Option<Duration>, GivenUp> {
        if self.shared.stopped.check().is_err() {
            return Ok(None);
        }
        let (rested, _) = self.guarded("keeping up", Vec::new(), Medium::rest)?;
        Ok(rested.unwrap_or_else(|error| {
            tracing::warn!(%error, "the upkeep of {} failed", self.shared.place);
            None
        }))
    }

    /// Whether a request may be begun: the store has not stopped, and it has not waited too long.
    fn may_begin(&self, asked: Instant, now: Instant) -> Result<(), StoreError> {
        self.shared.stopped.check()?;
        if now.duration_since(asked) > self.shared.bounds.patience {
            return Err(self.shared.too_busy());
        }
        Ok(())
    }

    /// Calls the medium under the watch. Its panic is an error that stops the pipeline.
    fn guarded<T>(
        &mut self,
        doing: &str,
        waiting: Vec<Waiting>,
        work: impl FnOnce(&mut M) -> Result<T, StoreError>,
    ) -> Result<Did<T>, GivenUp> {
        let Shared {
            place,
            watched,
            stopped,
            ..
        } = &*self.shared;
        let medium = &mut self.medium;
        watched.begin(waiting);
        let done = catch_unwind(AssertUnwindSafe(|| {
            let done = work(medium);
            if let Err(error) = &done
                && medium.is_over()
            {
                stopped.stop(place, error);
            }
            done
        }));
        let done = done.unwrap_or_else(|panic| {
            let error = StoreError::new(
                StoreErrorKind::Io,
                format!(
                    "{doing} {place}: its disk or database panicked: {}; end this process and \
                     open the store again",
                    message(&*panic)
                ),
            );
            stopped.stop(place, &error);
            Err(error)
        });
        Ok((done, watched.end()?))
    }
}

impl Shared {
    /// Gives a session, whose log ends there, to a new writer.
    fn claim(&self, session: &SessionId, end: End, repaired: Option<Repair>) -> Claimed {
        let (epoch, seat) = self.claims.claim(session, end.clone());
        let last = end.last;
        self.hints.set(session, Hint { epoch, seat, end });
        Claimed {
            epoch,
            last,
            repaired,
        }
    }

    fn forget(&self, session: &SessionId) {
        self.claims.remove(session);
        self.hints.remove(session);
    }

    /// Nothing was done, since others were before.
    pub(crate) fn too_busy(&self) -> StoreError {
        StoreError::new(
            StoreErrorKind::Unavailable,
            format!(
                "writing to {}: what others asked before was not done within {} s, and this was not \
                 begun; ask again later, from fewer sessions at once",
                self.place,
                self.bounds.patience.as_secs_f32()
            ),
        )
    }
}

/// Answers all who waited for the medium. The error's source goes to the last of them.
fn answer_all(done: Result<(), StoreError>, mut waiting: Vec<Waiting>) {
    match done {
        Ok(()) => waiting.into_iter().for_each(Waiting::done),
        Err(error) => {
            let last = waiting.pop();
            waiting
                .into_iter()
                .for_each(|waiting| waiting.refuse(same(&error)));
            if let Some(last) = last {
                last.refuse(error);
            }
        }
    }
}

/// What a panic said.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").chars().take(300).collect()
}
