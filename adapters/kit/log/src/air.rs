//! The air: what a node knows of who hears what of which session, here and elsewhere. Live relays on
//! servers share it; how messages and announcements travel is theirs.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;
use windlass_core::SessionId;
use windlass_ports::{Hearing, HearingSource, News, NewsSource};

/// The most messages, and bytes, that wait for one who hears.
pub const HELD: usize = 1_024;
const HELD_BYTES: usize = 1024 * 1024;
/// The most sessions of which it is known that they are heard elsewhere.
const MOST_ELSEWHERE: usize = 65_536;
/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;

/// Who hears what, as one node knows it.
#[derive(Debug)]
pub struct Air {
    /// Tells this node's messages from those of others.
    node: String,
    linger: Duration,
    state: Mutex<State>,
    dropped: AtomicU64,
    /// There is something to announce at once.
    pub to_announce: Notify,
}

#[derive(Debug, Default)]
struct State {
    ears: HashMap<SessionId, Vec<Ear>>,
    /// Those that began to be heard here and are to be announced.
    begun: BTreeSet<SessionId>,
    elsewhere: HashMap<SessionId, Elsewhere>,
    /// How often a session began to be heard elsewhere.
    spells: u64,
    asking: Vec<NewsSource>,
    closed: bool,
}

/// Somebody who hears here.
#[derive(Debug)]
struct Ear {
    source: HearingSource,
    /// Who told last, and which message.
    last: Option<(String, u64)>,
}

/// A session that is heard elsewhere.
#[derive(Debug)]
struct Elsewhere {
    until: Instant,
    /// The number of the next message.
    next: u64,
}

/// A message as it travels. Numbers of a teller and a session follow each other, so that who hears
/// sees where one is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The session.
    pub session: SessionId,
    /// Which of the teller's messages.
    pub number: u64,
    /// What it says.
    pub message: Bytes,
}

impl Air {
    /// The air around a node, whose name no other has and which has no space in it.
    #[must_use]
    pub fn new(node: String, linger: Duration) -> Self {
        Self {
            node,
            linger,
            state: Mutex::default(),
            dropped: AtomicU64::new(0),
            to_announce: Notify::new(),
        }
    }

    /// The name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Numbers a message, if somebody elsewhere hears its session. One of more than `most` bytes is
    /// numbered, dropped and counted: who hears sees that it is missing.
    pub fn tell(&self, session: &SessionId, message: &[u8], most: usize) -> Option<Told> {
        let mut state = self.state();
        let heard = state.elsewhere.get_mut(session)?;
        if heard.until <= Instant::now() {
            return None;
        }
        let number = heard.next;
        heard.next += 1;
        drop(state);
        if message.len() > most {
            self.drop_some(1);
            return None;
        }
        Some(Told {
            session: session.clone(),
            number,
            message: Bytes::copy_from_slice(message),
        })
    }

    /// Whether somebody elsewhere hears a session.
    pub fn is_heard(&self, session: &SessionId) -> bool {
        let state = self.state();
        let heard = state.elsewhere.get(session);
        heard.is_some_and(|heard| heard.until > Instant::now())
    }

    /// Begins to hear. The second is whether nobody here heard the session before: then its messages
    /// are to be received from now on. Either way it is to be [`begun`](Self::begun) once they are.
    pub fn hear(&self, session: &SessionId) -> (Hearing, bool) {
        let (source, hearing) = Hearing::new(HELD, HELD_BYTES);
        let mut state = self.state();
        if state.closed {
            return (hearing, false);
        }
        let first = !state.ears.contains_key(session);
        let ears = state.ears.entry(session.clone()).or_default();
        ears.retain(|ear| !ear.source.is_gone());
        ears.push(Ear { source, last: None });
        (hearing, first)
    }

    /// Has it announced that a session is heard here.
    pub fn begun(&self, session: &SessionId) {
        self.state().begun.insert(session.clone());
        self.to_announce.notify_one();
    }

    /// Whether anybody here hears anything.
    pub fn hears(&self) -> bool {
        !self.state().ears.is_empty()
    }

    /// Whether nobody here hears a session any more, which is then forgotten.
    pub fn forgets(&self, session: &SessionId) -> bool {
        let mut state = self.state();
        let Some(ears) = state.ears.get_mut(session) else {
            return true;
        };
        ears.retain(|ear| !ear.source.is_gone());
        let none = ears.is_empty();
        if none {
            state.ears.remove(session);
        }
        none
    }

    /// Forgets all sessions that nobody here hears any more.
    pub fn forget(&self) {
        self.state().ears.retain(|_, ears| {
            ears.retain(|ear| !ear.source.is_gone());
            !ears.is_empty()
        });
    }

    /// Sessions that others began to hear.
    pub fn hearers(&self) -> News {
        let (source, news) = News::new(NEWS);
        let mut state = self.state();
        if !state.closed {
            state.asking.retain(|source| !source.is_gone());
            state.asking.push(source);
        }
        news
    }

    /// A message came from a node.
    pub fn came(&self, node: &str, told: &Told) {
        if node == self.node {
            return;
        }
        let mut state = self.state();
        let mut gone = 0;
        for ear in state.ears.get_mut(&told.session).into_iter().flatten() {
            gone += ear.take(node, told);
        }
        drop(state);
        self.drop_some(gone);
    }

    /// What came until now may have been lost.
    pub fn lost(&self) {
        let state = self.state();
        for ear in state.ears.values().flatten() {
            ear.source.miss();
        }
    }

    /// Announcements of up to `most` bytes: of what began to be heard here; with `all`, of all that is
    /// heard here.
    pub fn announcements(&self, all: bool, most: usize) -> Vec<String> {
        let mut state = self.state();
        let begun = std::mem::take(&mut state.begun);
        let mut words: Vec<String> = begun.iter().map(|session| format!("+{session}")).collect();
        if all {
            let heard = |ears: &Vec<Ear>| ears.iter().any(|ear| !ear.source.is_gone());
            let still = state.ears.iter().filter(|(_, ears)| heard(ears));
            let still = still.filter(|(session, _)| !begun.contains(*session));
            words.extend(still.map(|(session, _)| session.to_string()));
        }
        drop(state);
        let mut announcements: Vec<String> = Vec::new();
        for word in words {
            match announcements.last_mut() {
                Some(last) if last.len() + 1 + word.len() <= most => {
                    // Writing to a string cannot fail.
                    let _ = write!(last, " {word}");
                }
                _ => announcements.push(format!("{} {word}", self.node)),
            }
        }
        announcements
    }

    /// An announcement came.
    pub fn announced(&self, announcement: &str) {
        let mut words = announcement.split(' ');
        if words.next().is_none_or(|node| node == self.node) {
            return;
        }
        let now = Instant::now();
        let mut state = self.state();
        for word in words {
            let (begun, name) = match word.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, word),
            };
            let Ok(session) = SessionId::new(name) else {
                continue;
            };
            let known = state.elsewhere.get_mut(&session);
            let known = known.filter(|heard| heard.until > now);
            let is_known = known.is_some();
            if let Some(heard) = known {
                heard.until = now + self.linger;
            } else if !state.spell(&session, now, self.linger) {
                continue;
            }
            if begun || !is_known {
                state.asking.retain(|source| !source.is_gone());
                state.asking.iter().for_each(|source| {
                    source.tell(&session);
                });
            }
        }
    }

    /// Counts messages that were dropped.
    pub fn drop_some(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// How many were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Ends all that is heard here, and all news.
    pub fn close(&self) {
        let mut state = self.state();
        *state = State {
            closed: true,
            ..State::default()
        };
    }

    /// No panic can leave the state half changed, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A session begins to be heard elsewhere; `false` where there is no room to know it.
    fn spell(&mut self, session: &SessionId, now: Instant, linger: Duration) -> bool {
        if self.elsewhere.len() >= MOST_ELSEWHERE && !self.elsewhere.contains_key(session) {
            self.elsewhere.retain(|_, heard| heard.until > now);
            if self.elsewhere.len() >= MOST_ELSEWHERE {
                tracing::warn!(
                    %session,
                    "others hear more sessions than are kept track of: this one is not told live"
                );
                return false;
            }
        }
        self.spells += 1;
        // No number comes twice, so whoever heard before sees that it missed something.
        let heard = Elsewhere {
            until: now + linger,
            next: self.spells << 32,
        };
        self.elsewhere.insert(session.clone(), heard);
        true
    }
}

impl Ear {
    /// Takes a message in, if it is new; says first what is missing. Answers how many had to go.
    fn take(&mut self, node: &str, told: &Told) -> u64 {
        let missing = match &mut self.last {
            Some((teller, last)) if teller == node => {
                if told.number <= *last {
                    return 0;
                }
                let missing = told.number != *last + 1;
                *last = told.number;
                missing
            }
            other => {
                let another = other.is_some();
                *other = Some((node.to_owned(), told.number));
                another
            }
        };
        if missing {
            self.source.miss();
        }
        self.source.put(told.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use windlass_ports::Heard;

    use super::*;

    const LINGER: Duration = Duration::from_secs(3_600);

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn two() -> (Air, Air) {
        let air = |name: &str| Air::new(name.to_owned(), LINGER);
        (air("teller"), air("hearer"))
    }

    /// Announces what began to be heard.
    fn announce(hearer: &Air, teller: &Air, all: bool) {
        for announcement in hearer.announcements(all, 100) {
            teller.announced(&announcement);
            hearer.announced(&announcement);
        }
    }

    async fn heard(hearing: &mut Hearing) -> String {
        match tokio::time::timeout(Duration::from_secs(60), hearing.next()).await {
            Ok(Some(Heard::Told(message))) => String::from_utf8(message.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_seen_by_the_numbers() {
        let (teller, hearer) = two();
        assert_eq!(teller.tell(&id("s"), b"nobody hears", 9), None);
        let (mut hearing, first) = hearer.hear(&id("s"));
        assert!(first);
        hearer.begun(&id("s"));
        announce(&hearer, &teller, false);
        assert!(teller.is_heard(&id("s")) && !hearer.is_heard(&id("s")));
        let told = |text: &str| teller.tell(&id("s"), text.as_bytes(), 9);
        let all: Vec<Told> = ["a", "b", "c", "d"].into_iter().filter_map(told).collect();
        assert_eq!(told("ten bytes!"), None);
        assert_eq!(teller.dropped(), 1);
        let last = told("e").unwrap();
        for told in [&all[1], &all[0], &all[1], &all[2], &last] {
            hearer.came("teller", told);
            hearer.came("hearer", told);
        }
        for expected in ["b", "c", "Ok(Some(Missed))", "e"] {
            assert_eq!(heard(&mut hearing).await, expected);
        }
        let another = Told { number: 1, ..last };
        hearer.came("another", &another);
        assert_eq!(heard(&mut hearing).await, "Ok(Some(Missed))");
        assert_eq!(heard(&mut hearing).await, "e");
        hearer.lost();
        assert_eq!(heard(&mut hearing).await, "Ok(Some(Missed))");
        hearer.close();
        assert_eq!(heard(&mut hearing).await, "Ok(None)");
    }

    #[tokio::test]
    async fn a_beginning_is_news_and_staying_is_not() {
        let (teller, hearer) = two();
        let mut news = teller.hearers();
        let hearings: Vec<_> = (0..30)
            .map(|n| hearer.hear(&id(&format!("session-{n}"))))
            .collect();
        announce(&hearer, &teller, true);
        let mut told = BTreeSet::new();
        for _ in 0..30 {
            told.insert(news.next().await);
        }
        assert_eq!(
            told.len(),
            30,
            "announcements that were lost are made up for"
        );
        announce(&hearer, &teller, true);
        hearer.begun(&id("session-7"));
        announce(&hearer, &teller, true);
        assert_eq!(news.next().await, Some(id("session-7")));
        drop(hearings);
        assert!(hearer.hears() && hearer.announcements(true, 100).is_empty());
        assert!(hearer.forgets(&id("session-7")));
        hearer.forget();
        assert!(!hearer.hears());
    }
}
