//! The tasks of an inbox: telling of arrivals, and taking away replies that were kept for long enough.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::MissedTickBehavior;
use windlass_core::SessionId;
use windlass_ports::{LogSignal, LogSignalSource};

use crate::mailbox::{MailboxState, POLL_INTERVAL};
use crate::names::{ACKNOWLEDGEMENT, session_of};
use crate::server::ms;
use crate::server_error::ServerError;

/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;
/// The shortest and the longest time between two looks for replies that are old.
const SWEEPS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(60));
/// The most replies that are taken away at a look.
const SWEPT: usize = 10_000;

/// Begins to tell of arrivals.
pub(crate) fn arrivals(post: &Arc<MailboxState>) -> LogSignal {
    let (source, news) = LogSignal::new(NEWS);
    tokio::spawn(forward_arrivals(Arc::downgrade(post), source));
    news
}

/// Tells of what others tell at once, and of all that waits now and again.
async fn forward_arrivals(post: Weak<MailboxState>, source: LogSignalSource) {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut came, mut after): (Option<Subscriber>, Option<SessionId>) = (None, None);
    loop {
        let told = async {
            match &mut came {
                Some(came) => came.next().await,
                None => std::future::pending().await,
            }
        };
        let told = tokio::select! {
            told = told => Some(told),
            _ = ticks.tick() => None,
        };
        let Some(post) = post.upgrade().filter(|_| !source.is_closed()) else {
            return;
        };
        match told {
            Some(Some(message)) => {
                if let Some(session) = session_of(&message.subject) {
                    source.publish(&session);
                }
                continue;
            }
            // The connection is closing.
            Some(None) => came = None,
            None => {}
        }
        if came.is_none() {
            let subject = post.server.names.arrival_subject(None);
            came = post.server.client.subscribe(subject).await.ok();
        }
        match post.waiting().await {
            Ok(waiting) => {
                let left = waiting
                    .iter()
                    .filter(|session| after.as_ref().is_none_or(|after| *session > after));
                // What has no room now comes first the next time.
                after = left.take_while(|session| source.publish(session)).last().cloned();
                if after.as_ref() == waiting.last() {
                    after = None;
                }
            }
            Err(trouble) => tracing::debug!(%trouble, "looking for letters"),
        }
    }
}

/// Takes replies away that were kept for long enough, for as long as there is an inbox.
pub(crate) async fn sweep(post: Weak<MailboxState>, replies_ms: u64) {
    let every = Duration::from_millis(replies_ms / 4).clamp(SWEEPS.0, SWEEPS.1);
    loop {
        tokio::time::sleep(every).await;
        let Some(post) = post.upgrade() else {
            return;
        };
        if let Err(trouble) = swept(&post, replies_ms).await {
            tracing::debug!(%trouble, "taking old replies away: they go the next time");
        }
    }
}

async fn swept(post: &MailboxState, replies_ms: u64) -> Result<(), ServerError> {
    let server = &post.server;
    let stream = server.names.mailbox_stream();
    let all = server.names.mailbox_subject(ACKNOWLEDGEMENT, None, None);
    let mut now_ms = None;
    for _ in 0..SWEPT {
        // They lie in the order in which they were given.
        let Some(oldest) = server.next(&stream, &all, 1).await? else {
            return Ok(());
        };
        let now_ms = match now_ms {
            Some(now_ms) => now_ms,
            None => *now_ms.insert(time_ms(post, &stream).await?),
        };
        if oldest.at_ms.saturating_add(replies_ms) >= now_ms {
            return Ok(());
        }
        server.erase_message(&stream, oldest.seq).await?;
    }
    Ok(())
}

/// The time of the stream's leader, in milliseconds since the Unix epoch.
async fn time_ms(post: &MailboxState, stream: &str) -> Result<u64, ServerError> {
    let info: Value = post.server.call(&format!("STREAM.INFO.{stream}"), &()).await?;
    let told = info.get("ts").and_then(Value::as_str);
    let told = told.and_then(|ts| async_nats::datetime::parse_rfc3339(ts).ok());
    let strange = || ServerError::Unexpected(format!("stream {stream} does not tell the time"));
    Ok(ms(told.ok_or_else(strange)?.unix_timestamp_nanos()))
}
