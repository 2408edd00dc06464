//! Tails: who waits for a log to grow, and how it is told. An append of this store object wakes at
//! once; those of others by a notification, and beneath it by asking for all that is waited for.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::{Notify, watch};
use windlass_core::{Seq, SessionId};
use windlass_ports::sync::Mutex as Lock;

/// The most bytes of a notification; PostgreSQL takes 7,999.
const NOTICE_BYTES: usize = 7_900;

/// Waiters for appends.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    waiting: Lock<HashMap<SessionId, TailWaiter>>,
    /// Sessions whose logs grew here, of which others are to be told.
    grown: Lock<GrownLogs>,
    pub(crate) to_notify: Notify,
    /// Notices from other nodes that are still to be looked up.
    received: Lock<TailNotices>,
    pub(crate) to_ask: Notify,
}

/// Sessions of which others are to be told.
#[derive(Debug, Default)]
struct GrownLogs {
    /// Those that one notification has room for.
    sessions: HashSet<SessionId>,
    /// The bytes of these in a notification.
    bytes: usize,
    /// True if there are more.
    many: bool,
}

impl GrownLogs {
    fn add(&mut self, session: SessionId) {
        if self.many || self.sessions.contains(&session) {
            return;
        }
        self.bytes += session.as_str().len() + 1;
        self.many = self.bytes > NOTICE_BYTES;
        self.sessions.insert(session);
    }
}

#[derive(Debug)]
struct TailWaiter {
    ends: watch::Sender<Option<Seq>>,
    count: usize,
}

/// Notices of other writers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TailNotices {
    all: bool,
    sessions: BTreeSet<SessionId>,
}

/// Waits for one session.
pub(crate) struct TailWait {
    tails: Arc<Tails>,
    session: SessionId,
    /// The last position that was told; `None` when there is no such session any more.
    pub(crate) ends: watch::Receiver<Option<Seq>>,
}

impl Tails {
    /// Begins to wait for a session.
    pub(crate) fn wait(self: &Arc<Self>, session: &SessionId) -> TailWait {
        let mut waiting = self.waiting.lock();
        let entry = waiting.entry(session.clone());
        let waiting = entry
            .or_insert_with(|| TailWaiter { ends: watch::Sender::new(Some(Seq::ZERO)), count: 0 });
        waiting.count += 1;
        TailWait {
            tails: Arc::clone(self),
            session: session.clone(),
            ends: waiting.ends.subscribe(),
        }
    }

    /// Logs grew by this store object: whoever waits here is woken, and others are to be told.
    pub(crate) fn notify_append(&self, ends: Vec<(SessionId, Seq)>) {
        if ends.is_empty() {
            return;
        }
        {
            let waiting = self.waiting.lock();
            if !waiting.is_empty() {
                for (session, last) in &ends {
                    send_end(&waiting, session, Some(*last));
                }
            }
        }
        let mut grown = self.grown.lock();
        ends.into_iter().for_each(|(session, _)| grown.add(session));
        drop(grown);
        self.to_notify.notify_one();
    }

    /// Records the current end of a log; `None` if there is none.
    pub(crate) fn set_end(&self, session: &SessionId, last: Option<Seq>) {
        send_end(&self.waiting.lock(), session, last);
    }

    /// Returns one notification with the sender and the sessions; without sessions if they are too
    /// many, which means all.
    pub(crate) fn notice(&self, sender: &str) -> Option<String> {
        let grown = std::mem::take(&mut *self.grown.lock());
        if grown.sessions.is_empty() {
            return None;
        }
        let mut notice = sender.to_owned();
        if !grown.many && grown.bytes + sender.len() <= NOTICE_BYTES {
            for session in BTreeSet::from_iter(&grown.sessions) {
                notice.push(' ');
                notice.push_str(session.as_str());
            }
        }
        Some(notice)
    }

    /// Takes a notification in, unless it is this store object's own.
    pub(crate) fn receive(&self, notice: &str, own: &str) {
        let mut words = notice.split(' ');
        if words.next() == Some(own) {
            return;
        }
        let waiting = self.waiting.lock();
        let mut heard = self.received.lock();
        let mut named = false;
        for session in words {
            named = true;
            if let Ok(session) = SessionId::new(session)
                && waiting.contains_key(&session)
            {
                heard.sessions.insert(session);
            }
        }
        heard.all |= !named;
        if *heard != TailNotices::default() {
            self.to_ask.notify_one();
        }
    }

    /// Returns the sessions to look up: those that were named, or all that are awaited.
    pub(crate) fn to_ask(&self, all: bool) -> Vec<SessionId> {
        let waiting = self.waiting.lock();
        let heard = std::mem::take(&mut *self.received.lock());
        if all || heard.all {
            return waiting.keys().cloned().collect();
        }
        heard.sessions.into_iter().collect()
    }
}

impl Drop for TailWait {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.tails.waiting.lock().entry(self.session.clone()) {
            entry.get_mut().count -= 1;
            if entry.get().count == 0 {
                entry.remove();
            }
        }
    }
}

/// Tells whoever waits for a session where its log ends.
fn send_end(waiting: &HashMap<SessionId, TailWaiter>, session: &SessionId, last: Option<Seq>) {
    if let Some(waiting) = waiting.get(session) {
        waiting.ends.send_if_modified(|known| {
            let news = last.is_none() || last > *known;
            if news {
                *known = last;
            }
            news
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    #[test]
    fn one_notice_tells_of_a_group() {
        let tails = Tails::default();
        tails.notify_append(vec![(id("b"), Seq(1)), (id("a"), Seq(4))]);
        tails.notify_append(vec![(id("a"), Seq(5))]);
        assert_eq!(tails.notice("me").as_deref(), Some("me a b"));
        assert_eq!(tails.notice("me"), None);
        let many = (0..2_000).map(|n| (id(&format!("session-{n}")), Seq(1)));
        tails.notify_append(many.collect());
        assert_eq!(tails.notice("me").as_deref(), Some("me"));
    }

    #[test]
    fn what_is_heard_is_asked_for_where_it_is_waited_for() {
        let tails = Arc::new(Tails::default());
        let waits = [tails.wait(&id("a")), tails.wait(&id("b"))];
        tails.receive("other a c", "me");
        assert_eq!(tails.to_ask(false), [id("a")]);
        tails.receive("me a", "me");
        assert!(tails.to_ask(false).is_empty());
        tails.receive("other", "me");
        assert_eq!(tails.to_ask(false).len(), 2);
        drop(waits);
        assert!(tails.to_ask(true).is_empty());
    }
}
