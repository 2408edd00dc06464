//! Letters: what other nodes were asked of this session, taken and replied to beside the driver's own
//! work and never in its way.
//!
//! One thing at a time: the letters that wait are looked for and read; what they say is decided, in
//! their order; once that is durable they are replied to, and looked for again, until there are none.
//! A letter that is met again, as its reply did not come to stand, says what was said already: the
//! core knows it by its key.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use windlass_core::{Input, Reject, Seq, SessionId, Stamped, decided};
use windlass_ports::{
    BlobErrorKind, Inbox, InboxError, InboxErrorKind, KeptReader, Letter, LetterId, StoreError,
    StoreErrorKind,
};

use super::command::SaidAt;
use super::{Driver, Parts};
use crate::error::{Ended, SendError};
use crate::reach::keyed;
use crate::reach::letter::{Answered, Became, Body, Note, Refusal};
use crate::reach::said::Said;

/// Letters that are taken at a time.
const BATCH: usize = 64;
/// Bytes of what is kept beside letters that are read at a time.
const BATCH_BYTES: u64 = 16 * 1024 * 1024;
/// How long the inbox has for an answer; less while others wait for the driver's first look.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_FIRST: Duration = Duration::from_secs(2);
/// How long nothing is asked of an inbox that failed, at first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often what is kept beside a letter is read before it is given up.
const READS: u32 = 5;

/// The letters of a session.
pub(super) struct Letters {
    /// `None` for an engine that is alone on its store.
    post: Option<Post>,
    stage: Stage,
    /// There may be some that were not looked for yet.
    told: bool,
    /// The first look is over.
    looked: bool,
    pause: Duration,
    /// How often what is kept beside letters could not be read.
    unread: BTreeMap<LetterId, u32>,
}

/// How letters are reached.
#[derive(Clone)]
struct Post {
    inbox: Arc<dyn Inbox>,
    kept: KeptReader,
    session: SessionId,
    epoch: windlass_core::Epoch,
    /// The most bytes of what is kept beside one letter.
    most: u64,
}

/// What is being done about letters.
enum Stage {
    Idle,
    /// They are looked for.
    Looking(Pin<Box<dyn Future<Output = Result<Looked, InboxError>> + Send>>),
    /// What they said is decided and waits to be durable up to this position.
    Decided(Seq, Vec<Reply>),
    /// They are replied to.
    Replying(Pin<Box<dyn Future<Output = Result<(), InboxError>> + Send>>),
    /// The inbox failed: nothing is asked of it until then.
    Pausing(Instant),
}

/// What a look found.
pub(super) struct Looked {
    letters: Vec<(LetterId, Read)>,
}

/// A letter that was read.
enum Read {
    /// It says this.
    Said(Box<Note>, Said),
    /// It cannot be acted upon.
    Refused(Refusal),
    /// What is kept beside it could not be read this time.
    Failed(String),
}

/// What is replied to a letter.
struct Reply {
    letter: LetterId,
    bytes: Vec<u8>,
}

/// What became of what was being done about letters.
pub(super) enum News {
    Looked(Result<Looked, InboxError>),
    Replied(Result<(), InboxError>),
    /// A pause is over.
    Again,
}

impl Letters {
    pub(super) fn new(parts: &Parts) -> Self {
        let session = &parts.slot.id;
        let most = parts.ports.store.capabilities().max_fact_bytes as u64;
        let post = parts.inbox.as_ref().map(|inbox| Post {
            inbox: inbox.clone(),
            kept: KeptReader::new(parts.ports.blobs.clone(), session.clone()),
            session: session.clone(),
            epoch: parts.epoch,
            most: most.saturating_mul(2).min(BATCH_BYTES),
        });
        Self {
            told: post.is_some(),
            looked: post.is_none(),
            post,
            stage: Stage::Idle,
            pause: PAUSE,
            unread: BTreeMap::new(),
        }
    }

    /// There may be more.
    fn tell(&mut self) {
        self.told = self.post.is_some();
    }

    /// Whether the first look is over: letters that wait come before what is said here.
    pub(super) fn were_looked_for(&self) -> bool {
        self.looked
    }

    /// Whether nothing is under way. An inbox that does not answer is not waited for: its letters are
    /// found by the next driver.
    pub(super) fn are_at_rest(&self) -> bool {
        match self.stage {
            Stage::Idle => !self.told,
            Stage::Pausing(_) => true,
            Stage::Looking(_) | Stage::Decided(..) | Stage::Replying(_) => false,
        }
    }

    /// Waits for the next thing to happen; for ever when nothing is under way. Safe to drop while it
    /// waits.
    pub(super) async fn next(&mut self) -> News {
        match &mut self.stage {
            Stage::Looking(looking) => News::Looked(looking.as_mut().await),
            Stage::Replying(replying) => News::Replied(replying.as_mut().await),
            Stage::Pausing(until) => {
                sleep_until(*until).await;
                News::Again
            }
            Stage::Idle | Stage::Decided(..) => pending().await,
        }
    }

    fn rest(&mut self) {
        let now = Instant::now();
        self.stage = Stage::Pausing(now.checked_add(self.pause).unwrap_or(now));
        self.pause = self.pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

impl Driver {
    /// There may be letters: they are looked for soon, unless the session is about to be let go.
    pub(super) fn tell_of_letters(&mut self) {
        if !self.closing && self.parting.is_none() {
            self.letters.tell();
        }
    }

    /// Begins what is to be done next about letters, unless something is under way. One that is about
    /// to let its session go leaves them alone.
    pub(super) fn post(&mut self) {
        let letters = &mut self.letters;
        let Some(post) = &letters.post else { return };
        match &mut letters.stage {
            Stage::Idle if letters.told && !self.closing && self.parting.is_none() => {
                letters.told = false;
                let patience = match letters.looked {
                    true => PATIENCE,
                    false => PATIENCE_FIRST,
                };
                letters.stage = Stage::Looking(Box::pin(look(post.clone(), patience)));
            }
            Stage::Decided(last, replies) if *last <= self.durable => {
                let replies = std::mem::take(replies);
                letters.stage = Stage::Replying(Box::pin(reply(post.clone(), replies)));
            }
            Stage::Idle
            | Stage::Looking(_)
            | Stage::Decided(..)
            | Stage::Replying(_)
            | Stage::Pausing(_) => {}
        }
        if self.closing || self.parting.is_some() {
            letters.told = false;
            letters.looked = true;
        }
    }

    pub(super) fn on_letters(&mut self, news: News) -> Result<(), Ended> {
        self.letters.stage = Stage::Idle;
        let failed = match news {
            News::Again => {
                self.tell_of_letters();
                return Ok(());
            }
            News::Looked(looked) => {
                self.letters.looked = true;
                match looked {
                    Ok(looked) => return self.take_letters(looked),
                    Err(error) => error,
                }
            }
            News::Replied(Ok(())) => {
                match self.letters.unread.is_empty() {
                    true => {
                        self.letters.pause = PAUSE;
                        self.tell_of_letters();
                    }
                    false => self.letters.rest(),
                }
                return Ok(());
            }
            News::Replied(Err(error)) => error,
        };
        match failed.kind {
            InboxErrorKind::NotClaimed => {
                let context = failed.context.clone();
                let error = StoreError::new(StoreErrorKind::NotClaimed, context);
                Err(Ended::Superseded(error.caused_by(failed)))
            }
            InboxErrorKind::Unavailable
            | InboxErrorKind::Io
            | InboxErrorKind::Full
            | InboxErrorKind::TooLarge => {
                tracing::warn!(
                    session = %self.session.id, error = %failed,
                    "letters are asked for again in a while"
                );
                self.letters.rest();
                Ok(())
            }
        }
    }

    /// Decides what letters say, in their order.
    fn take_letters(&mut self, looked: Looked) -> Result<(), Ended> {
        if looked.letters.is_empty() {
            self.letters.pause = PAUSE;
            self.letters.unread.clear();
            return Ok(());
        }
        let mut replies = Vec::with_capacity(looked.letters.len());
        let mut failed = false;
        for (letter, read) in looked.letters {
            let became = match read {
                Read::Said(note, said) => self.decide_letter(*note, said)?,
                Read::Refused(refusal) => Some(Became::Refused(refusal)),
                Read::Failed(why) => self.give_up(&letter, why),
            };
            let Some(became) = became else {
                failed = true;
                continue;
            };
            let bytes = Answered::new(became).write();
            let bytes = bytes.map_err(|error| Ended::Defect(format!("a reply: {error}")))?;
            replies.push(Reply { letter, bytes });
        }
        if replies.is_empty() {
            debug_assert!(failed, "a letter has a reply or has failed");
            self.letters.rest();
            return Ok(());
        }
        // Also a refusal stands on what was decided before it.
        let last = Seq(self.session.next.0.saturating_sub(1));
        self.letters.stage = Stage::Decided(last, replies);
        Ok(())
    }

    /// Decides what a letter says; `None` when it is left alone.
    fn decide_letter(&mut self, note: Note, said: Said) -> Result<Option<Became>, Ended> {
        let Note {
            key, scope, until, ..
        } = note;
        if !scope.sees(&self.session.owner) {
            let foreign = Refusal::Rejected(Reject::Foreign);
            return Ok(Some(Became::Refused(foreign)));
        }
        let input = keyed(&key, said.input(scope));
        let foreseen = self.foresee(input.clone());
        if self.ports.clock.now() > until {
            // It was done all the same if a driver before this one took it in time.
            return Ok(Some(match foreseen {
                Err(Reject::Duplicate(seq)) => Became::Accepted {
                    first: seq,
                    last: seq,
                },
                Ok(()) | Err(_) => Became::Refused(Refusal::Late { until }),
            }));
        }
        if let Err(defect @ Reject::Defect(_)) = foreseen {
            // It would end each driver that takes it.
            tracing::error!(session = %self.session.id, %defect, "a letter is refused");
            return Ok(Some(Became::Refused(Refusal::Rejected(defect))));
        }
        Ok(match self.say(input)? {
            Ok(SaidAt { first, last }) => Some(Became::Accepted { first, last }),
            Err(error @ SendError::Ended(_)) => {
                tracing::debug!(session = %self.session.id, %error, "a letter is left alone");
                None
            }
            Err(error) => Refusal::of(error).map(Became::Refused),
        })
    }

    /// What an input would come to; nothing is changed.
    fn foresee(&self, input: Input) -> Result<(), Reject> {
        let stamped = Stamped {
            at: self.ports.clock.now(),
            entropy: 0,
            input,
        };
        decided(&self.session, &self.config.limits, stamped).map(drop)
    }

    /// What is said of a letter that could not be read so often; `None` while it is tried again.
    fn give_up(&mut self, letter: &LetterId, why: String) -> Option<Became> {
        let reads = self.letters.unread.entry(letter.clone()).or_default();
        *reads = reads.saturating_add(1);
        if *reads < READS {
            return None;
        }
        self.letters.unread.remove(letter);
        Some(Became::Refused(Refusal::Unread(why)))
    }
}

/// Takes the letters that wait, and reads them.
async fn look(post: Post, patience: Duration) -> Result<Looked, InboxError> {
    let Post {
        inbox,
        session,
        epoch,
        ..
    } = &post;
    let taken = in_time(patience, inbox.letters(session, *epoch, BATCH)).await?;
    let mut letters = Vec::with_capacity(taken.len());
    let mut room = BATCH_BYTES;
    for Letter { id, bytes } in taken {
        let note = match Note::read(&bytes) {
            Ok(note) => note,
            Err(not_read) => {
                tracing::warn!(%session, letter = %id, why = not_read.0, "a letter is not read");
                letters.push((id, Read::Refused(Refusal::Unread(not_read.0))));
                continue;
            }
        };
        if let Body::Kept(kept) = &note.body {
            if kept.bytes > room && !letters.is_empty() {
                // It comes with the next look.
                break;
            }
            room = room.saturating_sub(kept.bytes);
        }
        letters.push((id, read(&post, note).await));
    }
    Ok(Looked { letters })
}

/// Reads what a letter says, where it is kept beside the log too.
async fn read(post: &Post, note: Note) -> Read {
    let unread = |why: String| Read::Refused(Refusal::Unread(why));
    let kept = match &note.body {
        Body::Here(said) => {
            let said = said.clone();
            return Read::Said(Box::new(note), said);
        }
        Body::Kept(kept) => kept,
    };
    if kept.bytes > post.most {
        let bytes = usize::try_from(kept.bytes).unwrap_or(usize::MAX);
        return Read::Refused(Refusal::TooLarge(bytes));
    }
    let reading = timeout(PATIENCE, post.kept.read(&kept.sha256, kept.bytes));
    let bytes = match reading.await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            return match error.kind {
                BlobErrorKind::NotFound | BlobErrorKind::Corrupt | BlobErrorKind::Off => {
                    unread(error.to_string())
                }
                BlobErrorKind::Io | BlobErrorKind::Full => Read::Failed(error.to_string()),
            };
        }
        Err(_over) => {
            let why = "what it says is kept beside the log, and could not be read in time";
            return Read::Failed(why.to_owned());
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(said) => Read::Said(Box::new(note), said),
        Err(error) => unread(error.to_string()),
    }
}

/// Gives replies, one after the other.
async fn reply(post: Post, replies: Vec<Reply>) -> Result<(), InboxError> {
    for Reply { letter, bytes } in replies {
        let giving = post.inbox.reply(&post.session, post.epoch, &letter, &bytes);
        in_time(PATIENCE, giving).await?;
    }
    Ok(())
}

async fn in_time<T>(
    patience: Duration,
    asking: impl Future<Output = Result<T, InboxError>>,
) -> Result<T, InboxError> {
    match timeout(patience, asking).await {
        Ok(answer) => answer,
        Err(_over) => {
            let context = "the inbox did not answer in time";
            Err(InboxError::new(InboxErrorKind::Unavailable, context))
        }
    }
}
