//! The inbox: a letter and a reply are a message each, in one stream beside the logs.
//!
//! All of a session's inbox lies under `inbox.*.SESSION.*`. A letter is left with the last message of
//! all that as what it must follow, so that what was looked at before (whether it is known, how many
//! wait) still holds when it comes to stand. Before letters are handed out a fence is written with the
//! epoch of the claim, and a reply must follow the session's latest fence: so one of a driver that was
//! superseded is refused by the server, however late it comes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout_at};
use windlass_core::{Epoch, SessionId};
use windlass_ports::{
    Durability, LogSignal, Mailbox, MailboxCapabilities, MailboxCommand, MailboxCommandId,
    MailboxError, MailboxErrorKind,
};

use crate::header::{HEADER, MessageHeader, MessageKind};
use crate::list::subjects_of;
use crate::names::{ACKNOWLEDGEMENT, COMMAND, parse_mailbox_subject};
use crate::server::{OutgoingMessage, Server, StoredMessage};
use crate::server_error::ServerError;

/// The most bytes of a letter where the server takes so many; and what it takes beside them.
const MAX_COMMAND_BYTES: usize = 1024 * 1024;
const HEADER_ROOM: usize = 4 * 1024;
/// The most letters that wait in a session.
const MAX_COMMANDS: usize = 64;
/// Most tries of a change while others change the same inbox.
const ATTEMPTS: u32 = 64;
/// Interval at which the inbox is polled in addition to notices; the longest delay of a notice.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(500);
const TOLD_MS: u64 = 1_500;
/// The subject that a message must follow, where that is not its own.
const EXPECTED_OF: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// An inbox in JetStream, beside the logs of a [`NatsStore`](crate::NatsStore).
#[derive(Debug, Clone)]
pub struct NatsMailbox {
    pub(crate) state: Arc<MailboxState>,
}

/// State that an inbox shares with its tasks.
#[derive(Debug)]
pub(crate) struct MailboxState {
    pub(crate) server: Server,
    capabilities: MailboxCapabilities,
}

/// Letters and replies of a session, by the tokens of the letters' ids.
struct KnownTokens {
    commands: BTreeSet<String>,
    acknowledgements: BTreeSet<String>,
}

impl KnownTokens {
    fn waiting(&self) -> usize {
        self.commands.difference(&self.acknowledgements).count()
    }
}

impl NatsMailbox {
    pub(crate) fn new(server: Server, durability: Durability, replies_ms: u64) -> Self {
        let room = server.client.max_payload().saturating_sub(HEADER_ROOM);
        let post = Arc::new(MailboxState {
            capabilities: MailboxCapabilities {
                durability,
                max_command_bytes: room.min(MAX_COMMAND_BYTES),
                max_commands: MAX_COMMANDS,
                notify_within_ms: TOLD_MS,
                retain_acks_ms: replies_ms,
            },
            server,
        });
        tokio::spawn(crate::mailbox_tasks::sweep(Arc::downgrade(&post), replies_ms));
        Self { state: post }
    }

    fn fits(&self, session: &SessionId, bytes: &[u8]) -> Result<(), MailboxError> {
        let most = self.state.capabilities.max_command_bytes;
        if bytes.len() > most {
            return Err(MailboxError::too_large(session, bytes.len(), most));
        }
        Ok(())
    }
}

impl MailboxState {
    fn stream(&self) -> String {
        self.server.names.mailbox_stream()
    }

    /// Returns the letters and replies of a session, as the leader has them.
    async fn known(&self, session: &SessionId) -> Result<KnownTokens, ServerError> {
        let all = self.server.names.mailbox_subject("*", Some(session), None);
        let mut known =
            KnownTokens { commands: BTreeSet::new(), acknowledgements: BTreeSet::new() };
        for subject in subjects_of(&self.server, &self.stream(), &all).await? {
            match parse_mailbox_subject(&subject) {
                Some((COMMAND, _, letter)) => known.commands.insert(letter.to_owned()),
                Some((ACKNOWLEDGEMENT, _, letter)) => {
                    known.acknowledgements.insert(letter.to_owned())
                }
                _ => false,
            };
        }
        Ok(known)
    }

    /// The last message of a kind, of a letter where one is named.
    async fn last(
        &self,
        kind: &str,
        session: &SessionId,
        letter: Option<&MailboxCommandId>,
    ) -> Result<Option<StoredMessage>, ServerError> {
        let subject = self.server.names.mailbox_subject(kind, Some(session), letter);
        self.server.last(&self.stream(), &subject).await
    }

    /// Stores a message that must follow the last of some subjects.
    async fn put(
        &self,
        subject: String,
        body: Bytes,
        (of, expected): (String, u64),
    ) -> Result<(), ServerError> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_OF, of.as_str());
        let post = OutgoingMessage { subject, headers, body, expected: Some(expected) };
        self.server.post(post).await.map(|_| ())
    }

    /// Returns true if a claim is the latest of its session and was not released.
    async fn is_claimed(&self, session: &SessionId, epoch: Epoch) -> Result<bool, ServerError> {
        let names = &self.server.names;
        let stream = names.log_stream(names.shard(session));
        let last = self.server.last(&stream, &names.log_subject(session)).await?;
        let Some(last) = last else {
            return Ok(false);
        };
        let head = MessageHeader::read(last.header(HEADER)).map_err(|_| {
            let what = "the last message of its log has no head that can be read";
            ServerError::Unexpected(format!("session {session}: {what}"))
        })?;
        let over = matches!(head.kind, MessageKind::Release | MessageKind::Erase);
        Ok(head.epoch == epoch.0 && !over)
    }

    /// The fence of a claim that stands: its message, written where it is missing. `None` where a
    /// later claim has one.
    async fn fence(&self, session: &SessionId, epoch: Epoch) -> Result<Option<u64>, ServerError> {
        let subject = self.server.names.fence_subject(session);
        for _ in 0..ATTEMPTS {
            let last = self.server.last(&self.stream(), &subject).await?;
            let seq = last.as_ref().map_or(0, |last| last.seq);
            if let Some(last) = &last {
                let text = std::str::from_utf8(&last.body).ok();
                let known = text.and_then(|text| text.parse::<u64>().ok());
                let known = known.ok_or_else(|| {
                    ServerError::Unexpected(format!("the fence of session {session} is no number"))
                })?;
                if known == epoch.0 {
                    return Ok(Some(seq));
                }
                if known > epoch.0 {
                    return Ok(None);
                }
            }
            let body = Bytes::from(epoch.to_string());
            match self.put(subject.clone(), body, (subject.clone(), seq)).await {
                Ok(()) if seq > 0 => self.server.erase_message(&self.stream(), seq).await?,
                Ok(()) | Err(ServerError::Moved) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(ServerError::Moved)
    }

    /// Leaves a letter; `false` where the inbox is full.
    async fn post_command(
        &self,
        session: &SessionId,
        letter: &MailboxCommand,
    ) -> Result<bool, ServerError> {
        let names = &self.server.names;
        let all = names.mailbox_subject("*", Some(session), None);
        let subject = names.mailbox_subject(COMMAND, Some(session), Some(&letter.id));
        let token = subject.rsplit('.').next().unwrap_or_default().to_owned();
        for _ in 0..ATTEMPTS {
            // What is looked at after this holds for as long as this is the last message.
            let last = self.last("*", session, None).await?;
            let known = self.known(session).await?;
            if known.commands.contains(&token) || known.acknowledgements.contains(&token) {
                return Ok(true);
            }
            if known.waiting() >= MAX_COMMANDS {
                return Ok(false);
            }
            let after = (all.clone(), last.map_or(0, |last| last.seq));
            match self.put(subject.clone(), letter.bytes.clone(), after).await {
                Ok(()) => {
                    self.notify(names.arrival_subject(Some(session))).await;
                    return Ok(true);
                }
                Err(ServerError::Moved) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(ServerError::Moved)
    }

    /// The oldest letters; `None` where the claim does not stand.
    async fn commands(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Option<Vec<MailboxCommand>>, ServerError> {
        let known = self.known(session).await?;
        if !self.is_claimed(session, epoch).await? {
            return Ok(None);
        }
        if known.commands.is_empty() || limit == 0 {
            return Ok(Some(Vec::new()));
        }
        if self.fence(session, epoch).await?.is_none() {
            return Ok(None);
        }
        // What was left meanwhile comes after what was known.
        let known = self.known(session).await?;
        let all = self.server.names.mailbox_subject(COMMAND, Some(session), None);
        let (mut letters, mut from) = (Vec::new(), 1);
        while letters.len() < limit {
            let Some(next) = self.server.next(&self.stream(), &all, from).await? else {
                break;
            };
            from = next.seq + 1;
            let named = parse_mailbox_subject(&next.subject).and_then(|(_, _, token)| {
                let id = crate::names::decode(token)?;
                Some((token, MailboxCommandId::new(&id).ok()?))
            });
            let Some((token, id)) = named else {
                let what = format!("the subject {} is of no letter", next.subject);
                return Err(ServerError::Unexpected(what));
            };
            if known.acknowledgements.contains(token) {
                // Whoever replied ended before it took the letter away.
                self.server.erase_message(&self.stream(), next.seq).await?;
                continue;
            }
            letters.push(MailboxCommand { id, bytes: next.body });
        }
        let stands = self.is_claimed(session, epoch).await?;
        Ok(stands.then_some(letters))
    }

    /// Replies to a letter; `false` where the claim does not stand.
    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<bool, ServerError> {
        let names = &self.server.names;
        let subject = names.mailbox_subject(ACKNOWLEDGEMENT, Some(session), Some(letter));
        for _ in 0..ATTEMPTS {
            if !self.is_claimed(session, epoch).await? {
                return Ok(false);
            }
            let Some(waits) = self.last(COMMAND, session, Some(letter)).await? else {
                return Ok(true);
            };
            if self.last(ACKNOWLEDGEMENT, session, Some(letter)).await?.is_none() {
                let Some(fence) = self.fence(session, epoch).await? else {
                    return Ok(false);
                };
                let after = (names.fence_subject(session), fence);
                let body = Bytes::copy_from_slice(reply);
                match self.put(subject.clone(), body, after).await {
                    Ok(()) => {}
                    Err(ServerError::Moved) => continue,
                    Err(trouble) => return Err(trouble),
                }
            }
            self.notify(names.acknowledged_subject(session, letter)).await;
            self.server.erase_message(&self.stream(), waits.seq).await?;
            return Ok(true);
        }
        Err(ServerError::Moved)
    }

    /// Wakes others. Where it fails they find it by looking.
    async fn notify(&self, subject: String) {
        if let Err(error) = self.server.client.publish(subject, Bytes::new()).await {
            tracing::debug!(%error, "others were not told of a letter: they find it by looking");
        }
    }

    /// The sessions that have a letter, in the order of their ids.
    pub(crate) async fn waiting(&self) -> Result<BTreeSet<SessionId>, ServerError> {
        let all = self.server.names.mailbox_subject(COMMAND, None, None);
        let subjects = subjects_of(&self.server, &self.stream(), &all).await?;
        let named =
            |subject: &String| parse_mailbox_subject(subject).and_then(|(_, session, _)| session);
        Ok(subjects.iter().filter_map(named).collect())
    }
}

#[async_trait]
impl Mailbox for NatsMailbox {
    fn capabilities(&self) -> MailboxCapabilities {
        self.state.capabilities
    }

    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError> {
        self.fits(session, &letter.bytes)?;
        let left = self.state.post_command(session, letter).await;
        let doing = || format!("leaving a letter for session {session}");
        match left.map_err(|trouble| trouble.in_mailbox(&doing()))? {
            true => Ok(()),
            false => Err(MailboxError::full(session, MAX_COMMANDS)),
        }
    }

    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError> {
        let doing = || format!("taking the letters of session {session}");
        let letters = self.state.commands(session, epoch, limit).await;
        let letters = letters.map_err(|trouble| trouble.in_mailbox(&doing()))?;
        letters.ok_or_else(|| MailboxError::not_claimed(session, epoch, "taking"))
    }

    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError> {
        self.fits(session, reply)?;
        let doing = || format!("replying to a letter of session {session}");
        let given = self.state.acknowledge(session, epoch, letter, reply).await;
        match given.map_err(|trouble| trouble.in_mailbox(&doing()))? {
            true => Ok(()),
            false => Err(MailboxError::not_claimed(session, epoch, "replying to")),
        }
    }

    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError> {
        let doing = || format!("waiting for the reply to a letter of session {session}");
        let failed = |trouble: ServerError| trouble.in_mailbox(&doing());
        let until = Instant::now() + patience;
        let look = async || {
            let last = self.state.last(ACKNOWLEDGEMENT, session, Some(letter)).await;
            last.map(|last| last.map(|last| last.body)).map_err(failed)
        };
        if patience.is_zero() {
            return look().await;
        }
        let subject = self.state.server.names.acknowledged_subject(session, letter);
        let woken = self.state.server.client.subscribe(subject).await;
        let mut woken =
            woken.map_err(|error| failed(ServerError::Unavailable(error.to_string())))?;
        // The server knows of the subscription before it answers what is asked next.
        loop {
            match look().await {
                Ok(None) => {}
                Err(error)
                    if error.kind == MailboxErrorKind::Unavailable && Instant::now() < until =>
                {
                    tracing::debug!(%error, "looking for a reply again");
                }
                ended => return ended,
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            let look_again = (Instant::now() + POLL_INTERVAL).min(until);
            if matches!(timeout_at(look_again, woken.next()).await, Ok(None)) {
                // The connection is closing; what is asked next says so.
                tokio::time::sleep_until(look_again).await;
            }
        }
    }

    fn arrivals(&self) -> LogSignal {
        crate::mailbox_tasks::arrivals(&self.state)
    }

    async fn pending_sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, MailboxError> {
        let waiting = self.state.waiting().await;
        let waiting =
            waiting.map_err(|trouble| trouble.in_mailbox("listing the sessions with letters"))?;
        let page = waiting.into_iter().filter(|session| after.is_none_or(|after| session > after));
        Ok(page.take(limit).collect())
    }
}
