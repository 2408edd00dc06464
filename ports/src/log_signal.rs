//! Log signals without a runtime: a bounded set of changed sessions, from one task to another.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::sync::Mutex;
use windlass_core::SessionId;

/// Receiver of changed sessions, one at a time. A session is in the set at most once.
///
/// The set is bounded. A session that does not fit is dropped, so the publisher must publish it
/// again.
#[derive(Debug)]
pub struct LogSignal(Arc<Mutex<SignalState>>);

/// Sending side of a signal. Dropping it ends the signal.
#[derive(Debug)]
pub struct LogSignalSource(Arc<Mutex<SignalState>>);

#[derive(Debug)]
struct SignalState {
    sessions: BTreeSet<SessionId>,
    /// Session returned last. The next one follows it in order, so that none waits for ever.
    last: Option<SessionId>,
    most: usize,
    waker: Option<Waker>,
    /// True once either side was dropped.
    ended: bool,
}

impl LogSignal {
    /// Creates a signal for up to `most` waiting sessions, and its sending side.
    #[must_use]
    pub fn new(most: usize) -> (LogSignalSource, Self) {
        let state = Arc::new(Mutex::new(SignalState {
            sessions: BTreeSet::new(),
            last: None,
            most,
            waker: None,
            ended: false,
        }));
        (LogSignalSource(Arc::clone(&state)), Self(state))
    }

    /// Receives the next session; `None` once the source is dropped and the set is empty.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<SessionId> {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if let Some(session) = state.take() {
                return Poll::Ready(Some(session));
            }
            if state.ended {
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl LogSignalSource {
    /// Publishes a session. Returns `false` if there is no room, or the receiver was dropped.
    pub fn publish(&self, session: &SessionId) -> bool {
        let mut state = self.0.lock();
        if state.ended {
            return false;
        }
        if state.sessions.len() >= state.most && !state.sessions.contains(session) {
            return false;
        }
        state.sessions.insert(session.clone());
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Returns true if the receiver was dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.lock().ended
    }
}

impl SignalState {
    /// Removes the session after the last returned one, or the first of all.
    fn take(&mut self) -> Option<SessionId> {
        let after = self.last.as_ref().and_then(|last| {
            let after = (std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded);
            self.sessions.range::<SessionId, _>(after).next().cloned()
        });
        let session = after.or_else(|| self.sessions.first().cloned())?;
        self.sessions.remove(&session);
        self.last = Some(session.clone());
        Some(session)
    }
}

impl Drop for LogSignal {
    fn drop(&mut self) {
        self.0.lock().ended = true;
    }
}

impl Drop for LogSignalSource {
    fn drop(&mut self) {
        let waker = {
            let mut state = self.0.lock();
            state.ended = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    fn taken(news: &mut LogSignal) -> Poll<Option<String>> {
        let next = pin!(news.next()).poll(&mut Context::from_waker(Waker::noop()));
        next.map(|session| session.map(|session| session.to_string()))
    }

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    #[test]
    fn each_is_told_once_and_none_waits_for_ever() {
        let (source, mut news) = LogSignal::new(3);
        assert_eq!(taken(&mut news), Poll::Pending);
        for session in ["b", "a", "b", "c"] {
            assert!(source.publish(&id(session)));
        }
        assert!(!source.publish(&id("d")), "it is full");
        assert_eq!(taken(&mut news), Poll::Ready(Some("a".to_owned())));
        assert!(source.publish(&id("a")));
        for session in ["b", "c", "a"] {
            assert_eq!(taken(&mut news), Poll::Ready(Some(session.to_owned())));
        }
        assert!(source.publish(&id("z")));
        drop(source);
        assert_eq!(taken(&mut news), Poll::Ready(Some("z".to_owned())));
        assert_eq!(taken(&mut news), Poll::Ready(None));
    }

    #[test]
    fn nobody_is_told_what_nobody_takes() {
        let (source, news) = LogSignal::new(3);
        drop(news);
        assert!(source.is_closed());
        assert!(!source.publish(&id("a")));
    }
}
