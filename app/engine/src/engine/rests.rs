//! Rests: sessions that are left alone for a while, and how often their trouble is told.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::SessionId;

/// Most sessions that are remembered.
const MOST: usize = 4_096;
/// The shortest and the longest rest of a session that does not stay, or does not open.
const REST: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Time after a pause for which its session is remembered.
const FORGET: Duration = Duration::from_secs(60);
/// For how long one rests for which this engine is not the one.
const ANOTHERS: Duration = Duration::from_secs(600);
/// Most reports in an interval; the rest is counted.
const TOLD: (u32, Duration) = (20, Duration::from_secs(60));

/// Sessions that are left alone for now. It is bounded: where there is no room, the one whose rest
/// ends first makes room.
#[derive(Debug, Default)]
pub(super) struct Rests(HashMap<SessionId, Rest>);

#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Instant,
    /// Number of tries so far.
    tries: u32,
    /// True if its trouble was told.
    told: bool,
}

impl Rests {
    /// Returns true if a session is to be left alone.
    pub(super) fn rests(&self, session: &SessionId) -> bool {
        let rest = self.0.get(session);
        rest.is_some_and(|rest| Instant::now() < rest.until)
    }

    /// It was tried: it rests, each time for twice as long.
    pub(super) fn tried(&mut self, session: &SessionId) {
        let tries = self.known(session).map_or(0, |rest| rest.tries);
        let (shortest, longest) = REST;
        let rest = shortest.saturating_mul(1 << tries.min(10)).min(longest);
        self.put(session, rest, tries.saturating_add(1));
    }

    /// Another holds it, or the store takes nothing now: it rests for the shortest time.
    pub(super) fn held(&mut self, session: &SessionId) {
        let tries = self.known(session).map_or(0, |rest| rest.tries);
        self.put(session, REST.0, tries);
    }

    /// It is for others: it rests for long.
    pub(super) fn anothers(&mut self, session: &SessionId) {
        let tries = self.known(session).map_or(0, |rest| rest.tries);
        self.put(session, ANOTHERS, tries);
    }

    /// Returns true if the trouble of a session that rests is news.
    pub(super) fn is_news(&mut self, session: &SessionId) -> bool {
        let rest = self.0.get_mut(session);
        rest.is_none_or(|rest| !std::mem::replace(&mut rest.told, true))
    }

    fn known(&self, session: &SessionId) -> Option<&Rest> {
        let lately = |rest: &&Rest| rest.until + FORGET > Instant::now();
        self.0.get(session).filter(lately)
    }

    fn put(&mut self, session: &SessionId, rest: Duration, tries: u32) {
        let told = self.known(session).is_some_and(|rest| rest.told);
        if self.0.len() >= MOST && !self.0.contains_key(session) {
            let first = self.0.iter().min_by_key(|(_, rest)| rest.until);
            if let Some(first) = first.map(|(session, _)| session.clone()) {
                self.0.remove(&first);
            }
        }
        let until = Instant::now() + rest;
        let rest = Rest { until, tries, told };
        self.0.insert(session.clone(), rest);
    }
}

/// Rate limit of reports: at most so many a minute, with the number of those left out.
#[derive(Debug)]
pub(super) struct Telling {
    since: Instant,
    told: u32,
    untold: u32,
    most: u32,
}

impl Telling {
    /// Of trouble that has as many causes as there are sessions.
    pub(super) fn of_many() -> Self {
        Self::new(TOLD.0)
    }

    /// Of one trouble: once a minute.
    pub(super) fn of_one() -> Self {
        Self::new(1)
    }

    fn new(most: u32) -> Self {
        Self {
            since: Instant::now(),
            told: 0,
            untold: 0,
            most,
        }
    }

    /// Returns true if it is told now; then how much was not told before it.
    pub(super) fn now(&mut self) -> Option<u32> {
        if self.since.elapsed() >= TOLD.1 {
            self.since = Instant::now();
            self.told = 0;
        }
        if self.told >= self.most {
            self.untold = self.untold.saturating_add(1);
            return None;
        }
        self.told += 1;
        Some(std::mem::take(&mut self.untold))
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
        let (mut rests, session) = (Rests::default(), id("a"));
        let mut seconds = Vec::new();
        for _ in 0..8 {
            rests.tried(&session);
            let mut rest = 0;
            while rests.rests(&session) {
                advance(Duration::from_secs(1)).await;
                rest += 1;
            }
            seconds.push(rest);
        }
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        advance(FORGET).await;
        rests.tried(&session);
        advance(REST.0).await;
        assert!(!rests.rests(&session), "it is as one that never rested");
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_rest_and_the_first_to_end_makes_room() {
        let mut rests = Rests::default();
        rests.held(&id("first"));
        for number in 1..MOST {
            rests.anothers(&id(&format!("s{number}")));
        }
        rests.anothers(&id("last"));
        assert!(!rests.rests(&id("first")) && rests.rests(&id("last")));
        assert_eq!(rests.0.len(), MOST);
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_is_told_once_and_then_once_a_minute() {
        let (mut rests, session) = (Rests::default(), id("a"));
        rests.anothers(&session);
        assert!(rests.is_news(&session));
        rests.anothers(&session);
        assert!(!rests.is_news(&session));
        let mut telling = Telling::of_one();
        assert_eq!(telling.now(), Some(0));
        assert_eq!((telling.now(), telling.now()), (None, None));
        advance(TOLD.1).await;
        assert_eq!(telling.now(), Some(2));
        assert_eq!(telling.now(), None);
    }
}
