//! Posting: a word is left as a letter, and its reply waited for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use windlass_core::{Kept, Seq};
use windlass_ports::{BlobError, InboxError, InboxErrorKind, Letter, LetterId, OutputKeeper};

use super::letter::{Answered, Became, Body, Note, lasts_ms};
use super::word::Word;
use super::{Reached, Told};
use crate::error::SendError;
use crate::peers::Peers;

/// How long a reply is waited for before somebody here tries to take the session over.
const ROUND: Duration = Duration::from_secs(1);
/// How long it waits before it asks once more for a reply that could not be asked for.
const AGAIN: Duration = Duration::from_millis(500);
/// How often a word that was refused is asked for again under the same key, at most.
const ROUNDS: u32 = 64;

/// A word that is being left as a letter.
pub(super) struct Posting<'a> {
    reached: &'a Reached,
    peers: &'a Peers,
    word: &'a Word,
    /// The letter's name, once it was left.
    left: Option<LetterId>,
}

impl<'a> Posting<'a> {
    pub(super) fn new(reached: &'a Reached, peers: &'a Peers, word: &'a Word) -> Self {
        Self {
            reached,
            peers,
            word,
            left: None,
        }
    }

    /// Leaves the letter, unless it was left, and waits for its reply: for a while, and not beyond
    /// `until`.
    pub(super) async fn ask(&mut self, until: Instant) -> Result<Told, SendError> {
        match self.try_ask(until).await {
            Ok(told) => Ok(told),
            Err(SendError::Inbox(error)) if may_pass(&error) => {
                let waits = self.left.clone().map(|letter| SendError::Waits { letter });
                tracing::debug!(session = %self.reached.id, %error, "a letter is asked for again");
                if waits.is_some() {
                    // What is asked for again at once would fail again.
                    sleep(AGAIN.min(until.saturating_duration_since(Instant::now()))).await;
                }
                Ok(Told::NotYet(waits.unwrap_or(SendError::Inbox(error))))
            }
            Err(error) => Err(error),
        }
    }

    async fn try_ask(&mut self, until: Instant) -> Result<Told, SendError> {
        let letter = match &self.left {
            Some(letter) => letter.clone(),
            None => match self.leave().await? {
                Left::Waits(letter) => letter,
                Left::Answered(answer) => return answer.map(Told::Taken),
            },
        };
        self.left = Some(letter.clone());
        let (engine, session) = (&self.reached.engine, &self.reached.id);
        // Where it is driven here by now, nobody else tells its driver sooner.
        engine.nudge(session);
        let patience = until.saturating_duration_since(Instant::now()).min(ROUND);
        let replied = self.peers.inbox.replied(session, &letter, patience).await;
        match replied.map_err(failed)? {
            Some(reply) => became(&reply).map(Told::Taken),
            None => Ok(Told::NotYet(SendError::Waits { letter })),
        }
    }

    /// Leaves the letter of the first round that was not refused; or answers what became of it, if
    /// that is known.
    async fn leave(&self) -> Result<Left, SendError> {
        let (session, inbox) = (&self.reached.id, &self.peers.inbox);
        let mut round = 0;
        let id = loop {
            let id = self.letter(round)?;
            if !self.word.key.callers {
                break id;
            }
            let replied = inbox.replied(session, &id, Duration::ZERO).await;
            let answer = match replied.map_err(failed)? {
                None => break id,
                Some(reply) => became(&reply),
            };
            round += 1;
            if answer.is_ok() || round >= ROUNDS {
                return Ok(Left::Answered(answer));
            }
        };
        let bytes = self.written().await?;
        let letter = Letter {
            id: id.clone(),
            bytes,
        };
        inbox.leave(session, &letter).await.map_err(failed)?;
        Ok(Left::Waits(id))
    }

    fn letter(&self, round: u32) -> Result<LetterId, SendError> {
        self.word.key.letter(round).map_err(|error| {
            let context = "naming a letter by its word, which is a defect of the engine";
            failed(InboxError::new(InboxErrorKind::Io, context).caused_by(error))
        })
    }

    /// The letter in its form. What is too long for one is kept beside the log first.
    async fn written(&self) -> Result<Bytes, SendError> {
        let most = self.peers.inbox.capabilities().letter_bytes;
        let said = &self.word.said;
        let letter = self.note(Body::Here(said.clone()))?;
        if letter.len() <= most {
            return Ok(letter);
        }
        let text = serde_json::to_vec(said).map_err(unwritten)?;
        let kept = self.keep(&text).await.map_err(|error| {
            let context = format!(
                "a letter for session {} has {} bytes, {most} are taken, and the rest cannot be kept \
                 beside the log",
                self.reached.id,
                letter.len(),
            );
            failed(InboxError::new(InboxErrorKind::TooLarge, context).caused_by(error))
        })?;
        if kept.bytes != text.len() as u64 {
            return Err(SendError::TooLarge(text.len()));
        }
        self.note(Body::Kept(kept))
    }

    fn note(&self, body: Body) -> Result<Bytes, SendError> {
        let word = self.word;
        let now = self.reached.engine.inner.ports.clock.now();
        let (key, lasts_ms) = (word.key.text(), lasts_ms(&word.said));
        let note = Note::new(key, &word.scope, now, body, lasts_ms);
        note.write().map(Bytes::from).map_err(unwritten)
    }

    async fn keep(&self, text: &[u8]) -> Result<Kept, BlobError> {
        let blobs = self.reached.engine.inner.ports.blobs.clone();
        let keeper = OutputKeeper::new(blobs, self.reached.id.clone());
        let mut writer = keeper.begin().await?;
        writer.write(text).await?;
        writer.finish().await
    }
}

/// What leaving a letter came to.
enum Left {
    /// It waits for a reply.
    Waits(LetterId),
    /// There was one already.
    Answered(Result<Seq, SendError>),
}

fn became(reply: &[u8]) -> Result<Seq, SendError> {
    match Answered::read(reply) {
        Ok(Answered { became, .. }) => match became {
            Became::Accepted { first, .. } => Ok(first),
            Became::Refused(refusal) => Err(refusal.into()),
        },
        Err(not_read) => {
            let why = format!(
                "the reply of the node that drives the session: {}",
                not_read.0
            );
            Err(SendError::Unread(why))
        }
    }
}

/// Whether asking once more may come to something else.
fn may_pass(error: &InboxError) -> bool {
    match error.kind {
        InboxErrorKind::Unavailable | InboxErrorKind::Io => true,
        InboxErrorKind::Full | InboxErrorKind::TooLarge | InboxErrorKind::NotClaimed => false,
    }
}

fn failed(error: InboxError) -> SendError {
    SendError::Inbox(Arc::new(error))
}

fn unwritten(error: serde_json::Error) -> SendError {
    let context = "writing a letter, which is a defect of the engine";
    failed(InboxError::new(InboxErrorKind::TooLarge, context).caused_by(error))
}
