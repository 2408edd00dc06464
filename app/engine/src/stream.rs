//! Event stream: a session's events from a cursor on, without a gap or a duplicate, for any
//! observer.
//!
//! The log supplies events that precede the subscription; then a bus takes over. When the bus has a
//! gap, the log fills it.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{Stream, unfold};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use windlass_core::{RecordedFact, Scope, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};

use crate::access::AccessCheck;
use crate::bus::{EventBus, EventFeed};
use crate::event::Event;
use crate::follower;
use crate::hub::{FeedNotices, HubSubscription};
use crate::live_check::LiveCheck;
use crate::published::LiveBatch;
use crate::slot::Slot;
use crate::store_watch::StoreStatus;

/// Limit on the facts of one read. Each of many streams may hold as many.
const PAGE: usize = 128;

/// Events of a session from a cursor on: facts, each once and in order, and live deltas between
/// them.
///
/// [`Engine::subscribe`](crate::Engine::subscribe) follows a session across drivers that come and
/// go, on this node and on others. [`SessionHandle::subscribe`](crate::SessionHandle::subscribe) of
/// a handle that is bound to its driver ends with that driver, with [`Event::Ended`]. A stream
/// opens nothing, claims nothing, and keeps no driver alive.
pub struct EventStream {
    session: SessionId,
    store: Arc<dyn LogStore>,
    page: usize,
    source: FeedSource,
    access: AccessCheck,
    feed: Option<EventFeed>,
    live: LiveHandling,
    check: LiveCheck,
    /// Event that follows a lag.
    held: Option<Event>,
    /// State of the store that is not returned yet.
    store_status: Option<StoreStatus>,
    /// Facts up to this position were received, or precede the feed in the log.
    reached: Seq,
    /// Last position returned; `None` until the present position is known.
    cursor: Option<Seq>,
    /// True if the log is known to contain the cursor.
    begun: bool,
    /// The log precedes the feed up to this position.
    behind: Seq,
    backlog: VecDeque<RecordedFact>,
    /// True if the log must be read to its end before the stream waits.
    reads: bool,
    /// True if the log was read to its end since a follower last ended.
    read: bool,
    /// True if a follower publishes appends of other writers.
    followed: bool,
}

/// Origin of the feeds of a stream.
enum FeedSource {
    /// One driver here. The stream ends with it.
    Driver,
    /// Any driver, here or elsewhere.
    Session(HubMembership),
}

/// Membership in a session's hub, which ends when it is dropped.
struct HubMembership {
    slot: Arc<Slot>,
    name: u64,
    notify: Arc<Notify>,
}

/// Handling of live events. Facts are always returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LiveHandling {
    /// Returned.
    Return,
    /// Dropped until another feed replaces this one: the text streamed earlier is not known.
    DropUnknown,
    /// Dropped until the feed has caught up with facts that were read; then replaced by a new feed.
    DropAhead,
}

impl EventStream {
    /// Follows a session across drivers.
    pub(crate) fn of_session(
        slot: Arc<Slot>,
        scope: &Scope,
        store: Arc<dyn LogStore>,
        subscribed: HubSubscription,
        after: Option<Seq>,
        page: usize,
    ) -> Self {
        let session = slot.id.clone();
        let source = FeedSource::Session(HubMembership {
            slot,
            name: subscribed.name,
            notify: subscribed.notify,
        });
        let mut stream = Self::new(session, store, source, page);
        (stream.cursor, stream.behind) = (after, subscribed.from);
        stream.access = AccessCheck::of(scope);
        stream
    }

    /// Follows one driver until it ends.
    pub(crate) fn of_driver(
        session: SessionId,
        store: Arc<dyn LogStore>,
        bus: &EventBus,
        after: Option<Seq>,
        page: usize,
    ) -> Self {
        let mut stream = Self::new(session, store, FeedSource::Driver, page);
        let feed = bus.subscribe();
        stream.cursor = Some(after.unwrap_or(feed.from));
        // A driver publishes all that it appends.
        (stream.begun, stream.followed) = (true, true);
        stream.receive_from(feed);
        stream
    }

    fn new(session: SessionId, store: Arc<dyn LogStore>, source: FeedSource, page: usize) -> Self {
        Self {
            session,
            store,
            page: page.clamp(1, PAGE),
            source,
            access: AccessCheck::Passed,
            feed: None,
            live: LiveHandling::Return,
            check: LiveCheck::default(),
            held: None,
            store_status: None,
            reached: Seq::ZERO,
            cursor: None,
            begun: false,
            behind: Seq::ZERO,
            backlog: VecDeque::new(),
            reads: false,
            read: false,
            followed: false,
        }
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.session
    }

    /// Returns the last position that was returned. `None` for a stream from the present on whose
    /// [`EventStream::next`] was never polled: the present position is not known yet.
    #[must_use]
    pub fn cursor(&self) -> Option<Seq> {
        match &self.held {
            Some(Event::Fact(fact)) => Some(Seq(fact.seq.0.saturating_sub(1))),
            Some(Event::Live(_) | Event::Lagged { .. } | Event::Store(_) | Event::Ended(_))
            | None => self.cursor,
        }
    }

    /// Resolves and returns the position after which the stream begins: every later append is
    /// returned. [`EventStream::next`] does the same on its first call.
    ///
    /// # Errors
    /// As [`EventStream::next`].
    pub async fn begin(&mut self) -> Result<Seq, StoreError> {
        if self.feed.is_none() {
            // Earlier events of drivers do not concern a stream that begins now.
            self.next_feed();
        }
        self.start().await
    }

    /// Returns the next event. A stream that is bound to a driver ends with [`Event::Ended`], which
    /// repeats; any other stream never returns it.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read; the cursor stays, so the call may be repeated.
    /// Kind `Unknown`: the session does not exist, or was erased, and nothing follows. Kind
    /// `Invalid`: the log does not contain the position after which the stream was to begin.
    pub async fn next(&mut self) -> Result<Event, StoreError> {
        if let Some(event) = self.held.take() {
            return Ok(event);
        }
        let event = self.next_event().await?;
        if !self.check.apply(&event) {
            return Ok(event);
        }
        if let Event::Fact(_) = &event {
            // The text of the other parts is void too, so it follows from its beginning.
            self.replace_feed();
        }
        self.held = Some(event);
        Ok(Event::Lagged { missed: 1 })
    }

    async fn next_event(&mut self) -> Result<Event, StoreError> {
        loop {
            if let Some(status) = self.store_status.take() {
                return Ok(Event::Store(status));
            }
            if let Some(fact) = self.backlog.pop_front() {
                self.cursor = Some(fact.seq);
                return Ok(Event::Fact(Arc::new(fact).into()));
            }
            if self.feed.is_none()
                && let Some(missed) = self.next_feed()
            {
                return Ok(Event::Lagged { missed });
            }
            if self.store_status.is_some() {
                continue;
            }
            let cursor = self.start().await?;
            if !self.backlog.is_empty() {
                continue;
            }
            if cursor < self.behind || self.reads {
                self.fill(cursor).await?;
                continue;
            }
            if !self.followed {
                self.follow(cursor);
                continue;
            }
            if let Some(event) = self.receive(cursor).await {
                self.access.apply(&self.session, &event)?;
                return Ok(event);
            }
        }
    }

    /// Converts into a [`Stream`] of the same events, which ends after [`Event::Ended`] or an
    /// error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Event, StoreError>> + Send {
        unfold(Some(self), |stream| async {
            let mut stream = stream?;
            let event = stream.next().await;
            let goes_on = !matches!(event, Ok(Event::Ended(_)) | Err(_));
            Some((event, goes_on.then_some(stream)))
        })
    }

    /// Takes over the next feed, if there is one. Returns the number of events missed in between.
    fn next_feed(&mut self) -> Option<u64> {
        let FeedSource::Session(member) = &self.source else {
            return None;
        };
        let pending = member.slot.hub.take_pending(member.name);
        if let Some(feed) = pending.feed {
            self.receive_from(feed);
        }
        self.apply(pending.notices);
        (pending.missed > 0).then_some(pending.missed)
    }

    fn apply(&mut self, notices: FeedNotices) {
        if notices.read {
            self.reads = true;
            self.read = true;
            self.followed = false;
        }
        if notices.again {
            self.replace_feed();
        }
        if notices.store.is_some() {
            self.store_status = notices.store;
        }
    }

    /// Replaces the feed by one of the present moment. Returns false if there is none.
    fn replace_feed(&mut self) -> bool {
        let feed = match &self.source {
            FeedSource::Driver => self.feed.as_ref().map(|feed| feed.bus.subscribe()),
            FeedSource::Session(member) => member.slot.hub.new_feed(member.name),
        };
        let Some(feed) = feed else {
            return false;
        };
        self.receive_from(feed);
        true
    }

    fn receive_from(&mut self, feed: EventFeed) {
        self.behind = self.behind.max(feed.from);
        self.reached = feed.from;
        self.live = if feed.bare { LiveHandling::DropUnknown } else { LiveHandling::Return };
        self.check.restart();
        self.feed = Some(feed);
    }

    /// Returns the cursor. A stream from the present on begins at the log's end; any other cursor
    /// must be in the log, since one follower serves all streams.
    async fn start(&mut self) -> Result<Seq, StoreError> {
        if let FeedSource::Session(member) = &self.source {
            self.access.check(&member.slot).await?;
        }
        let cursor = match (self.cursor, &self.feed) {
            (Some(cursor), _) if self.begun => return Ok(cursor),
            (Some(cursor), _) => {
                if cursor > self.behind {
                    self.begin_after(cursor).await?;
                }
                cursor
            }
            (None, Some(feed)) => feed.from,
            (None, None) => end(self.store.as_ref(), &self.session, self.page).await?,
        };
        self.cursor = Some(cursor);
        self.begun = true;
        Ok(cursor)
    }

    /// Reads the facts after a position that is not known here yet.
    async fn begin_after(&mut self, cursor: Seq) -> Result<(), StoreError> {
        let id = &self.session;
        let before = Seq(cursor.0.saturating_sub(1));
        let mut facts = self.store.read(id, before, self.page).await?.into_iter();
        if facts.next().is_none() {
            let context = format!(
                "subscribing to session {id} after {cursor}: its log ends before that; use a \
                 position that it has"
            );
            return Err(StoreError::new(StoreErrorKind::Invalid, context));
        }
        self.backlog.extend(facts);
        Ok(())
    }

    /// Starts a follower unless one runs. The stream that starts it reads the log to its end first.
    fn follow(&mut self, cursor: Seq) {
        let FeedSource::Session(HubMembership { slot, .. }) = &self.source else {
            return;
        };
        if !self.read && self.feed.is_none() && !slot.hub.is_followed() {
            self.reads = true;
            self.read = true;
            return;
        }
        let begin = |id, seen| follower::begin(slot, &self.store, self.page, id, seen);
        self.behind = self.behind.max(slot.hub.follow(cursor, begin));
        self.followed = true;
    }

    /// Waits for the next event of the feed. `None` when something else comes first.
    async fn receive(&mut self, cursor: Seq) -> Option<Event> {
        let Some(feed) = &mut self.feed else {
            notified(&self.source).await;
            return None;
        };
        if let Some(shown) = feed.live.take() {
            return self.stream(cursor, shown);
        }
        // In this order: after the end nothing is added to the feed.
        if let Some(ended) = feed.bus.ended()
            && feed.events.is_empty()
        {
            return match self.source {
                FeedSource::Driver => Some(Event::Ended(ended)),
                FeedSource::Session(_) => {
                    self.feed = None;
                    None
                }
            };
        }
        let event = tokio::select! {
            biased;
            event = feed.events.recv() => event,
            () = notified(&self.source) => {
                if let FeedSource::Session(member) = &self.source {
                    self.apply(member.slot.hub.take_notices(member.name));
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
                self.on_caught_up(cursor);
                event
            }
            Ok(Event::Live(live)) => self.stream(cursor, live),
            Ok(other @ (Event::Lagged { .. } | Event::Store(_))) => Some(other),
            // The end is found above, once the feed is empty.
            Ok(Event::Ended(_)) | Err(RecvError::Closed) => None,
            Err(RecvError::Lagged(missed)) => {
                self.behind = self.behind.max(feed.bus.durable());
                let missed = missed.saturating_add(feed.events.len() as u64);
                // The next feed begins with the whole text so far. Without one, no driver is here.
                if !self.replace_feed() {
                    self.live = LiveHandling::DropUnknown;
                }
                Some(Event::Lagged { missed })
            }
        }
    }

    /// Returns live events unless they are older than facts that were returned.
    fn stream(&mut self, cursor: Seq, live: LiveBatch) -> Option<Event> {
        match self.live {
            LiveHandling::Return if cursor <= self.reached => Some(Event::Live(live)),
            LiveHandling::Return => {
                self.live = LiveHandling::DropAhead;
                None
            }
            LiveHandling::DropUnknown | LiveHandling::DropAhead => None,
        }
    }

    /// Replaces the feed once it has caught up with facts that were read.
    fn on_caught_up(&mut self, cursor: Seq) {
        if self.live == LiveHandling::DropAhead && self.reached >= cursor {
            self.replace_feed();
        }
    }

    /// Reads the next facts of the log. A log that ends before a durable position is an error,
    /// never the end.
    async fn fill(&mut self, cursor: Seq) -> Result<(), StoreError> {
        let id = &self.session;
        let mut facts = self.store.read(id, cursor, self.page).await?;
        if facts.is_empty() && cursor < self.behind {
            let context = format!(
                "reading session {id} after {cursor}: the log ends there though {} was durable",
                self.behind
            );
            let kind = StoreErrorKind::Corrupt { after: cursor, offset: None };
            return Err(StoreError::new(kind, context));
        }
        if facts.len() < self.page {
            self.reads = false;
        }
        // The feed supplies later facts, after the live events that precede them.
        if self.feed.is_some() && !self.reads && cursor < self.behind {
            facts.retain(|fact| fact.seq <= self.behind);
        }
        self.backlog.extend(facts);
        Ok(())
    }
}

impl Drop for HubMembership {
    fn drop(&mut self) {
        self.slot.hub.unsubscribe(self.name);
        self.slot.forget();
    }
}

/// Waits for a notice of the hub. Never returns for a stream that is bound to a driver.
async fn notified(source: &FeedSource) {
    match source {
        FeedSource::Driver => pending().await,
        FeedSource::Session(member) => member.notify.notified().await,
    }
}

/// Finds the end of a log.
async fn end(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Seq, StoreError> {
    if store.capabilities().tail_delay_ms.is_some() {
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
