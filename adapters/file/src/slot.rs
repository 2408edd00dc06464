//! A slot: one session in this process. Its operations queue up and are done one after another,
//! so that a claim comes after the appends before it, whether anybody still waits for them or
//! not. Appends that queue up behind one another become one unit, with one sync.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{Claimed, StoreError, StoreErrorKind};

use crate::disk::Disk;
use crate::error;
use crate::places::{Locked, Places};
use crate::writer::Writer;

/// The most operations of one session that may wait.
const MOST_WAITING: usize = 1_024;
/// The most bytes that are put together into one unit.
const MOST_TOGETHER: usize = 4 * 1024 * 1024;
/// Says that where the log ends is for the file to tell.
const NOT_KNOWN: u64 = u64::MAX;

/// What all slots of a store share.
pub(crate) struct Shared {
    pub(crate) places: Places,
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) epochs: AtomicU64,
}

/// An operation and where its answer goes. Nobody may be waiting for it any more.
pub(crate) enum Op {
    Claim {
        reply: oneshot::Sender<Result<Claimed, StoreError>>,
    },
    Release {
        epoch: Epoch,
        reply: oneshot::Sender<Result<(), StoreError>>,
    },
    Append(Append),
}

/// An append of facts that are already encoded, and numbered on from `after`.
pub(crate) struct Append {
    pub(crate) epoch: Epoch,
    pub(crate) after: Seq,
    pub(crate) bodies: Vec<Vec<u8>>,
    pub(crate) reply: oneshot::Sender<Result<(), StoreError>>,
}

/// One session in this process.
pub(crate) struct Slot {
    session: SessionId,
    shared: Arc<Shared>,
    inbox: Mutex<Inbox>,
    writer: Mutex<Option<Writer>>,
    known_end: AtomicU64,
}

#[derive(Default)]
struct Inbox {
    waiting: VecDeque<Op>,
    /// Whether a thread has the slot, or it waits for one.
    scheduled: bool,
    claimed: bool,
}

impl Slot {
    pub(crate) fn new(session: SessionId, shared: Arc<Shared>) -> Self {
        Self {
            session,
            shared,
            inbox: Mutex::default(),
            writer: Mutex::default(),
            known_end: AtomicU64::new(NOT_KNOWN),
        }
    }

    /// Queues an operation. Answers whether the slot must be handed to a thread.
    pub(crate) fn push(&self, op: Op) -> Result<bool, StoreError> {
        let mut inbox = self.inbox();
        if inbox.waiting.len() >= MOST_WAITING {
            return Err(error::busy(&self.session));
        }
        inbox.waiting.push_back(op);
        Ok(!mem::replace(&mut inbox.scheduled, true))
    }

    /// Whether the slot holds nothing and has nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        let inbox = self.inbox();
        !inbox.scheduled && !inbox.claimed
    }

    /// Where the log ends for sure, while this process writes it.
    pub(crate) fn known_end(&self) -> Option<u64> {
        let end = self.known_end.load(Ordering::SeqCst);
        (end != NOT_KNOWN).then_some(end)
    }

    /// Does what waits. Answers whether more came meanwhile, so that a thread must come again.
    pub(crate) fn run(&self) -> bool {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let ops = mem::take(&mut self.inbox().waiting);
        let mut together = Vec::new();
        for op in ops {
            match op {
                Op::Append(append) => self.gather(&mut writer, &mut together, append),
                Op::Claim { reply } => {
                    self.write(&mut writer, &mut together);
                    let claimed = self.claim(&mut writer);
                    self.note_end(writer.as_ref());
                    let _ = reply.send(claimed);
                }
                Op::Release { epoch, reply } => {
                    self.write(&mut writer, &mut together);
                    if writer
                        .as_ref()
                        .is_some_and(|writer| writer.epoch() == epoch)
                    {
                        // Readers must not hold the file to an end that others may now move.
                        self.note_end(None);
                        *writer = None;
                    }
                    let _ = reply.send(Ok(()));
                }
            }
        }
        self.write(&mut writer, &mut together);
        self.end_run(writer.is_some())
    }

    /// Gives the claim up after a run that panicked; what it was doing is answered as an error.
    /// Answers as [`Self::run`] does.
    pub(crate) fn abandon(&self) -> bool {
        tracing::error!(session = %self.session, "the writer of a session panicked");
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.note_end(None);
        *writer = None;
        self.end_run(false)
    }

    /// Notes how a run ended. Answers whether more came meanwhile.
    fn end_run(&self, claimed: bool) -> bool {
        let mut inbox = self.inbox();
        inbox.claimed = claimed;
        inbox.scheduled = !inbox.waiting.is_empty();
        inbox.scheduled
    }

    /// Adds an append to those that will be written together, or refuses it.
    fn gather(&self, writer: &mut Option<Writer>, together: &mut Vec<Append>, append: Append) {
        let held: usize = together
            .iter()
            .flat_map(|one| &one.bodies)
            .map(Vec::len)
            .sum();
        let more: usize = append.bodies.iter().map(Vec::len).sum();
        if held + more > MOST_TOGETHER {
            self.write(writer, together);
        }
        let count: usize = together.iter().map(|one| one.bodies.len()).sum();
        let refusal = match writer {
            Some(writer) if writer.epoch() == append.epoch => {
                let last = writer.last().plus(count as u64);
                (append.after != last).then(|| error::conflict(&self.session, append.after, last))
            }
            Some(_) | None => Some(error::not_claimed(&self.session, append.epoch)),
        };
        match refusal {
            // What this one conflicts with may itself not come to pass: that is known only once
            // it is written.
            Some(refusal)
                if matches!(refusal.kind, StoreErrorKind::Conflict { .. }) && count > 0 =>
            {
                self.write(writer, together);
                self.gather(writer, together, append);
            }
            Some(refusal) => {
                let _ = append.reply.send(Err(refusal));
            }
            None => together.push(append),
        }
    }

    /// Writes the appends that were put together, as one unit, and answers them.
    fn write(&self, writer: &mut Option<Writer>, together: &mut Vec<Append>) {
        let (Some(writer), false) = (writer, together.is_empty()) else {
            return;
        };
        let (mut bodies, mut replies) = (Vec::new(), Vec::new());
        for append in together.drain(..) {
            bodies.extend(append.bodies);
            replies.push(append.reply);
        }
        let written = writer.append(&bodies);
        self.note_end(Some(writer));
        let mut replies = replies.into_iter();
        if let Err(error) = written {
            let (kind, context) = (error.kind.clone(), error.context.clone());
            if let Some(first) = replies.next() {
                let _ = first.send(Err(error));
            }
            for reply in replies {
                let _ = reply.send(Err(StoreError::new(kind.clone(), context.clone())));
            }
            return;
        }
        for reply in replies {
            let _ = reply.send(Ok(()));
        }
    }

    fn claim(&self, writer: &mut Option<Writer>) -> Result<Claimed, StoreError> {
        let epoch = Epoch(self.shared.epochs.fetch_add(1, Ordering::SeqCst) + 1);
        let taken = writer.take();
        let fresh = taken.is_none();
        let (path, file) = match taken {
            Some(mut held) if !held.is_poisoned() => {
                let claimed = held.take_over(epoch);
                *writer = Some(held);
                return Ok(claimed);
            }
            Some(held) => held.into_file(),
            None => {
                let places = &self.shared.places;
                let path = places.log(&self.session);
                let at = |error| error::from_io(error, "claiming", &path);
                places.create().map_err(at)?;
                let file = match places.lock(&path).map_err(at)? {
                    Locked::Ours(file) => self.shared.disk.take(file),
                    Locked::Theirs => return Err(error::locked(&self.session, &path)),
                };
                (path, file)
            }
        };
        let (recovered, claimed) = Writer::recover(&self.session, path, file, epoch)?;
        if fresh {
            let folder = self.shared.places.sessions();
            let synced = self.shared.places.sync();
            synced.map_err(|error| error::from_io(error, "making durable", &folder))?;
        }
        *writer = Some(recovered);
        Ok(claimed)
    }

    fn note_end(&self, writer: Option<&Writer>) {
        let end = writer.map_or(NOT_KNOWN, Writer::end_offset);
        self.known_end.store(end, Ordering::SeqCst);
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
