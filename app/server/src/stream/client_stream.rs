//! Client stream: one client that receives a session's events, until the stream ends for a reason.
//!
//! Nothing is buffered for a client: the next event is read once it can be sent. So the memory for
//! a client is bounded by the data under way to it. A client that does not read lags behind the
//! bus, which never waits.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use windlass_engine::core::{Seq, SessionId};
use windlass_engine::ports::codec::CodecError;
use windlass_engine::ports::{StoreError, StoreErrorKind};
use windlass_engine::{Event, EventStream, StoreStatus};

use crate::access::{Right, UsagePermit};
use crate::app::App;
use crate::caller::Caller;

/// Message to a client.
pub(crate) enum StreamMessage {
    /// A fact or live events.
    Event(Event),
    /// Heartbeat of the stream.
    Heartbeat,
    /// The store failed, or works again.
    Store(StoreNotice),
    /// The client lags. Nothing follows.
    Lagged(LagNotice),
    /// The stream ends, for this reason.
    End(EndNotice),
}

/// Extent of a client's lag, and the position to continue from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LagNotice {
    /// Number of events that the client did not receive.
    missed: u64,
    /// Last position that the client received.
    after: Seq,
}

/// State of the store, as a client receives it. It names no path and no server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum StoreNotice {
    /// It works again.
    Works,
    /// It failed. Turns continue once it works again.
    Failed { reason: &'static str },
}

impl StoreNotice {
    fn of(status: &StoreStatus) -> Self {
        status.failure().map_or(Self::Works, |reason| Self::Failed { reason })
    }
}

/// Last message of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct EndNotice {
    pub(crate) reason: EndReason,
}

/// Reason for the end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndReason {
    /// The server is draining.
    Draining,
    /// The session was erased.
    Erased,
    /// The token was revoked, or lost the right to read.
    Unauthorized,
    /// The store is unavailable.
    StoreAway,
    /// The log is unreadable.
    Damaged,
}

impl From<EndReason> for StreamMessage {
    fn from(reason: EndReason) -> Self {
        Self::End(EndNotice { reason })
    }
}

/// Client that receives a session's events.
pub(crate) struct ClientStream {
    app: Arc<App>,
    caller: Caller,
    events: EventStream,
    live: bool,
    heartbeat: Interval,
    /// Resolves when the server drains.
    drained: Pin<Box<dyn Future<Output = ()> + Send>>,
    over: bool,
    /// True if the stream ends when the client lags.
    ends_on_lag: bool,
    /// Permit among the tenant's streams.
    _pass: UsagePermit,
}

impl ClientStream {
    /// Creates a stream.
    pub(crate) fn new(
        app: Arc<App>,
        caller: Caller,
        pass: UsagePermit,
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
            events: watch,
            live,
            heartbeat: beat,
            drained: Box::pin(async move { going.drained().await }),
            over: false,
            ends_on_lag: true,
            _pass: pass,
        }
    }

    /// Continues the stream when the client lags: only live events are lost.
    pub(crate) fn continuing_on_lag(mut self) -> Self {
        self.ends_on_lag = false;
        self
    }

    /// Waits for the next message. Returns `None` after the reason for the end.
    ///
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<StreamMessage> {
        if self.over {
            return None;
        }
        let told = self.receive().await;
        self.over = match told {
            StreamMessage::Event(_) | StreamMessage::Store(_) | StreamMessage::Heartbeat => false,
            StreamMessage::Lagged(_) => self.ends_on_lag,
            StreamMessage::End(_) => true,
        };
        Some(told)
    }

    /// Returns a message that is available at once.
    pub(crate) fn ready(&mut self) -> Option<StreamMessage> {
        self.next().now_or_never().flatten()
    }

    /// Ends the stream, since an event has no text form.
    pub(crate) fn defect(&mut self, error: &CodecError) {
        let session = self.events.id();
        tracing::error!(%session, %error, "an event has no text form, please report it");
        self.over = true;
    }

    async fn receive(&mut self) -> StreamMessage {
        loop {
            let event = tokio::select! {
                biased;
                () = &mut self.drained => return EndReason::Draining.into(),
                event = self.events.next() => event,
                _ = self.heartbeat.tick() => return self.on_heartbeat(),
            };
            match event {
                Ok(Event::Live(_)) if !self.live => {}
                Ok(event @ (Event::Fact(_) | Event::Live(_))) => {
                    return StreamMessage::Event(event);
                }
                Ok(Event::Store(status)) => return StreamMessage::Store(StoreNotice::of(&status)),
                // Dropped facts follow from the log, so a client without live events lacks nothing.
                Ok(Event::Lagged { .. }) if !self.live => {}
                Ok(Event::Lagged { missed }) => return self.on_lag(missed),
                // The stream outlives drivers.
                Ok(Event::Ended(_)) => {}
                Err(error) => return reason(self.events.id(), &error).into(),
            }
        }
    }

    fn on_heartbeat(&self) -> StreamMessage {
        let grant = self.app.access.current_grant(&self.caller.token);
        let tenant = &self.caller.tenant.name;
        match grant {
            Some(grant) if grant.rights.has(Right::Read) && grant.tenant == *tenant => {
                StreamMessage::Heartbeat
            }
            Some(_) | None => EndReason::Unauthorized.into(),
        }
    }

    fn on_lag(&self, missed: u64) -> StreamMessage {
        StreamMessage::Lagged(LagNotice {
            missed,
            after: self.events.cursor().unwrap_or(Seq::ZERO),
        })
    }
}

/// Maps an error of the store to the reason for the end.
fn reason(session: &SessionId, error: &StoreError) -> EndReason {
    match &error.kind {
        StoreErrorKind::Unknown => EndReason::Erased,
        StoreErrorKind::Corrupt { .. } | StoreErrorKind::Newer | StoreErrorKind::WrongKey => {
            tracing::error!(%session, %error, "a followed log is damaged");
            EndReason::Damaged
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
        | StoreErrorKind::Io
        | StoreErrorKind::Ended => {
            tracing::warn!(%session, %error, "cannot read a followed log");
            EndReason::StoreAway
        }
    }
}
