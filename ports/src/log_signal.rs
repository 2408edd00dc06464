//! News without a runtime: a bounded set of sessions that one task tells and another takes.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::sync::Mutex;
use windlass_core::SessionId;

/// Sessions of which there is news, one at a time; each at most once while nobody takes it.
///
/// The set is bounded. What does not fit is dropped, so whoever tells must tell again.
#[derive(Debug)]
pub struct LogSignal(Arc<Mutex<SignalState>>);

/// The side that tells news. When it is dropped, the news end.
#[derive(Debug)]
pub struct LogSignalSource(Arc<Mutex<SignalState>>);

#[derive(Debug)]
struct SignalState {
    sessions: BTreeSet<SessionId>,
    /// Session taken last. The next one follows it in order, so that none waits for ever.
    last: Option<SessionId>,
    most: usize,
    waker: Option<Waker>,
    /// True once either side was dropped.
    ended: bool,
}

impl LogSignal {
    /// News of up to `most` sessions that wait to be taken, and the side that tells them.
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

    /// Waits for news; `None` when whoever told them is gone and all were taken. Is safe to drop while
    /// it waits.
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
    /// Tells of a session; `false` when there is no room, or nobody takes it any more.
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
    /// The first session after the one before, or the first of all.
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
