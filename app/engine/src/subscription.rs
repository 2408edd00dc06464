//! Subscription: a session's events from a cursor on, without a gap or a duplicate.
//!
//! What is older than the moment of subscribing comes from the log; then the bus takes over.
//! Whenever the bus shows a gap, the log fills it.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};

use crate::bus::{Bus, Listening};
use crate::error::Ended;
use crate::event::Event;
use crate::published::LiveBatch;

/// A session's events from a cursor on.
pub struct Subscription {
    store: Arc<dyn LogStore>,
    session: SessionId,
    bus: Bus,
    events: broadcast::Receiver<Event>,
    /// The last position given out.
    cursor: Seq,
    /// The position up to which the log comes before anything that is heard.
    behind: Seq,
    /// What was shown by then and is in no log.
    shown: Option<LiveBatch>,
    backlog: VecDeque<Recorded>,
    page: usize,
}

impl Subscription {
    pub(crate) fn new(
        store: Arc<dyn LogStore>,
        session: SessionId,
        bus: Bus,
        after: Option<Seq>,
        page: usize,
    ) -> Self {
        let Listening {
            events,
            durable,
            shown,
        } = bus.listen();
        let cursor = after.unwrap_or(durable);
        Self {
            store,
            session,
            bus,
            events,
            behind: durable,
            shown,
            cursor,
            backlog: VecDeque::new(),
            page: page.max(1),
        }
    }

    /// The last position given out.
    #[must_use]
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// The next event. After [`Event::Ended`] comes only the same again.
    ///
    /// Safe to drop while it waits.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read; the cursor stands, so it may be tried again.
    pub async fn next(&mut self) -> Result<Event, StoreError> {
        loop {
            if let Some(fact) = self.backlog.pop_front() {
                self.cursor = fact.seq;
                return Ok(Event::Fact(Arc::new(fact).into()));
            }
            if self.cursor < self.behind {
                self.fill().await?;
                continue;
            }
            if let Some(shown) = self.shown.take() {
                return Ok(Event::Live(shown));
            }
            // In this order: once it has ended, nothing comes that is not there already.
            if let Some(ended) = self.bus.ended()
                && self.events.is_empty()
            {
                return Ok(Event::Ended(ended));
            }
            match self.events.recv().await {
                Ok(Event::Fact(fact)) if fact.seq <= self.cursor => {}
                Ok(Event::Fact(fact)) if fact.seq == self.cursor.next() => {
                    self.cursor = fact.seq;
                    return Ok(Event::Fact(fact));
                }
                Ok(Event::Fact(fact)) => self.behind = fact.seq,
                Ok(other @ (Event::Live(_) | Event::Lagged { .. } | Event::Ended(_))) => {
                    return Ok(other);
                }
                Err(RecvError::Lagged(missed)) => {
                    self.behind = self.bus.durable();
                    return Ok(Event::Lagged { missed });
                }
                // The subscription itself keeps the bus open.
                Err(RecvError::Closed) => return Ok(Event::Ended(Arc::new(Ended::Closed))),
            }
        }
    }

    /// Reads on in the log. A log that ends before a position that was durable is an error: it
    /// must never pass for the end.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let mut facts = self
            .store
            .read(&self.session, self.cursor, self.page)
            .await?;
        if facts.is_empty() {
            let context = format!(
                "reading session {} after {}: the log ends there though {} was durable",
                self.session, self.cursor, self.behind
            );
            let kind = StoreErrorKind::Corrupt {
                after: self.cursor,
                offset: None,
            };
            return Err(StoreError::new(kind, context));
        }
        // What is heard anyway is heard after what streams before it.
        facts.retain(|fact| fact.seq <= self.behind);
        self.backlog.extend(facts);
        Ok(())
    }
}
