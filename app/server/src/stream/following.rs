//! Following: one client that is told a session's events, until there is a reason not to.
//!
//! Nothing is read ahead for a client: the next event is asked for once it can be sent. So what one
//! client costs is bounded by what is on its way to it, and one that does not read falls behind in
//! the bus, which waits for nobody.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use windlass_engine::core::{Seq, SessionId};
use windlass_engine::ports::codec::CodecError;
use windlass_engine::ports::{StoreError, StoreErrorKind};
use windlass_engine::{Event, EventStream};

use crate::access::{Pass, Right};
use crate::app::App;
use crate::caller::Caller;

/// Message to a client.
pub(crate) enum Told {
    /// A fact, or live events.
    Event(Event),
    /// That the stream lives.
    Beat,
    /// That it fell behind. Nothing follows.
    Lagged(Lagged),
    /// The stream ends, for this reason.
    End(End),
}

/// Extent of a client's lag, and the position to continue from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Lagged {
    /// Events that it was not told.
    missed: u64,
    /// The last position that it was told.
    after: Seq,
}

/// The last word of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct End {
    pub(crate) reason: Reason,
}

/// Reason for the end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// The server is going away.
    Draining,
    /// The session is no more.
    Erased,
    /// The token is known no more, or may not read any more.
    Unauthorized,
    /// The store does not answer.
    StoreAway,
    /// The log does not read.
    Damaged,
}

impl From<Reason> for Told {
    fn from(reason: Reason) -> Self {
        Self::End(End { reason })
    }
}

/// One client that is told a session's events.
pub(crate) struct Following {
    app: Arc<App>,
    caller: Caller,
    watch: EventStream,
    live: bool,
    beat: Interval,
    /// The server goes away.
    drained: Pin<Box<dyn Future<Output = ()> + Send>>,
    over: bool,
    /// It ends where it falls behind.
    whole: bool,
    /// Its room among the tenant's streams.
    _pass: Pass,
}

impl Following {
    /// Begins to follow.
    pub(crate) fn new(
        app: Arc<App>,
        caller: Caller,
        pass: Pass,
        watch: EventStream,
        live: bool,
    ) -> Self {
        let every = Duration::from_millis(app.bounds.heartbeat_ms.max(1));
        let mut beat = interval_at(Instant::now() + every, every);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let going = app.clone();
        Self {
            app,
            caller,
            watch,
            live,
            beat,
            drained: Box::pin(async move { going.drained().await }),
            over: false,
            whole: true,
            _pass: pass,
        }
    }

    /// The same, and it goes on where it falls behind: only live events are lost.
    pub(crate) fn going_on(mut self) -> Self {
        self.whole = false;
        self
    }

    /// Waits for the next message. Returns `None` after the reason for the end.
    ///
    /// Safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        if self.over {
            return None;
        }
        let told = self.wait().await;
        self.over = match told {
            Told::Event(_) | Told::Beat => false,
            Told::Lagged(_) => self.whole,
            Told::End(_) => true,
        };
        Some(told)
    }

    /// Returns a message that is available at once.
    pub(crate) fn ready(&mut self) -> Option<Told> {
        self.next().now_or_never().flatten()
    }

    /// An event has no text form: nothing more can be told.
    pub(crate) fn defect(&mut self, error: &CodecError) {
        let session = self.watch.id();
        tracing::error!(%session, %error, "an event has no text form, please report it");
        self.over = true;
    }

    async fn wait(&mut self) -> Told {
        loop {
            let event = tokio::select! {
                biased;
                () = &mut self.drained => return Reason::Draining.into(),
                event = self.watch.next() => event,
                _ = self.beat.tick() => return self.beaten(),
            };
            match event {
                Ok(Event::Live(_)) if !self.live => {}
                Ok(event @ (Event::Fact(_) | Event::Live(_))) => return Told::Event(event),
                // Facts among them follow from the log, so whoever wants no others lacks nothing.
                Ok(Event::Lagged { .. }) if !self.live => {}
                Ok(Event::Lagged { missed }) => return self.lagged(missed),
                // A watch outlives drivers.
                Ok(Event::Ended(_)) => {}
                Err(error) => return reason(self.watch.id(), &error).into(),
            }
        }
    }

    fn beaten(&self) -> Told {
        let grant = self.app.access.stands(&self.caller.token);
        let tenant = &self.caller.tenant.name;
        match grant {
            Some(grant) if grant.rights.has(Right::Read) && grant.tenant == *tenant => Told::Beat,
            Some(_) | None => Reason::Unauthorized.into(),
        }
    }

    fn lagged(&self, missed: u64) -> Told {
        Told::Lagged(Lagged {
            missed,
            after: self.watch.cursor().unwrap_or(Seq::ZERO),
        })
    }
}

/// Maps an error of the store to the reason for the end.
fn reason(session: &SessionId, error: &StoreError) -> Reason {
    match &error.kind {
        StoreErrorKind::Unknown => Reason::Erased,
        StoreErrorKind::Corrupt { .. } | StoreErrorKind::Newer => {
            tracing::error!(%session, %error, "a log that is watched does not read");
            Reason::Damaged
        }
        StoreErrorKind::Locked
        | StoreErrorKind::NotClaimed
        | StoreErrorKind::Conflict { .. }
        | StoreErrorKind::Invalid
        | StoreErrorKind::TooLarge
        | StoreErrorKind::Full
        | StoreErrorKind::ReadOnly
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io => {
            tracing::warn!(%session, %error, "a log that is watched cannot be read");
            Reason::StoreAway
        }
    }
}
