//! A bounded queue of live messages to send.

use std::collections::VecDeque;

use tokio::sync::Notify;

use windlass_ports::sync::{Mutex, MutexGuard};

use crate::interest::LiveMessage;

/// Queues live messages to send, up to a number of bytes. Drops the oldest to make room.
#[derive(Debug)]
pub struct Backlog {
    most_bytes: usize,
    waiting: Mutex<(VecDeque<LiveMessage>, usize)>,
    /// Notified when a message was added.
    pub to_send: Notify,
}

impl Backlog {
    /// Creates a queue of up to `most_bytes`. A single larger message fits too.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, waiting: Mutex::default(), to_send: Notify::new() }
    }

    /// Adds a message. Returns the number of messages dropped for it.
    pub fn push(&self, message: LiveMessage) -> u64 {
        let mut waiting = self.waiting();
        waiting.1 += weight(&message);
        waiting.0.push_back(message);
        let mut gone = 0;
        while waiting.1 > self.most_bytes && waiting.0.len() > 1 {
            if let Some(oldest) = waiting.0.pop_front() {
                waiting.1 -= weight(&oldest);
                gone += 1;
            }
        }
        drop(waiting);
        self.to_send.notify_one();
        gone
    }

    /// Removes the oldest messages, up to `most_bytes` together but at least one.
    pub fn pop_batch(&self, most_bytes: usize) -> Vec<LiveMessage> {
        let mut waiting = self.waiting();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(next) = waiting.0.front() {
            bytes += weight(next);
            if bytes > most_bytes && !taken.is_empty() {
                break;
            }
            if let Some(message) = waiting.0.pop_front() {
                waiting.1 -= weight(&message);
                taken.push(message);
            }
        }
        taken
    }

    fn waiting(&self) -> MutexGuard<'_, (VecDeque<LiveMessage>, usize)> {
        self.waiting.lock()
    }
}

/// Bytes of a message with its overhead, so that empty messages are bounded too.
fn weight(message: &LiveMessage) -> usize {
    message.message.len() + 128
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use windlass_core::SessionId;

    use super::*;

    #[test]
    fn a_backlog_drops_the_oldest() {
        let backlog = Backlog::new(1_000);
        let message = |number| LiveMessage {
            session: SessionId::new("s").unwrap(),
            number,
            message: Bytes::from(vec![0; 172]),
        };
        let gone: u64 = (0..5).map(|number| backlog.push(message(number))).sum();
        assert_eq!(gone, 2);
        let numbers =
            |all: Vec<LiveMessage>| all.iter().map(|message| message.number).collect::<Vec<_>>();
        assert_eq!(numbers(backlog.pop_batch(700)), [2, 3]);
        assert_eq!(numbers(backlog.pop_batch(1)), [4]);
        assert!(backlog.pop_batch(1).is_empty());
    }
}
