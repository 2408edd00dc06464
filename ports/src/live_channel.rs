//! Live messages without a runtime: a bounded queue that reports losses.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;

use crate::live_bus::LiveItem;
use crate::sync::{Mutex, MutexGuard};

/// Live messages of one session. Messages wait here until they are received; the oldest are dropped
/// if too many wait.
#[derive(Debug)]
pub struct LiveReceiver(Arc<Mutex<ChannelState>>);

/// Sending side of a live channel, used by a bus. Dropping it ends the subscription.
#[derive(Debug)]
pub struct LiveSender(Arc<Mutex<ChannelState>>);

#[derive(Debug)]
struct ChannelState {
    /// Never contains two adjacent `Missed`.
    queue: VecDeque<LiveItem>,
    /// Number of waiting messages, and their size in bytes.
    messages: usize,
    bytes: usize,
    /// Limits of their number and their size in bytes.
    max_messages: usize,
    max_bytes: usize,
    waker: Option<Waker>,
    /// True once either side was dropped.
    ended: bool,
}

impl LiveReceiver {
    /// Creates a channel in which up to `most` messages wait, of `most_bytes` in total. The newest
    /// message always has room.
    #[must_use]
    pub fn new(most: usize, most_bytes: usize) -> (LiveSender, Self) {
        let state = Arc::new(Mutex::new(ChannelState {
            queue: VecDeque::new(),
            messages: 0,
            bytes: 0,
            max_messages: most.max(1),
            max_bytes: most_bytes,
            waker: None,
            ended: false,
        }));
        (LiveSender(Arc::clone(&state)), Self(state))
    }

    /// Receives the next item; `None` once the sender is dropped and the queue is empty.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<LiveItem> {
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

impl LiveSender {
    /// Sends a message. Returns the number of messages dropped for it.
    pub fn send(&self, message: Bytes) -> u64 {
        let mut state = self.0.lock();
        if state.ended {
            return 0;
        }
        state.bytes = state.bytes.saturating_add(message.len());
        state.messages += 1;
        state.queue.push_back(LiveItem::Message(message));
        let mut gone = 0;
        while state.messages > 1
            && (state.messages > state.max_messages || state.bytes > state.max_bytes)
        {
            gone += u64::from(matches!(state.pop(), Some(LiveItem::Message(_))));
        }
        if gone > 0 && state.queue.front() != Some(&LiveItem::Missed) {
            state.queue.push_front(LiveItem::Missed);
        }
        wake(state);
        gone
    }

    /// Records that messages were lost after those already sent.
    pub fn mark_missed(&self) {
        let mut state = self.0.lock();
        if !state.ended && state.queue.back() != Some(&LiveItem::Missed) {
            state.queue.push_back(LiveItem::Missed);
            wake(state);
        }
    }

    /// Returns true if the receiver was dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.lock().ended
    }
}

impl ChannelState {
    fn pop(&mut self) -> Option<LiveItem> {
        let heard = self.queue.pop_front()?;
        if let LiveItem::Message(message) = &heard {
            self.messages -= 1;
            self.bytes = self.bytes.saturating_sub(message.len());
        }
        Some(heard)
    }
}

impl Drop for LiveReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        state.queue.clear();
    }
}

impl Drop for LiveSender {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        wake(state);
    }
}

/// Wakes the waiting receiver, without the lock.
fn wake(mut state: MutexGuard<'_, ChannelState>) {
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

    fn heard(hearing: &mut LiveReceiver) -> Poll<Option<LiveItem>> {
        pin!(hearing.next()).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn told(text: &'static str) -> Poll<Option<LiveItem>> {
        Poll::Ready(Some(LiveItem::Message(Bytes::from_static(text.as_bytes()))))
    }

    const MISSED: Poll<Option<LiveItem>> = Poll::Ready(Some(LiveItem::Missed));

    #[test]
    fn the_oldest_go_and_that_is_said() {
        let (source, mut hearing) = LiveReceiver::new(2, 10);
        assert_eq!(source.send(Bytes::from_static(b"a")), 0);
        assert_eq!(source.send(Bytes::from_static(b"b")), 0);
        assert_eq!(source.send(Bytes::from_static(b"c")), 1);
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("b"));
        // Too many bytes: the newest message remains.
        assert_eq!(source.send(Bytes::from_static(b"long, very long")), 1);
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("long, very long"));
        assert_eq!(heard(&mut hearing), Poll::Pending);
        drop(source);
        assert_eq!(heard(&mut hearing), Poll::Ready(None));
    }

    #[test]
    fn what_was_lost_on_the_way_is_said_where_it_was_lost() {
        let (source, mut hearing) = LiveReceiver::new(9, 100);
        source.send(Bytes::from_static(b"a"));
        source.mark_missed();
        source.mark_missed();
        assert_eq!(source.send(Bytes::from_static(b"c")), 0);
        assert_eq!(heard(&mut hearing), told("a"));
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("c"));
        assert_eq!(heard(&mut hearing), Poll::Pending);
    }

    #[test]
    fn a_loss_is_said_once_whatever_was_lost() {
        let (source, mut hearing) = LiveReceiver::new(1, 100);
        for text in ["a", "b", "c"] {
            source.send(Bytes::from_static(text.as_bytes()));
            source.mark_missed();
        }
        source.send(Bytes::from_static(b"d"));
        assert_eq!(heard(&mut hearing), MISSED);
        assert_eq!(heard(&mut hearing), told("d"));
        assert_eq!(heard(&mut hearing), Poll::Pending);
    }
}
