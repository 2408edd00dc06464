//! Watch: a session's events from a cursor on, whoever drives it, without a gap or a duplicate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};

use crate::event::Event;
use crate::follower;
use crate::hub::{Ear, Heard, Joined};
use crate::published::LiveBatch;
use crate::slot::Slot;

/// Facts that a watch reads of a log at a time, at most: each of many watchers may hold as many.
const PAGE: usize = 128;

/// A session's events from a cursor on, whoever drives it. It opens nothing, claims nothing, and
/// makes no driver stay. See [`Engine::watch`](crate::Engine::watch).
pub struct Watch {
    slot: Arc<Slot>,
    store: Arc<dyn LogStore>,
    page: usize,
    /// The name of its ear.
    name: u64,
    ear: Arc<Ear>,
    heard: Option<Heard>,
    /// What it takes of that.
    takes: Takes,
    /// Something that streams was given out since it began to hear that.
    streamed: bool,
    /// The position up to which facts were heard, or are in the log before them.
    reached: Seq,
    /// The last position given out; `None` until it is known where now is.
    cursor: Option<Seq>,
    /// Whether the log has that position.
    begun: bool,
    /// The position up to which the log comes before anything that is heard.
    behind: Seq,
    backlog: VecDeque<Recorded>,
    /// The log is read to its end before anything is waited for.
    looks: bool,
    /// It has been since there was last somebody to follow it.
    looked: bool,
    /// Somebody follows the log for it.
    followed: bool,
}

/// What a watch takes of what it hears. Facts it always takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// What streams too.
    All,
    /// Not what streams, until it is given another ear: what was shown before is not known yet.
    Bare,
    /// Not what streams, until the facts that it has read already were heard. Then it listens again.
    Ahead,
    /// The same after it lagged. Then it takes all that comes.
    Lagging,
}

impl Watch {
    /// Of a session whose ear this is.
    pub(crate) fn new(
        slot: Arc<Slot>,
        store: Arc<dyn LogStore>,
        joined: Joined,
        after: Option<Seq>,
        page: usize,
    ) -> Self {
        Self {
            slot,
            store,
            page: page.clamp(1, PAGE),
            name: joined.name,
            ear: joined.ear,
            heard: None,
            takes: Takes::All,
            streamed: false,
            reached: Seq::ZERO,
            cursor: after,
            begun: false,
            behind: joined.from,
            backlog: VecDeque::new(),
            looks: false,
            looked: false,
            followed: false,
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.slot.id
    }

    /// The last position given out. `None` for a watch from now on whose [`Watch::next`] was never
    /// waited for: it is not known yet where now is.
    #[must_use]
    pub fn cursor(&self) -> Option<Seq> {
        self.cursor
    }

    /// Finds where it begins, and answers that position: what is appended after this has returned
    /// is told. [`Watch::next`] does the same when it is first waited for.
    ///
    /// # Errors
    /// As [`Watch::next`].
    pub async fn begin(&mut self) -> Result<Seq, StoreError> {
        if self.heard.is_none() {
            // What drivers said before it began is not for one that begins now.
            self.turn();
        }
        self.begun().await
    }

    /// The next event; never [`Event::Ended`].
    ///
    /// Safe to drop while it waits.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read; the cursor stands, so it may be tried again. Of
    /// the kind `Unknown` when there is no such session, or none any more: then nothing follows. Of
    /// the kind `Invalid` when it was to begin after a position that the log does not have.
    pub async fn next(&mut self) -> Result<Event, StoreError> {
        loop {
            if let Some(fact) = self.backlog.pop_front() {
                self.cursor = Some(fact.seq);
                return Ok(Event::Fact(Arc::new(fact).into()));
            }
            if self.heard.is_none()
                && let Some(missed) = self.turn()
            {
                return Ok(Event::Lagged { missed });
            }
            let cursor = self.begun().await?;
            if !self.backlog.is_empty() {
                continue;
            }
            if cursor < self.behind || self.looks {
                self.fill(cursor).await?;
                continue;
            }
            if !self.followed {
                self.follow(cursor);
                continue;
            }
            if let Some(event) = self.hear(cursor).await {
                return Ok(event);
            }
        }
    }

    /// Listens to the next bus, if there is one. Answers how much was missed between.
    fn turn(&mut self) -> Option<u64> {
        let news = self.ear.take();
        if let Some(heard) = news.heard {
            self.listen(heard);
        }
        if news.look {
            self.look();
        }
        (news.missed > 0).then_some(news.missed)
    }

    fn listen(&mut self, heard: Heard) {
        self.behind = self.behind.max(heard.from);
        self.reached = heard.from;
        self.takes = if heard.bare { Takes::Bare } else { Takes::All };
        self.streamed = false;
        self.heard = Some(heard);
    }

    fn look(&mut self) {
        self.looks = true;
        self.looked = true;
        self.followed = false;
    }

    /// The cursor. One from now on begins where the log ends; another must be in the log, or
    /// whoever follows it for all would wait for what comes after that.
    async fn begun(&mut self) -> Result<Seq, StoreError> {
        let cursor = match (self.cursor, &self.heard) {
            (Some(cursor), _) if self.begun => return Ok(cursor),
            (Some(cursor), _) => {
                if cursor > self.behind {
                    self.begin_after(cursor).await?;
                }
                cursor
            }
            (None, Some(heard)) => heard.from,
            (None, None) => end(self.store.as_ref(), &self.slot.id, self.page).await?,
        };
        self.cursor = Some(cursor);
        self.begun = true;
        Ok(cursor)
    }

    /// Reads what comes after a position that nothing is known of yet.
    async fn begin_after(&mut self, cursor: Seq) -> Result<(), StoreError> {
        let id = &self.slot.id;
        let before = Seq(cursor.0.saturating_sub(1));
        let mut facts = self.store.read(id, before, self.page).await?.into_iter();
        if facts.next().is_none() {
            let context = format!(
                "watching session {id} after {cursor}: its log does not go that far; watch it                  from a position that it has"
            );
            return Err(StoreError::new(StoreErrorKind::Invalid, context));
        }
        self.backlog.extend(facts);
        Ok(())
    }

    /// Has somebody follow the log from here on. Who is the first to ask for it reads what there
    /// is already.
    fn follow(&mut self, cursor: Seq) {
        let (slot, store, page) = (&self.slot, &self.store, self.page);
        if !self.looked && self.heard.is_none() && !slot.hub.is_followed() {
            self.looks = true;
            self.looked = true;
            return;
        }
        let begin = |name, seen| follower::begin(slot, store, page, name, seen);
        self.behind = self.behind.max(slot.hub.follow(cursor, begin));
        self.followed = true;
    }

    /// Waits for what is heard next. `None` when there is something else to look at first.
    async fn hear(&mut self, cursor: Seq) -> Option<Event> {
        let Some(heard) = &mut self.heard else {
            self.ear.told().await;
            return None;
        };
        if let Some(shown) = heard.shown.take() {
            return self.stream(cursor, shown);
        }
        // In this order: once it has ended, nothing comes that is not there already.
        if heard.bus.ended().is_some() && heard.events.is_empty() {
            self.heard = None;
            return None;
        }
        let event = tokio::select! {
            biased;
            event = heard.events.recv() => event,
            () = self.ear.told() => {
                if self.ear.take_look() {
                    self.look();
                }
                if let Some(heard) = self.ear.take_again() {
                    self.listen(heard);
                }
                return None;
            }
        };
        match event {
            Ok(Event::Fact(fact)) => {
                self.reached = self.reached.max(fact.seq);
                let event = if fact.seq == cursor.next() {
                    self.cursor = Some(fact.seq);
                    Some(Event::Fact(fact))
                } else {
                    if fact.seq > cursor {
                        self.behind = fact.seq;
                    }
                    None
                };
                self.caught_up(cursor);
                event
            }
            Ok(Event::Live(live)) => self.stream(cursor, live),
            Ok(other @ Event::Lagged { .. }) => Some(other),
            Ok(Event::Ended(_)) | Err(RecvError::Closed) => {
                self.heard = None;
                None
            }
            Err(RecvError::Lagged(missed)) => {
                let durable = heard.bus.durable();
                self.behind = self.behind.max(durable);
                if durable <= cursor {
                    self.reached = self.reached.max(durable);
                } else if self.takes == Takes::All {
                    self.takes = Takes::Lagging;
                }
                Some(Event::Lagged { missed })
            }
        }
    }

    /// What streams, where it is not older than what was given out.
    fn stream(&mut self, cursor: Seq, live: LiveBatch) -> Option<Event> {
        match self.takes {
            Takes::All if cursor <= self.reached => {
                self.streamed = true;
                Some(Event::Live(live))
            }
            Takes::All if self.streamed => {
                self.takes = Takes::Lagging;
                Some(Event::Lagged { missed: 1 })
            }
            Takes::All => {
                self.takes = Takes::Ahead;
                None
            }
            Takes::Bare | Takes::Ahead | Takes::Lagging => None,
        }
    }

    /// Once the facts that were read already were heard too, what streams is not older.
    fn caught_up(&mut self, cursor: Seq) {
        if self.reached < cursor {
            return;
        }
        match self.takes {
            Takes::Ahead => {
                if let Some(heard) = self.slot.hub.listen_again(self.name) {
                    self.listen(heard);
                }
            }
            Takes::Lagging => self.takes = Takes::All,
            Takes::All | Takes::Bare => {}
        }
    }

    /// Reads on in the log. A log that ends before a position that was durable is an error: it
    /// must never pass for the end.
    async fn fill(&mut self, cursor: Seq) -> Result<(), StoreError> {
        let id = &self.slot.id;
        let mut facts = self.store.read(id, cursor, self.page).await?;
        if facts.is_empty() && cursor < self.behind {
            let context = format!(
                "reading session {id} after {cursor}: the log ends there though {} was durable",
                self.behind
            );
            let kind = StoreErrorKind::Corrupt {
                after: cursor,
                offset: None,
            };
            return Err(StoreError::new(kind, context));
        }
        if facts.len() < self.page {
            self.looks = false;
        }
        // What is heard anyway is heard after what streams before it.
        if self.heard.is_some() && !self.looks && cursor < self.behind {
            facts.retain(|fact| fact.seq <= self.behind);
        }
        self.backlog.extend(facts);
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.slot.hub.leave(self.name);
        self.slot.forget();
    }
}

/// Where a log ends.
async fn end(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Seq, StoreError> {
    if store.capabilities().tail.is_some() {
        return store.tail(id, Seq::ZERO, Duration::ZERO).await;
    }
    let mut last = Seq::ZERO;
    loop {
        let facts = store.read(id, last, page).await?;
        last = facts.last().map_or(last, |fact| fact.seq);
        if facts.len() < page {
            return Ok(last);
        }
    }
}
