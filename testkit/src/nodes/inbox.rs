//! A node's inbox: letters in memory, with the faults of a script.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use windlass_core::{Epoch, SessionId};
use windlass_ports::{
    Durability, LogSignal, LogSignalSource, Mailbox, MailboxCapabilities, MailboxCommand,
    MailboxCommandId, MailboxError, MailboxErrorKind,
};

use super::{InboxFault, InboxOperation, Kept, Node};

/// The most bytes of a letter, and of a reply.
const LETTER_BYTES: usize = 8_192;
/// The most letters that wait in a session.
const LETTERS: usize = 64;
/// How long replies are kept.
pub(super) const REPLIES_MS: u64 = 60_000;
/// How often it is told again what waits, and within what time therefore.
const AGAIN: Duration = Duration::from_millis(500);
const TOLD_MS: u64 = 1_000;

pub(super) struct NodeInbox(pub(super) Node);

/// The letters of all sessions.
#[derive(Default)]
pub(super) struct Letters {
    waiting: BTreeMap<SessionId, VecDeque<MailboxCommand>>,
    replies: BTreeMap<(SessionId, MailboxCommandId), (Instant, Bytes)>,
    asking: Vec<Arc<LogSignalSource>>,
    replied: Arc<Notify>,
}

impl Letters {
    pub(super) fn count(&self, session: &SessionId) -> usize {
        self.waiting.get(session).map_or(0, VecDeque::len)
    }

    pub(super) fn erase(&mut self, session: &SessionId) {
        self.waiting.remove(session);
        self.replies.retain(|(of, _), _| of != session);
    }

    fn reply(&self, session: &SessionId, letter: &MailboxCommandId, kept_ms: u64) -> Option<Bytes> {
        let key = (session.clone(), letter.clone());
        let (at, bytes) = self.replies.get(&key)?;
        (at.elapsed() <= Duration::from_millis(kept_ms)).then(|| bytes.clone())
    }

    fn tell(&mut self, session: &SessionId) {
        self.asking.retain(|source| !source.is_closed());
        for source in &self.asking {
            source.publish(session);
        }
    }
}

impl NodeInbox {
    /// Does something, with the faults of an operation before and after it.
    async fn with_faults<T: Send>(
        &self,
        operation: InboxOperation,
        act: impl FnOnce(&mut Kept) -> Result<T, MailboxError> + Send,
    ) -> Result<T, MailboxError> {
        self.0.whole().await;
        let mut after = Vec::new();
        for fault in self.0.place.faults(operation) {
            match fault {
                InboxFault::Wait(gate) => gate.pass().await,
                InboxFault::Fail(kind) => return Err(scripted(kind)),
                InboxFault::WaitAfter(_) | InboxFault::FailAfter(_) => after.push(fault),
            }
        }
        let done = act(&mut self.0.place.shared.kept.lock())?;
        for fault in after {
            match fault {
                InboxFault::WaitAfter(gate) => gate.pass().await,
                InboxFault::FailAfter(kind) => return Err(scripted(kind)),
                InboxFault::Wait(_) | InboxFault::Fail(_) => {}
            }
        }
        // A node that was cut off meanwhile does not hear of it.
        self.0.whole().await;
        Ok(done)
    }
}

#[async_trait]
impl Mailbox for NodeInbox {
    fn capabilities(&self) -> MailboxCapabilities {
        MailboxCapabilities {
            durability: Durability::Memory,
            max_command_bytes: LETTER_BYTES,
            max_commands: LETTERS,
            notify_within_ms: TOLD_MS,
            retain_acks_ms: self.0.place.replies_ms,
        }
    }

    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError> {
        fits(session, &letter.bytes)?;
        let kept_ms = self.0.place.replies_ms;
        self.with_faults(InboxOperation::Leave, |kept| {
            let letters = &mut kept.letters;
            let waiting = letters.waiting.get(session);
            let known = waiting.is_some_and(|all| all.iter().any(|one| one.id == letter.id));
            if known || letters.reply(session, &letter.id, kept_ms).is_some() {
                return Ok(());
            }
            if letters.count(session) >= LETTERS {
                return Err(MailboxError::full(session, LETTERS));
            }
            let waiting = letters.waiting.entry(session.clone()).or_default();
            waiting.push_back(letter.clone());
            letters.tell(session);
            Ok(())
        })
        .await
    }

    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError> {
        self.with_faults(InboxOperation::Letters, |kept| {
            claimed(kept, session, epoch, "taking")?;
            let waiting = kept.letters.waiting.get(session).into_iter().flatten();
            Ok(waiting.take(limit).cloned().collect())
        })
        .await
    }

    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError> {
        fits(session, reply)?;
        self.with_faults(InboxOperation::Reply, |kept| {
            claimed(kept, session, epoch, "replying to")?;
            let letters = &mut kept.letters;
            let waiting = letters.waiting.get_mut(session);
            let at = |all: &VecDeque<MailboxCommand>| all.iter().position(|one| one.id == *letter);
            let Some((waiting, at)) = waiting.and_then(|all| at(all).map(|at| (all, at))) else {
                return Ok(());
            };
            waiting.remove(at);
            if waiting.is_empty() {
                letters.waiting.remove(session);
            }
            let bytes = Bytes::copy_from_slice(reply);
            let key = (session.clone(), letter.clone());
            letters.replies.insert(key, (Instant::now(), bytes));
            letters.replied.notify_waiters();
            Ok(())
        })
        .await
    }

    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError> {
        self.with_faults(InboxOperation::Replied, |_| Ok(())).await?;
        let place = &self.0.place;
        let look = || {
            let kept = place.shared.kept.lock();
            kept.letters.reply(session, letter, place.replies_ms)
        };
        let given = async {
            loop {
                let replied = place.shared.kept.lock().letters.replied.clone();
                let given = replied.notified();
                if let Some(reply) = look() {
                    return reply;
                }
                given.await;
            }
        };
        match timeout(patience, given).await {
            Ok(reply) => Ok(Some(reply)),
            Err(_over) => Ok(look()),
        }
    }

    fn arrivals(&self) -> LogSignal {
        let (source, news) = LogSignal::new(1_024);
        let source = Arc::new(source);
        let shared = Arc::clone(&self.0.place.shared);
        shared.kept.lock().letters.asking.push(Arc::clone(&source));
        let shared = Arc::downgrade(&shared);
        tokio::spawn(async move {
            let mut ticks = interval(AGAIN);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(shared) = shared.upgrade().filter(|_| !source.is_closed()) else {
                    return;
                };
                for session in shared.kept.lock().letters.waiting.keys() {
                    source.publish(session);
                }
            }
        });
        news
    }

    async fn pending_sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, MailboxError> {
        self.0.whole().await;
        let kept = self.0.place.shared.kept.lock();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let sessions = kept.letters.waiting.range::<SessionId, _>((start, Bound::Unbounded));
        Ok(sessions.take(limit).map(|(id, _)| id.clone()).collect())
    }
}

fn claimed(
    kept: &Kept,
    session: &SessionId,
    epoch: Epoch,
    doing: &str,
) -> Result<(), MailboxError> {
    match kept.holder(session) {
        Some(held) if held.epoch == epoch => Ok(()),
        Some(_) | None => Err(MailboxError::not_claimed(session, epoch, doing)),
    }
}

fn fits(session: &SessionId, bytes: &[u8]) -> Result<(), MailboxError> {
    if bytes.len() > LETTER_BYTES {
        return Err(MailboxError::too_large(session, bytes.len(), LETTER_BYTES));
    }
    Ok(())
}

fn scripted(kind: MailboxErrorKind) -> MailboxError {
    let context = format!("the script says that the inbox fails: {kind:?}");
    MailboxError::new(kind, context)
}
