//! Tails: wakes the followers of a log. An append costs nothing without followers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass_ports::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;
use windlass_core::SessionId;

/// The followers of each session.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    followed: Mutex<HashMap<SessionId, FollowedLog>>,
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct FollowedLog {
    woken: Arc<Notify>,
    followers: usize,
}

/// Follows a session until it is dropped.
#[derive(Debug)]
pub(crate) struct Follower<'a> {
    tails: &'a Tails,
    session: SessionId,
    pub(crate) woken: Arc<Notify>,
}

impl Tails {
    fn followed(&self) -> MutexGuard<'_, HashMap<SessionId, FollowedLog>> {
        self.followed.lock()
    }

    pub(crate) fn follow(&self, session: &SessionId) -> Follower<'_> {
        // Counted before the first look at the log, so that any append after the look wakes it.
        self.count.fetch_add(1, Ordering::SeqCst);
        let mut followed = self.followed();
        let entry = followed.entry(session.clone()).or_default();
        entry.followers += 1;
        Follower { tails: self, session: session.clone(), woken: entry.woken.clone() }
    }

    /// Wakes the followers of these sessions.
    pub(crate) fn wake<'a>(&self, sessions: impl Iterator<Item = &'a SessionId>) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let followed = self.followed();
        for session in sessions {
            if let Some(followed) = followed.get(session) {
                followed.woken.notify_waiters();
            }
        }
    }

    /// Wakes all followers.
    pub(crate) fn wake_all(&self) {
        if self.count.load(Ordering::SeqCst) > 0 {
            for followed in self.followed().values() {
                followed.woken.notify_waiters();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.followed().is_empty() && self.count.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        let mut followed = self.tails.followed();
        if let Some(entry) = followed.get_mut(&self.session) {
            entry.followers -= 1;
            if entry.followers == 0 {
                followed.remove(&self.session);
            }
        }
        self.tails.count.fetch_sub(1, Ordering::SeqCst);
    }
}
