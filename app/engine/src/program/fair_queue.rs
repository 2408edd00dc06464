//! Fair queue: serves tenants in turn, and the waiters of a tenant in the order of their arrival. Pure.
//! A session waits at most once at a time, so the sessions of a tenant are served in turn too.

use std::collections::VecDeque;
use std::sync::Arc;

/// Waiters by tenant. Each tenant has one at least.
#[derive(Debug)]
pub(super) struct FairQueue<T>(VecDeque<(Arc<str>, VecDeque<T>)>);

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> FairQueue<T> {
    /// Adds a waiter of a tenant. A tenant without waiters enters behind all others.
    pub(super) fn push(&mut self, tenant: &Arc<str>, waiter: T) {
        match self.0.iter_mut().find(|(name, _)| name == tenant) {
            Some((_, waiters)) => waiters.push_back(waiter),
            None => self.0.push_back((tenant.clone(), VecDeque::from([waiter]))),
        }
    }

    /// Removes the next waiter for which `waits` holds. Others are discarded on the way, and take
    /// no turn of their tenant.
    pub(super) fn pop(&mut self, waits: impl Fn(&T) -> bool) -> Option<T> {
        while let Some((tenant, mut waiters)) = self.0.pop_front() {
            while let Some(waiter) = waiters.pop_front() {
                if !waits(&waiter) {
                    continue;
                }
                if !waiters.is_empty() {
                    self.0.push_back((tenant, waiters));
                }
                return Some(waiter);
            }
        }
        None
    }

    /// Returns true if a waiter is here for which `waits` holds.
    pub(super) fn has(&self, waits: impl Fn(&T) -> bool) -> bool {
        self.0.iter().any(|(_, waiters)| waiters.iter().any(&waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_take_turns_whatever_the_number_of_their_sessions() {
        let mut queue = FairQueue::default();
        let (a, b, c) = (Arc::from("a"), Arc::from("b"), Arc::from("c"));
        for waiter in ["a1", "a2", "a3", "a gone", "a4"] {
            queue.push(&a, waiter);
        }
        let waits = |waiter: &&str| !waiter.ends_with("gone");
        assert_eq!(queue.pop(waits), Some("a1"));
        queue.push(&b, "b1");
        queue.push(&c, "c gone");
        queue.push(&c, "c1");
        queue.push(&b, "b2");
        let mut served = Vec::new();
        while let Some(waiter) = queue.pop(waits) {
            served.push(waiter);
            if waiter == "b1" {
                queue.push(&b, "b3");
            }
        }
        assert!(!queue.has(|_| true));
        assert_eq!(served, ["a2", "b1", "c1", "a3", "b2", "a4", "b3"]);
    }
}
