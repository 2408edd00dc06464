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
    Durability, Inbox, InboxCapabilities, InboxError, InboxErrorKind, Letter, LetterId, News,
};

use crate::head::{HEADER, Head, Kind};
use crate::list::subjects_of;
use crate::names::{LETTER, REPLY, inbox_names};
use crate::server::{Post, Server, Stored};
use crate::trouble::Trouble;

/// The most bytes of a letter where the server takes so many; and what it takes beside them.
const LETTER_BYTES: usize = 1024 * 1024;
const HEADER_ROOM: usize = 4 * 1024;
/// The most letters that wait in a session.
const LETTERS: usize = 64;
/// Most tries of a change while others change the same inbox.
const ATTEMPTS: u32 = 64;
/// Interval at which the inbox is polled in addition to notices; the longest delay of a notice.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
const TOLD_MS: u64 = 1_500;
/// The subject that a message must follow, where that is not its own.
const EXPECTED_OF: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// An inbox in JetStream, beside the logs of a [`NatsStore`](crate::NatsStore).
#[derive(Debug, Clone)]
pub struct NatsInbox {
    pub(crate) post: Arc<PostOffice>,
}

/// State that an inbox shares with its tasks.
#[derive(Debug)]
pub(crate) struct PostOffice {
    pub(crate) server: Server,
    capabilities: InboxCapabilities,
}

/// Letters and replies of a session, by the tokens of the letters' ids.
struct Known {
    letters: BTreeSet<String>,
    replies: BTreeSet<String>,
}

impl Known {
    fn waiting(&self) -> usize {
        self.letters.difference(&self.replies).count()
    }
}

impl NatsInbox {
    pub(crate) fn new(server: Server, durability: Durability, replies_ms: u64) -> Self {
        let room = server.client.max_payload().saturating_sub(HEADER_ROOM);
        let post = Arc::new(PostOffice {
            capabilities: InboxCapabilities {
                durability,
                letter_bytes: room.min(LETTER_BYTES),
                letters: LETTERS,
                told_ms: TOLD_MS,
                replies_ms,
            },
            server,
        });
        tokio::spawn(crate::post::sweep(Arc::downgrade(&post), replies_ms));
        Self { post }
    }

    fn fits(&self, session: &SessionId, bytes: &[u8]) -> Result<(), InboxError> {
        let most = self.post.capabilities.letter_bytes;
        if bytes.len() > most {
            return Err(InboxError::too_large(session, bytes.len(), most));
        }
        Ok(())
    }
}

impl PostOffice {
    fn stream(&self) -> String {
        self.server.names.inbox_stream()
    }

    /// Returns the letters and replies of a session, as the leader has them.
    async fn known(&self, session: &SessionId) -> Result<Known, Trouble> {
        let all = self.server.names.inbox_subject("*", Some(session), None);
        let mut known = Known {
            letters: BTreeSet::new(),
            replies: BTreeSet::new(),
        };
        for subject in subjects_of(&self.server, &self.stream(), &all).await? {
            match inbox_names(&subject) {
                Some((LETTER, _, letter)) => known.letters.insert(letter.to_owned()),
                Some((REPLY, _, letter)) => known.replies.insert(letter.to_owned()),
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
        letter: Option<&LetterId>,
    ) -> Result<Option<Stored>, Trouble> {
        let subject = self.server.names.inbox_subject(kind, Some(session), letter);
        self.server.last(&self.stream(), &subject).await
    }

    /// Stores a message that must follow the last of some subjects.
    async fn put(
        &self,
        subject: String,
        body: Bytes,
        (of, expected): (String, u64),
    ) -> Result<(), Trouble> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_OF, of.as_str());
        let post = Post {
            subject,
            headers,
            body,
            expected: Some(expected),
        };
        self.server.post(post).await.map(|_| ())
    }

    /// Returns true if a claim is the latest of its session and was not released.
    async fn is_claimed(&self, session: &SessionId, epoch: Epoch) -> Result<bool, Trouble> {
        let names = &self.server.names;
        let stream = names.log_stream(names.shard(session));
        let last = self
            .server
            .last(&stream, &names.log_subject(session))
            .await?;
        let Some(last) = last else {
            return Ok(false);
        };
        let head = Head::read(last.header(HEADER)).map_err(|_| {
            let what = "the last message of its log has no head that can be read";
            Trouble::Strange(format!("session {session}: {what}"))
        })?;
        let over = matches!(head.kind, Kind::Release | Kind::Erase);
        Ok(head.epoch == epoch.0 && !over)
    }

    /// The fence of a claim that stands: its message, written where it is missing. `None` where a
    /// later claim has one.
    async fn fence(&self, session: &SessionId, epoch: Epoch) -> Result<Option<u64>, Trouble> {
        let subject = self.server.names.fence_subject(session);
        for _ in 0..ATTEMPTS {
            let last = self.server.last(&self.stream(), &subject).await?;
            let seq = last.as_ref().map_or(0, |last| last.seq);
            if let Some(last) = &last {
                let text = std::str::from_utf8(&last.body).ok();
                let known = text.and_then(|text| text.parse::<u64>().ok());
                let known = known.ok_or_else(|| {
                    Trouble::Strange(format!("the fence of session {session} is no number"))
                })?;
                if known == epoch.0 {
                    return Ok(Some(seq));
                }
                if known > epoch.0 {
                    return Ok(None);
                }
            }
            let body = Bytes::from(epoch.to_string());
            match self
                .put(subject.clone(), body, (subject.clone(), seq))
                .await
            {
                Ok(()) if seq > 0 => self.server.wipe(&self.stream(), seq).await?,
                Ok(()) | Err(Trouble::Moved) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(Trouble::Moved)
    }

    /// Leaves a letter; `false` where the inbox is full.
    async fn leave(&self, session: &SessionId, letter: &Letter) -> Result<bool, Trouble> {
        let names = &self.server.names;
        let all = names.inbox_subject("*", Some(session), None);
        let subject = names.inbox_subject(LETTER, Some(session), Some(&letter.id));
        let token = subject.rsplit('.').next().unwrap_or_default().to_owned();
        for _ in 0..ATTEMPTS {
            // What is looked at after this holds for as long as this is the last message.
            let last = self.last("*", session, None).await?;
            let known = self.known(session).await?;
            if known.letters.contains(&token) || known.replies.contains(&token) {
                return Ok(true);
            }
            if known.waiting() >= LETTERS {
                return Ok(false);
            }
            let after = (all.clone(), last.map_or(0, |last| last.seq));
            match self.put(subject.clone(), letter.bytes.clone(), after).await {
                Ok(()) => {
                    self.tell(names.came_subject(Some(session))).await;
                    return Ok(true);
                }
                Err(Trouble::Moved) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(Trouble::Moved)
    }

    /// The oldest letters; `None` where the claim does not stand.
    async fn letters(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Option<Vec<Letter>>, Trouble> {
        let known = self.known(session).await?;
        if !self.is_claimed(session, epoch).await? {
            return Ok(None);
        }
        if known.letters.is_empty() || limit == 0 {
            return Ok(Some(Vec::new()));
        }
        if self.fence(session, epoch).await?.is_none() {
            return Ok(None);
        }
        // What was left meanwhile comes after what was known.
        let known = self.known(session).await?;
        let all = self.server.names.inbox_subject(LETTER, Some(session), None);
        let (mut letters, mut from) = (Vec::new(), 1);
        while letters.len() < limit {
            let Some(next) = self.server.next(&self.stream(), &all, from).await? else {
                break;
            };
            from = next.seq + 1;
            let named = inbox_names(&next.subject).and_then(|(_, _, token)| {
                let id = crate::names::decode(token)?;
                Some((token, LetterId::new(&id).ok()?))
            });
            let Some((token, id)) = named else {
                let what = format!("the subject {} is of no letter", next.subject);
                return Err(Trouble::Strange(what));
            };
            if known.replies.contains(token) {
                // Whoever replied ended before it took the letter away.
                self.server.wipe(&self.stream(), next.seq).await?;
                continue;
            }
            letters.push(Letter {
                id,
                bytes: next.body,
            });
        }
        let stands = self.is_claimed(session, epoch).await?;
        Ok(stands.then_some(letters))
    }

    /// Replies to a letter; `false` where the claim does not stand.
    async fn reply(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &LetterId,
        reply: &[u8],
    ) -> Result<bool, Trouble> {
        let names = &self.server.names;
        let subject = names.inbox_subject(REPLY, Some(session), Some(letter));
        for _ in 0..ATTEMPTS {
            if !self.is_claimed(session, epoch).await? {
                return Ok(false);
            }
            let Some(waits) = self.last(LETTER, session, Some(letter)).await? else {
                return Ok(true);
            };
            if self.last(REPLY, session, Some(letter)).await?.is_none() {
                let Some(fence) = self.fence(session, epoch).await? else {
                    return Ok(false);
                };
                let after = (names.fence_subject(session), fence);
                let body = Bytes::copy_from_slice(reply);
                match self.put(subject.clone(), body, after).await {
                    Ok(()) => {}
                    Err(Trouble::Moved) => continue,
                    Err(trouble) => return Err(trouble),
                }
            }
            self.tell(names.replied_subject(session, letter)).await;
            self.server.wipe(&self.stream(), waits.seq).await?;
            return Ok(true);
        }
        Err(Trouble::Moved)
    }

    /// Wakes others. Where it fails they find it by looking.
    async fn tell(&self, subject: String) {
        if let Err(error) = self.server.client.publish(subject, Bytes::new()).await {
            tracing::debug!(%error, "others were not told of a letter: they find it by looking");
        }
    }

    /// The sessions that have a letter, in the order of their ids.
    pub(crate) async fn waiting(&self) -> Result<BTreeSet<SessionId>, Trouble> {
        let all = self.server.names.inbox_subject(LETTER, None, None);
        let subjects = subjects_of(&self.server, &self.stream(), &all).await?;
        let named = |subject: &String| inbox_names(subject).and_then(|(_, session, _)| session);
        Ok(subjects.iter().filter_map(named).collect())
    }
}

#[async_trait]
impl Inbox for NatsInbox {
    fn capabilities(&self) -> InboxCapabilities {
        self.post.capabilities
    }

    async fn leave(&self, session: &SessionId, letter: &Letter) -> Result<(), InboxError> {
        self.fits(session, &letter.bytes)?;
        let left = self.post.leave(session, letter).await;
        let doing = || format!("leaving a letter for session {session}");
        match left.map_err(|trouble| trouble.in_inbox(&doing()))? {
            true => Ok(()),
            false => Err(InboxError::full(session, LETTERS)),
        }
    }

    async fn letters(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<Letter>, InboxError> {
        let doing = || format!("taking the letters of session {session}");
        let letters = self.post.letters(session, epoch, limit).await;
        let letters = letters.map_err(|trouble| trouble.in_inbox(&doing()))?;
        letters.ok_or_else(|| InboxError::not_claimed(session, epoch, "taking"))
    }

    async fn reply(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &LetterId,
        reply: &[u8],
    ) -> Result<(), InboxError> {
        self.fits(session, reply)?;
        let doing = || format!("replying to a letter of session {session}");
        let given = self.post.reply(session, epoch, letter, reply).await;
        match given.map_err(|trouble| trouble.in_inbox(&doing()))? {
            true => Ok(()),
            false => Err(InboxError::not_claimed(session, epoch, "replying to")),
        }
    }

    async fn replied(
        &self,
        session: &SessionId,
        letter: &LetterId,
        patience: Duration,
    ) -> Result<Option<Bytes>, InboxError> {
        let doing = || format!("waiting for the reply to a letter of session {session}");
        let failed = |trouble: Trouble| trouble.in_inbox(&doing());
        let until = Instant::now() + patience;
        let look = async || {
            let last = self.post.last(REPLY, session, Some(letter)).await;
            last.map(|last| last.map(|last| last.body)).map_err(failed)
        };
        if patience.is_zero() {
            return look().await;
        }
        let subject = self.post.server.names.replied_subject(session, letter);
        let woken = self.post.server.client.subscribe(subject).await;
        let mut woken = woken.map_err(|error| failed(Trouble::Away(error.to_string())))?;
        // The server knows of the subscription before it answers what is asked next.
        loop {
            match look().await {
                Ok(None) => {}
                Err(error)
                    if error.kind == InboxErrorKind::Unavailable && Instant::now() < until =>
                {
                    tracing::debug!(%error, "looking for a reply again");
                }
                ended => return ended,
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            let look_again = (Instant::now() + LOOK).min(until);
            if matches!(timeout_at(look_again, woken.next()).await, Ok(None)) {
                // The connection is closing; what is asked next says so.
                tokio::time::sleep_until(look_again).await;
            }
        }
    }

    fn arrivals(&self) -> News {
        crate::post::arrivals(&self.post)
    }

    async fn waiting(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, InboxError> {
        let waiting = self.post.waiting().await;
        let waiting =
            waiting.map_err(|trouble| trouble.in_inbox("listing the sessions with letters"))?;
        let page = waiting
            .into_iter()
            .filter(|session| after.is_none_or(|after| session > after));
        Ok(page.take(limit).collect())
    }
}
