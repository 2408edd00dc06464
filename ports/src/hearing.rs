//! Hearing without a runtime: a bounded queue of live messages that says where some are missing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;

use crate::live::Heard;
use crate::sync::{Mutex, MutexGuard};

/// Live messages of one session. Messages wait here until they are received; the oldest are dropped if too
/// many wait.
#[derive(Debug)]
pub struct Hearing(Arc<Mutex<State>>);

/// The side that a relay puts messages in. When it is dropped, the hearing ends.
#[derive(Debug)]
pub struct HearingSource(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Never two `Missed` beside each other.
    waiting: VecDeque<Heard>,
    /// Number of waiting messages, and their size in bytes.
    messages: usize,
    bytes: usize,
    /// Limits of their number and their size in bytes.
    most: usize,
    most_bytes: usize,
    waker: Option<Waker>,
    /// True once either side was dropped.
    ended: bool,
}

impl Hearing {
    /// A hearing for which up to `most` messages wait, of `most_bytes` together, and the side that
    /// they are put in. The newest message always has room.
    #[must_use]
    pub fn new(most: usize, most_bytes: usize) -> (HearingSource, Self) {
        let state = Arc::new(Mutex::new(State {
            waiting: VecDeque::new(),
            messages: 0,
            bytes: 0,
            most: most.max(1),
            most_bytes,
            waker: None,
            ended: false,
        }));
        (HearingSource(Arc::clone(&state)), Self(state))
    }

    /// Waits for what is told; `None` when the relay is gone and all was taken. Is safe to drop while
    /// it waits.
    pub async fn next(&mut self) -> Option<Heard> {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if let Some(heard) = state.pop() {
                return Poll::Ready(Some(heard));
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

impl HearingSource {
    /// Puts a message in. Answers how many had to go for it.
    pub fn put(&self, message: Bytes) -> u64 {
        let mut state = self.0.lock();
        if state.ended {
            return 0;
        }
        state.bytes = state.bytes.saturating_add(message.len());
        state.messages += 1;
        state.waiting.push_back(Heard::Told(message));
        let mut gone = 0;
        while state.messages > 1 && (state.messages > state.most || state.bytes > state.most_bytes)
        {
            gone += u64::from(matches!(state.pop(), Some(Heard::Told(_))));
        }
        if gone > 0 && state.waiting.front() != Some(&Heard::Missed) {
            state.waiting.push_front(Heard::Missed);
        }
        wake(state);
        gone
    }

    /// Says that messages were lost after those that were put in.
    pub fn miss(&self) {
        let mut state = self.0.lock();
        if !state.ended && state.waiting.back() != Some(&Heard::Missed) {
            state.waiting.push_back(Heard::Missed);
            wake(state);
        }
    }

    /// Returns true if the receiver was dropped.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.lock().ended
    }
}

impl State {
    fn pop(&mut self) -> Option<Heard> {
        let heard = self.waiting.pop_front()?;
        if let Heard::Told(message) = &heard {
            self.messages -= 1;
            self.bytes = self.bytes.saturating_sub(message.len());
        }
        Some(heard)
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        state.waiting.clear();
    }
}

impl Drop for HearingSource {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        wake(state);
    }
}

/// Wakes whoever waits, without the lock.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    fn heard(hearing: &mut Hearing) -> Poll<Option<Heard>> {
        pin!(hearing.next()).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn told(text: &'static str) -> Poll<Option<Heard>> {
        Poll::Ready(Some(Heard::Told(Bytes::from_static(text.as_bytes()))))
    }

    const MISSED: Poll<Option<Heard>> = Poll::Ready(Some(Heard::Missed));

    #[test]
    fn the_oldest_go_and_that_is_said() {
        let (source, mut hearing) = Hearing::new(2, 10);
        assert_eq!(source.put(Bytes::from_static(b"a")), 0);
        assert_eq!(source.put(Bytes::from_static(b"b")), 0);
        assert_eq!(source.put(Bytes::from_static(b"c")), 1);
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("b"));
        // Too many bytes, of which the newest message stays.
        assert_eq!(source.put(Bytes::from_static(b"long, very long")), 1);
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("long, very long"));
        assert_eq!(heard(&mut hearing), Poll::Pending);
        drop(source);
        assert_eq!(heard(&mut hearing), Poll::Ready(None));
    }

    #[test]
    fn what_was_lost_on_the_way_is_said_where_it_was_lost() {
        let (source, mut hearing) = Hearing::new(9, 100);
        source.put(Bytes::from_static(b"a"));
        source.miss();
        source.miss();
        assert_eq!(source.put(Bytes::from_static(b"c")), 0);
        assert_eq!(heard(&mut hearing), told("a"));
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("c"));
        assert_eq!(heard(&mut hearing), Poll::Pending);
    }

    #[test]
    fn a_loss_is_said_once_whatever_was_lost() {
        let (source, mut hearing) = Hearing::new(1, 100);
        for text in ["a", "b", "c"] {
            source.put(Bytes::from_static(text.as_bytes()));
            source.miss();
        }
        source.put(Bytes::from_static(b"d"));
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("d"));
        assert_eq!(heard(&mut hearing), Poll::Pending);
    }
}
