//! The backlog: live messages that wait to go out, of which the oldest go where there are too many.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::air::Told;

/// Messages that wait to go out: a bounded number of bytes, of which the oldest go first.
#[derive(Debug)]
pub struct Backlog {
    most_bytes: usize,
    waiting: Mutex<(VecDeque<Told>, usize)>,
    /// There is something to send.
    pub to_send: Notify,
}

impl Backlog {
    /// A backlog of up to so many bytes, and one message more.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            waiting: Mutex::default(),
            to_send: Notify::new(),
        }
    }

    /// Puts a message in. Answers how many had to go for it.
    pub fn put(&self, told: Told) -> u64 {
        let mut waiting = self.waiting();
        waiting.1 += weight(&told);
        waiting.0.push_back(told);
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

    /// Takes the oldest out, up to so many bytes together, and one at least where there is one.
    pub fn take(&self, most_bytes: usize) -> Vec<Told> {
        let mut waiting = self.waiting();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(next) = waiting.0.front() {
            bytes += weight(next);
            if bytes > most_bytes && !taken.is_empty() {
                break;
            }
            if let Some(told) = waiting.0.pop_front() {
                waiting.1 -= weight(&told);
                taken.push(told);
            }
        }
        taken
    }

    fn waiting(&self) -> MutexGuard<'_, (VecDeque<Told>, usize)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of a message with what is beside it, so that empty ones have a bound too.
fn weight(told: &Told) -> usize {
    told.message.len() + 128
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use windlass_core::SessionId;

    use super::*;

    #[test]
    fn a_backlog_lets_the_oldest_go() {
        let backlog = Backlog::new(1_000);
        let told = |number| Told {
            session: SessionId::new("s").unwrap(),
            number,
            message: Bytes::from(vec![0; 172]),
        };
        let gone: u64 = (0..5).map(|number| backlog.put(told(number))).sum();
        assert_eq!(gone, 2);
        let numbers = |all: Vec<Told>| all.iter().map(|told| told.number).collect::<Vec<_>>();
        assert_eq!(numbers(backlog.take(700)), [2, 3]);
        assert_eq!(numbers(backlog.take(1)), [4]);
        assert!(backlog.take(1).is_empty());
    }
}
