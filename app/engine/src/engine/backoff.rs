//! Back-off: sessions whose adoption is postponed, and rate limits of reports about them.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::SessionId;

/// Most sessions that are tracked.
const MAX_SESSIONS: usize = 4_096;
/// Shortest and longest back-off of a session that does not open or is released at once.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Time after a back-off for which its session is tracked.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Back-off of a session that belongs to another tenant.
const OTHER_TENANT_BACKOFF: Duration = Duration::from_secs(600);
/// Most reports in an interval; further ones are counted.
const MAX_REPORTS: (u32, Duration) = (20, Duration::from_secs(60));

/// Sessions whose adoption is postponed. Bounded: when it is full, the session whose back-off ends
/// first is removed.
#[derive(Debug, Default)]
pub(super) struct AdoptionBackoffs(HashMap<SessionId, SessionBackoff>);

#[derive(Debug, Clone, Copy)]
struct SessionBackoff {
    until: Instant,
    /// Number of tries so far.
    tries: u32,
    /// True if its fault was reported.
    reported: bool,
}

impl AdoptionBackoffs {
    /// Returns true if the adoption of a session is postponed now.
    pub(super) fn is_waiting(&self, session: &SessionId) -> bool {
        let rest = self.0.get(session);
        rest.is_some_and(|rest| Instant::now() < rest.until)
    }

    /// Postpones a session after a failed attempt, each time for twice as long.
    pub(super) fn on_tried(&mut self, session: &SessionId) {
        let tries = self.known(session).map_or(0, |rest| rest.tries);
        let (shortest, longest) = BACKOFF;
        let rest = shortest.saturating_mul(1 << tries.min(10)).min(longest);
        self.put(session, rest, tries.saturating_add(1));
    }

    /// Postpones a session for the shortest time: another node holds it, or the store accepts no
    /// writes.
    pub(super) fn on_held(&mut self, session: &SessionId) {
        let tries = self.known(session).map_or(0, |rest| rest.tries);
        self.put(session, BACKOFF.0, tries);
    }

    /// Postpones a session of another tenant for a long time.
    pub(super) fn on_other_tenant(&mut self, session: &SessionId) {
        let tries = self.known(session).map_or(0, |rest| rest.tries);
        self.put(session, OTHER_TENANT_BACKOFF, tries);
    }

    /// Returns true if the fault of a postponed session was not reported yet.
    pub(super) fn should_report(&mut self, session: &SessionId) -> bool {
        let rest = self.0.get_mut(session);
        rest.is_none_or(|rest| !std::mem::replace(&mut rest.reported, true))
    }

    fn known(&self, session: &SessionId) -> Option<&SessionBackoff> {
        let lately = |rest: &&SessionBackoff| rest.until + FORGET_AFTER > Instant::now();
        self.0.get(session).filter(lately)
    }

    fn put(&mut self, session: &SessionId, rest: Duration, tries: u32) {
        let told = self.known(session).is_some_and(|rest| rest.reported);
        if self.0.len() >= MAX_SESSIONS && !self.0.contains_key(session) {
            let first = self.0.iter().min_by_key(|(_, rest)| rest.until);
            if let Some(first) = first.map(|(session, _)| session.clone()) {
                self.0.remove(&first);
            }
        }
        let until = Instant::now() + rest;
        let rest = SessionBackoff { until, tries, reported: told };
        self.0.insert(session.clone(), rest);
    }
}

/// Rate limit of reports: a maximum per minute, with the number of suppressed ones.
#[derive(Debug)]
pub(super) struct ReportLimiter {
    since: Instant,
    reported: u32,
    suppressed: u32,
    max_reports: u32,
}

impl ReportLimiter {
    /// Creates a limit for faults of single sessions.
    pub(super) fn per_session() -> Self {
        Self::new(MAX_REPORTS.0)
    }

    /// Creates a limit of one report a minute.
    pub(super) fn once_a_minute() -> Self {
        Self::new(1)
    }

    fn new(most: u32) -> Self {
        Self { since: Instant::now(), reported: 0, suppressed: 0, max_reports: most }
    }

    /// Returns the number of reports suppressed before this one if it may be logged now, else
    /// `None`.
    pub(super) fn allow(&mut self) -> Option<u32> {
        if self.since.elapsed() >= MAX_REPORTS.1 {
            self.since = Instant::now();
            self.reported = 0;
        }
        if self.reported >= self.max_reports {
            self.suppressed = self.suppressed.saturating_add(1);
            return None;
        }
        self.reported += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_does_not_stay_rests_longer_and_longer() {
        let (mut rests, session) = (AdoptionBackoffs::default(), id("a"));
        let mut seconds = Vec::new();
        for _ in 0..8 {
            rests.on_tried(&session);
            let mut rest = 0;
            while rests.is_waiting(&session) {
                advance(Duration::from_secs(1)).await;
                rest += 1;
            }
            seconds.push(rest);
        }
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        advance(FORGET_AFTER).await;
        rests.on_tried(&session);
        advance(BACKOFF.0).await;
        assert!(!rests.is_waiting(&session), "it is as one that never rested");
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_rest_and_the_first_to_end_makes_room() {
        let mut rests = AdoptionBackoffs::default();
        rests.on_held(&id("first"));
        for number in 1..MAX_SESSIONS {
            rests.on_other_tenant(&id(&format!("s{number}")));
        }
        rests.on_other_tenant(&id("last"));
        assert!(!rests.is_waiting(&id("first")) && rests.is_waiting(&id("last")));
        assert_eq!(rests.0.len(), MAX_SESSIONS);
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_is_told_once_and_then_once_a_minute() {
        let (mut rests, session) = (AdoptionBackoffs::default(), id("a"));
        rests.on_other_tenant(&session);
        assert!(rests.should_report(&session));
        rests.on_other_tenant(&session);
        assert!(!rests.should_report(&session));
        let mut telling = ReportLimiter::once_a_minute();
        assert_eq!(telling.allow(), Some(0));
        assert_eq!((telling.allow(), telling.allow()), (None, None));
        advance(MAX_REPORTS.1).await;
        assert_eq!(telling.allow(), Some(2));
        assert_eq!(telling.allow(), None);
    }
}
