//! The live relay over core NATS: a subject for each session that is heard, and one on which nodes
//! announce what they hear. Nothing of it is in a stream.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::{MissedTickBehavior, interval};
use windlass_core::SessionId;
use windlass_kit_log::{Backlog, Interest, LiveMessage, QUEUE_MESSAGES};
use windlass_ports::{
    LiveBus, LiveBusCapabilities, LiveReceiver, LogSignal, StoreError, StoreErrorKind,
};

use crate::config::NatsConfig;
use crate::header::HEADER;
use crate::open;
use crate::server::Server;

/// The most bytes of a message, where the server takes so many; and what it takes beside them.
const MESSAGE_BYTES: usize = 64 * 1024;
const HEADER_ROOM: usize = 1_024;
/// The most bytes that wait to go out, and that go out at a time.
const BACKLOG_BYTES: usize = 1024 * 1024;
const GROUP_BYTES: usize = 64 * 1024;
/// The most bytes of an announcement.
const ANNOUNCEMENT: usize = 32 * 1024;
/// Interval at which subscriptions to a session are checked.
const LOOK: Duration = Duration::from_secs(1);

/// A live relay over core NATS, to all others of the same place.
#[derive(Debug)]
pub struct NatsLiveBus {
    shared: Arc<LiveBusState>,
    capabilities: LiveBusCapabilities,
}

#[derive(Debug)]
struct LiveBusState {
    server: Server,
    interest: Interest,
    backlog: Backlog,
}

impl NatsLiveBus {
    /// A relay by a connection of its own, without a stream and without JetStream: for nodes whose
    /// logs are kept elsewhere. Of the configuration it takes the servers, the place, who connects,
    /// and the times. Where no server answers it is a relay all the same: nothing is heard, and what is
    /// told is dropped, until one does.
    ///
    /// # Errors
    /// As [`NatsStore::open`](crate::NatsStore::open), as far as it connects, but `Unavailable`.
    pub async fn connect(config: &NatsConfig) -> Result<Self, StoreError> {
        let server = match open::connect(config, &config.login).await {
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                tracing::warn!(%error, "nothing streams to other nodes until a server answers");
                open::connect_later(config).await?
            }
            connected => connected?,
        };
        Ok(Self::new(server, config.linger_ms))
    }

    pub(crate) fn new(server: Server, linger_ms: u64) -> Self {
        let inbox = server.client.new_inbox();
        let (_, unique) = inbox.rsplit_once('.').unwrap_or(("", &inbox));
        let room = server.client.max_payload().saturating_sub(HEADER_ROOM);
        let interest = Interest::new(unique.to_owned(), Duration::from_millis(linger_ms));
        let shared =
            Arc::new(LiveBusState { server, interest, backlog: Backlog::new(BACKLOG_BYTES) });
        tokio::spawn(announce(Arc::clone(&shared), linger_ms));
        tokio::spawn(send(Arc::clone(&shared)));
        Self {
            shared,
            capabilities: LiveBusCapabilities {
                message_bytes: room.min(MESSAGE_BYTES),
                max_queued_messages: QUEUE_MESSAGES,
                backlog_bytes: BACKLOG_BYTES,
                linger_ms,
            },
        }
    }
}

impl LiveBus for NatsLiveBus {
    fn capabilities(&self) -> LiveBusCapabilities {
        self.capabilities
    }

    fn publish(&self, session: &SessionId, message: &[u8]) {
        let LiveBusState { server, interest, backlog } = &*self.shared;
        let Some(told) = interest.publish(session, message, self.capabilities.message_bytes) else {
            return;
        };
        let dropped = match server.client.connection_state() {
            State::Connected => backlog.push(told),
            State::Pending | State::Disconnected => 1,
        };
        interest.count_dropped(dropped);
    }

    fn has_subscribers(&self, session: &SessionId) -> bool {
        self.shared.interest.is_remote(session)
    }

    fn subscribe(&self, session: &SessionId) -> LiveReceiver {
        let (hearing, first) = self.shared.interest.subscribe(session);
        if first {
            tokio::spawn(receive_messages(Arc::clone(&self.shared), session.clone()));
        } else {
            self.shared.interest.announce(session);
        }
        hearing
    }

    fn new_subscribers(&self) -> LogSignal {
        self.shared.interest.watch()
    }

    fn dropped(&self) -> u64 {
        self.shared.interest.dropped()
    }
}

impl Drop for NatsLiveBus {
    fn drop(&mut self) {
        self.shared.interest.close();
        self.shared.interest.to_announce.notify_one();
        self.shared.backlog.to_send.notify_one();
    }
}

/// Sends what is told, as fast as the connection takes it.
async fn send(shared: Arc<LiveBusState>) {
    let LiveBusState { server, interest, backlog } = &*shared;
    while !interest.is_closed() {
        let group = backlog.pop_batch(GROUP_BYTES);
        if group.is_empty() {
            backlog.to_send.notified().await;
        }
        for told in group {
            let mut headers = HeaderMap::new();
            let head = format!("{} {}", interest.node(), told.number);
            headers.insert(HEADER, head.as_str());
            let subject = server.names.live_subject(&told.session);
            let sent = server.client.publish_with_headers(subject, headers, told.message);
            if let Err(error) = sent.await {
                tracing::debug!(%error, "a live message was dropped");
                interest.count_dropped(1);
            }
        }
    }
}

/// Receives what is told of one session, for as long as somebody here hears it.
async fn receive_messages(shared: Arc<LiveBusState>, session: SessionId) {
    let LiveBusState { server, interest, .. } = &*shared;
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = None;
    while !interest.is_closed() {
        tokio::select! {
            message = next(&mut told) => {
                if let Some((node, told)) = message.and_then(|message| read(&session, message)) {
                    interest.receive(&node, &told);
                }
                continue;
            }
            _ = ticks.tick() => {}
        }
        if interest.prune(&session) {
            return;
        }
        if told.is_none() {
            told = subscribe(&server.client, server.names.live_subject(&session)).await;
            if told.is_some() {
                // The server knows of the subscription before it hands the announcement on.
                interest.announce(&session);
            }
        }
    }
}

/// The next message of a subscription; none where there is none, or it ends with its connection.
async fn next(of: &mut Option<Subscriber>) -> Option<Message> {
    let message = match of {
        Some(subscriber) => subscriber.next().await,
        None => std::future::pending().await,
    };
    if message.is_none() {
        *of = None;
    }
    message
}

async fn subscribe(client: &Client, subject: String) -> Option<Subscriber> {
    let subscribed = client.subscribe(subject).await;
    subscribed.inspect_err(|error| tracing::debug!(%error, "live messages are not received")).ok()
}

/// A message as it came.
fn read(session: &SessionId, message: Message) -> Option<(String, LiveMessage)> {
    let headers = message.headers?;
    let (node, number) = headers.get(HEADER)?.as_str().split_once(' ')?;
    let told = LiveMessage {
        session: session.clone(),
        number: number.parse().ok()?,
        message: message.payload,
    };
    Some((node.to_owned(), told))
}

/// Announces what is heard here, and takes in what others announce.
async fn announce(shared: Arc<LiveBusState>, linger_ms: u64) {
    let LiveBusState { server, interest, .. } = &*shared;
    let mut ticks = interval(Duration::from_millis(linger_ms / 3));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let subject = server.names.interest_subject();
    let mut others = None;
    while !interest.is_closed() {
        let all = tokio::select! {
            other = next(&mut others) => {
                if let Some(other) = other {
                    interest.receive_announcement(&String::from_utf8_lossy(&other.payload));
                }
                continue;
            }
            () = interest.to_announce.notified() => false,
            _ = ticks.tick() => true,
        };
        if others.is_none() {
            others = subscribe(&server.client, subject.clone()).await;
        }
        for announcement in interest.announcements(all, ANNOUNCEMENT) {
            let payload = Bytes::from(announcement);
            if let Err(error) = server.client.publish(subject.clone(), payload).await {
                tracing::debug!(%error, "what is heard here was not announced: it is again");
            }
        }
    }
}
