//! The inbox: the letters of a store's sessions, behind the lock of its logs.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};
use windlass_core::{Epoch, SessionId};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{
    Durability, LogSignal, LogSignalSource, Mailbox, MailboxCapabilities, MailboxCommand,
    MailboxCommandId, MailboxError, MailboxErrorKind,
};

use crate::store::StoreState;

/// The most bytes of a letter, and of a reply.
const MAX_COMMAND_BYTES: usize = 1024 * 1024;
/// The most letters that wait in a session.
const MAX_COMMANDS: usize = 64;
/// Longest interval between two notices of waiting letters.
const AGAIN: Duration = Duration::from_millis(500);
const TOLD_MS: u64 = 1_000;
/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;

/// The inbox of a [`MemoryStore`](crate::MemoryStore): its letters go with the store object.
#[derive(Debug, Clone)]
pub struct MemoryMailbox {
    state: Arc<Mutex<StoreState>>,
    replies_ms: u64,
}

/// The letters of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    sessions: BTreeMap<SessionId, SessionMailbox>,
    arrivals: Vec<Arc<LogSignalSource>>,
    /// Wakes who waits for a reply.
    acknowledged: Arc<Notify>,
}

/// Letters and replies of a session.
#[derive(Debug, Default)]
struct SessionMailbox {
    commands: VecDeque<MailboxCommand>,
    /// Replies, oldest first.
    acknowledgements: VecDeque<StoredAcknowledgement>,
}

#[derive(Debug)]
struct StoredAcknowledgement {
    command: MailboxCommandId,
    bytes: Bytes,
    given: Instant,
}

impl MemoryMailbox {
    pub(crate) fn new(state: Arc<Mutex<StoreState>>, replies_ms: u64) -> Self {
        Self { state, replies_ms }
    }

    /// The state, in which the replies of a session that were kept for long enough are gone.
    ///
    /// No panic can leave it half changed, so a poisoned lock is as good as any.
    fn locked(&self, session: &SessionId) -> MutexGuard<'_, StoreState> {
        let mut state = self.state.lock();
        let kept_for = Duration::from_millis(self.replies_ms);
        let freed = state.mailboxes.expire(session, kept_for);
        state.free(freed);
        state
    }
}

impl Mailboxes {
    fn expire(&mut self, session: &SessionId, kept_for: Duration) -> u64 {
        let Some(kept) = self.sessions.get_mut(session) else {
            return 0;
        };
        let mut freed = 0;
        while let Some(reply) =
            kept.acknowledgements.pop_front_if(|reply| reply.given.elapsed() > kept_for)
        {
            freed += reply.bytes.len() as u64;
        }
        if kept.commands.is_empty() && kept.acknowledgements.is_empty() {
            self.sessions.remove(session);
        }
        freed
    }

    /// Takes a session's letters and replies away; answers the bytes that they had.
    pub(crate) fn erase(&mut self, session: &SessionId) -> u64 {
        let kept = self.sessions.remove(session).unwrap_or_default();
        let letters = kept.commands.iter().map(|letter| letter.bytes.len());
        let replies = kept.acknowledgements.iter().map(|reply| reply.bytes.len());
        letters.chain(replies).map(|bytes| bytes as u64).sum()
    }

    fn waiting(&self, after: Option<&SessionId>, limit: usize) -> Vec<SessionId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let sessions = self.sessions.range((start, Bound::Unbounded));
        let waiting = sessions.filter(|(_, kept)| !kept.commands.is_empty());
        waiting.take(limit).map(|(id, _)| id.clone()).collect()
    }

    /// Tells all who ask of a session.
    fn notify_arrival(&mut self, session: &SessionId) {
        self.arrivals.retain(|source| !source.is_closed());
        for source in &self.arrivals {
            source.publish(session);
        }
    }
}

impl SessionMailbox {
    fn acknowledgement(&self, letter: &MailboxCommandId) -> Option<&StoredAcknowledgement> {
        self.acknowledgements.iter().find(|reply| reply.command == *letter)
    }
}

#[async_trait]
impl Mailbox for MemoryMailbox {
    fn capabilities(&self) -> MailboxCapabilities {
        MailboxCapabilities {
            durability: Durability::Memory,
            max_command_bytes: MAX_COMMAND_BYTES,
            max_commands: MAX_COMMANDS,
            notify_within_ms: TOLD_MS,
            retain_acks_ms: self.replies_ms,
        }
    }

    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError> {
        fits(session, &letter.bytes)?;
        let mut state = self.locked(session);
        let kept = state.mailboxes.sessions.entry(session.clone()).or_default();
        let known = kept.commands.iter().any(|known| known.id == letter.id);
        if known || kept.acknowledgement(&letter.id).is_some() {
            return Ok(());
        }
        if kept.commands.len() >= MAX_COMMANDS {
            return Err(MailboxError::full(session, MAX_COMMANDS));
        }
        if !state.reserve(letter.bytes.len() as u64) {
            state.mailboxes.expire(session, Duration::MAX);
            return Err(no_room(session));
        }
        let kept = state.mailboxes.sessions.entry(session.clone()).or_default();
        kept.commands.push_back(letter.clone());
        state.mailboxes.notify_arrival(session);
        Ok(())
    }

    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError> {
        let state = self.locked(session);
        if !state.is_claimed(session, epoch) {
            return Err(MailboxError::not_claimed(session, epoch, "taking"));
        }
        let kept = state.mailboxes.sessions.get(session);
        let letters = kept.map(|kept| kept.commands.iter().take(limit).cloned().collect());
        Ok(letters.unwrap_or_default())
    }

    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError> {
        fits(session, reply)?;
        let mut state = self.locked(session);
        if !state.is_claimed(session, epoch) {
            return Err(MailboxError::not_claimed(session, epoch, "replying to"));
        }
        let waits =
            |kept: &SessionMailbox| kept.commands.iter().position(|known| known.id == *letter);
        let Some(at) = state.mailboxes.sessions.get(session).and_then(waits) else {
            return Ok(());
        };
        if !state.reserve(reply.len() as u64) {
            return Err(no_room(session));
        }
        let kept = state.mailboxes.sessions.entry(session.clone()).or_default();
        let gone = kept.commands.remove(at);
        kept.acknowledgements.push_back(StoredAcknowledgement {
            command: letter.clone(),
            bytes: Bytes::copy_from_slice(reply),
            given: Instant::now(),
        });
        state.free(gone.map_or(0, |letter| letter.bytes.len() as u64));
        state.mailboxes.acknowledged.notify_waiters();
        Ok(())
    }

    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError> {
        let look = || {
            let state = self.locked(session);
            let kept = state.mailboxes.sessions.get(session);
            let reply = kept.and_then(|kept| kept.acknowledgement(letter));
            reply.map(|reply| reply.bytes.clone())
        };
        let given = async {
            loop {
                let replied = self.locked(session).mailboxes.acknowledged.clone();
                let given = replied.notified();
                if let Some(reply) = look() {
                    return reply;
                }
                given.await;
            }
        };
        match tokio::time::timeout(patience, given).await {
            Ok(reply) => Ok(Some(reply)),
            Err(_over) => Ok(look()),
        }
    }

    fn arrivals(&self) -> LogSignal {
        let (source, news) = LogSignal::new(NEWS);
        let source = Arc::new(source);
        let mut state = self.state.lock();
        state.mailboxes.arrivals.push(Arc::clone(&source));
        drop(state);
        tokio::spawn(notify_again(Arc::downgrade(&self.state), source));
        news
    }

    async fn pending_sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, MailboxError> {
        let state = self.state.lock();
        Ok(state.mailboxes.waiting(after, limit))
    }
}

/// Tells of what waits, now and again, as much as there is room for.
async fn notify_again(state: Weak<Mutex<StoreState>>, source: Arc<LogSignalSource>) {
    let mut ticks = tokio::time::interval(AGAIN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut after = None;
    loop {
        ticks.tick().await;
        let Some(state) = state.upgrade().filter(|_| !source.is_closed()) else {
            return;
        };
        let state = state.lock();
        let waiting = state.mailboxes.waiting(after.as_ref(), NEWS);
        drop(state);
        // What has no room now comes first the next time.
        let told = waiting.into_iter().take_while(|session| source.publish(session));
        after = told.last();
    }
}

fn fits(session: &SessionId, bytes: &[u8]) -> Result<(), MailboxError> {
    if bytes.len() > MAX_COMMAND_BYTES {
        return Err(MailboxError::too_large(session, bytes.len(), MAX_COMMAND_BYTES));
    }
    Ok(())
}

fn no_room(session: &SessionId) -> MailboxError {
    let context = format!(
        "a letter for session {session} would pass the bytes that this memory store holds: use a \
         store on disk"
    );
    MailboxError::new(MailboxErrorKind::Full, context)
}
