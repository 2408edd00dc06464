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
    Durability, Inbox, InboxCapabilities, InboxError, InboxErrorKind, Letter, LetterId, News,
    NewsSource,
};

use crate::store::State;

/// The most bytes of a letter, and of a reply.
const LETTER_BYTES: usize = 1024 * 1024;
/// The most letters that wait in a session.
const LETTERS: usize = 64;
/// Longest interval between two notices of waiting letters.
const AGAIN: Duration = Duration::from_millis(500);
const TOLD_MS: u64 = 1_000;
/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;

/// The inbox of a [`MemoryStore`](crate::MemoryStore): its letters go with the store object.
#[derive(Debug, Clone)]
pub struct MemoryInbox {
    state: Arc<Mutex<State>>,
    replies_ms: u64,
}

/// The letters of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    sessions: BTreeMap<SessionId, Kept>,
    arrivals: Vec<Arc<NewsSource>>,
    /// Wakes who waits for a reply.
    replied: Arc<Notify>,
}

/// Letters and replies of a session.
#[derive(Debug, Default)]
struct Kept {
    letters: VecDeque<Letter>,
    /// Replies, oldest first.
    replies: VecDeque<Reply>,
}

#[derive(Debug)]
struct Reply {
    letter: LetterId,
    bytes: Bytes,
    given: Instant,
}

impl MemoryInbox {
    pub(crate) fn new(state: Arc<Mutex<State>>, replies_ms: u64) -> Self {
        Self { state, replies_ms }
    }

    /// The state, in which the replies of a session that were kept for long enough are gone.
    ///
    /// No panic can leave it half changed, so a poisoned lock is as good as any.
    fn of(&self, session: &SessionId) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let kept_for = Duration::from_millis(self.replies_ms);
        let freed = state.letters.expire(session, kept_for);
        state.free(freed);
        state
    }
}

impl Letters {
    fn expire(&mut self, session: &SessionId, kept_for: Duration) -> u64 {
        let Some(kept) = self.sessions.get_mut(session) else {
            return 0;
        };
        let mut freed = 0;
        while let Some(reply) = kept
            .replies
            .pop_front_if(|reply| reply.given.elapsed() > kept_for)
        {
            freed += reply.bytes.len() as u64;
        }
        if kept.letters.is_empty() && kept.replies.is_empty() {
            self.sessions.remove(session);
        }
        freed
    }

    /// Takes a session's letters and replies away; answers the bytes that they had.
    pub(crate) fn erase(&mut self, session: &SessionId) -> u64 {
        let kept = self.sessions.remove(session).unwrap_or_default();
        let letters = kept.letters.iter().map(|letter| letter.bytes.len());
        let replies = kept.replies.iter().map(|reply| reply.bytes.len());
        letters.chain(replies).map(|bytes| bytes as u64).sum()
    }

    fn waiting(&self, after: Option<&SessionId>, limit: usize) -> Vec<SessionId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let sessions = self.sessions.range((start, Bound::Unbounded));
        let waiting = sessions.filter(|(_, kept)| !kept.letters.is_empty());
        waiting.take(limit).map(|(id, _)| id.clone()).collect()
    }

    /// Tells all who ask of a session.
    fn arrived(&mut self, session: &SessionId) {
        self.arrivals.retain(|source| !source.is_gone());
        for source in &self.arrivals {
            source.tell(session);
        }
    }
}

impl Kept {
    fn reply(&self, letter: &LetterId) -> Option<&Reply> {
        self.replies.iter().find(|reply| reply.letter == *letter)
    }
}

#[async_trait]
impl Inbox for MemoryInbox {
    fn capabilities(&self) -> InboxCapabilities {
        InboxCapabilities {
            durability: Durability::Memory,
            letter_bytes: LETTER_BYTES,
            letters: LETTERS,
            told_ms: TOLD_MS,
            replies_ms: self.replies_ms,
        }
    }

    async fn leave(&self, session: &SessionId, letter: &Letter) -> Result<(), InboxError> {
        fits(session, &letter.bytes)?;
        let mut state = self.of(session);
        let kept = state.letters.sessions.entry(session.clone()).or_default();
        let known = kept.letters.iter().any(|known| known.id == letter.id);
        if known || kept.reply(&letter.id).is_some() {
            return Ok(());
        }
        if kept.letters.len() >= LETTERS {
            return Err(InboxError::full(session, LETTERS));
        }
        if !state.take(letter.bytes.len() as u64) {
            state.letters.expire(session, Duration::MAX);
            return Err(no_room(session));
        }
        let kept = state.letters.sessions.entry(session.clone()).or_default();
        kept.letters.push_back(letter.clone());
        state.letters.arrived(session);
        Ok(())
    }

    async fn letters(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<Letter>, InboxError> {
        let state = self.of(session);
        if !state.is_claimed(session, epoch) {
            return Err(InboxError::not_claimed(session, epoch, "taking"));
        }
        let kept = state.letters.sessions.get(session);
        let letters = kept.map(|kept| kept.letters.iter().take(limit).cloned().collect());
        Ok(letters.unwrap_or_default())
    }

    async fn reply(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &LetterId,
        reply: &[u8],
    ) -> Result<(), InboxError> {
        fits(session, reply)?;
        let mut state = self.of(session);
        if !state.is_claimed(session, epoch) {
            return Err(InboxError::not_claimed(session, epoch, "replying to"));
        }
        let waits = |kept: &Kept| kept.letters.iter().position(|known| known.id == *letter);
        let Some(at) = state.letters.sessions.get(session).and_then(waits) else {
            return Ok(());
        };
        if !state.take(reply.len() as u64) {
            return Err(no_room(session));
        }
        let kept = state.letters.sessions.entry(session.clone()).or_default();
        let gone = kept.letters.remove(at);
        kept.replies.push_back(Reply {
            letter: letter.clone(),
            bytes: Bytes::copy_from_slice(reply),
            given: Instant::now(),
        });
        state.free(gone.map_or(0, |letter| letter.bytes.len() as u64));
        state.letters.replied.notify_waiters();
        Ok(())
    }

    async fn replied(
        &self,
        session: &SessionId,
        letter: &LetterId,
        patience: Duration,
    ) -> Result<Option<Bytes>, InboxError> {
        let look = || {
            let state = self.of(session);
            let kept = state.letters.sessions.get(session);
            let reply = kept.and_then(|kept| kept.reply(letter));
            reply.map(|reply| reply.bytes.clone())
        };
        let given = async {
            loop {
                let replied = self.of(session).letters.replied.clone();
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

    fn arrivals(&self) -> News {
        let (source, news) = News::new(NEWS);
        let source = Arc::new(source);
        let mut state = self.state.lock();
        state.letters.arrivals.push(Arc::clone(&source));
        drop(state);
        tokio::spawn(tell_again(Arc::downgrade(&self.state), source));
        news
    }

    async fn waiting(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, InboxError> {
        let state = self.state.lock();
        Ok(state.letters.waiting(after, limit))
    }
}

/// Tells of what waits, now and again, as much as there is room for.
async fn tell_again(state: Weak<Mutex<State>>, source: Arc<NewsSource>) {
    let mut ticks = tokio::time::interval(AGAIN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut after = None;
    loop {
        ticks.tick().await;
        let Some(state) = state.upgrade().filter(|_| !source.is_gone()) else {
            return;
        };
        let state = state.lock();
        let waiting = state.letters.waiting(after.as_ref(), NEWS);
        drop(state);
        // What has no room now comes first the next time.
        let told = waiting
            .into_iter()
            .take_while(|session| source.tell(session));
        after = told.last();
    }
}

fn fits(session: &SessionId, bytes: &[u8]) -> Result<(), InboxError> {
    if bytes.len() > LETTER_BYTES {
        return Err(InboxError::too_large(session, bytes.len(), LETTER_BYTES));
    }
    Ok(())
}

fn no_room(session: &SessionId) -> InboxError {
    let context = format!(
        "a letter for session {session} would pass the bytes that this memory store holds: use a \
         store on disk"
    );
    InboxError::new(InboxErrorKind::Full, context)
}
