//! Letters: what other nodes were asked of this session, taken and replied to beside the driver's own
//! work and never in its way.
//!
//! One thing at a time: the letters that wait are looked for and read; what they say is decided, in
//! their order; once that is durable they are replied to, and looked for again, until there are none.
//! A letter that is met again, as its reply did not come to stand, says what was said already: this
//! driver has what became of it, and the next one has it from the core, which knows it by its key. So
//! that no key is forgotten before, only so much is said under keys until replies stand.

mod post;

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::{Input, Reject, Seq, Session, Stamped, decided};
use windlass_ports::{
    InboxError, InboxErrorKind, KeptReader, LetterId, StoreError, StoreErrorKind,
};

use self::post::{Looked, Post, Read, Reply, look, reply};
use super::command::SaidAt;
use super::{Driver, Parts};
use crate::error::{Ended, SendError};
use crate::session::remote::{Acknowledgement, Execution, Rejection, RemoteCommand};
use crate::session::{SessionCommand, keyed};

/// Letters that are taken at a time: less than keys are remembered, so that there is room for what is
/// said here until they are replied to.
const BATCH: usize = Session::KEYS / 2;
/// Interrupts and answers that may be said where nothing else may until letters are replied to.
const RESERVED: usize = 8;
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
    /// What became of letters whose replies do not stand yet.
    unreplied: BTreeMap<LetterId, Unreplied>,
}

/// What became of a letter.
struct Unreplied {
    /// Where what it said stands in the log, unless it was refused.
    at: Option<Seq>,
    bytes: Vec<u8>,
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
            unreplied: BTreeMap::new(),
        }
    }

    /// Whether something more may be said under a key, and all keys of letters without a reply are still
    /// remembered after it and so many more.
    fn leave_room(&self, session: &Session, more: usize) -> bool {
        let Some(oldest) = self.unreplied.values().filter_map(|one| one.at).min() else {
            return true;
        };
        let keys = session.keys.iter().map(|(_, seq)| *seq);
        let since: BTreeSet<Seq> = keys.filter(|seq| *seq >= oldest).collect();
        since.len() + more < Session::KEYS
    }

    /// Whether what is said here can be taken. It waits a moment while letters are replied to and too
    /// much was said since; where their inbox fails, it is refused instead.
    pub(super) fn let_others_speak(&self, session: &Session) -> bool {
        match self.stage {
            Stage::Decided(..) | Stage::Replying(_) => self.leave_room(session, RESERVED),
            Stage::Idle | Stage::Looking(_) | Stage::Pausing(_) => true,
        }
    }

    /// Why something cannot be said under a key for now, if so.
    pub(super) fn crowded(&self, session: &Session, input: &Input) -> Option<SendError> {
        let is_keyed = matches!(
            input,
            Input::Keyed { .. } | Input::Send { key: Some(_), .. }
        );
        if !is_keyed {
            return None;
        }
        let cannot_wait =
            |input: &Input| matches!(input, Input::Interrupt { .. } | Input::Answer { .. });
        let more = if let Input::Keyed { input, .. } = input
            && cannot_wait(input)
        {
            0
        } else {
            RESERVED
        };
        if self.leave_room(session, more) {
            return None;
        }
        let context = "letters of other nodes cannot be replied to, and too much was said since";
        let error = InboxError::new(InboxErrorKind::Unavailable, context);
        Some(SendError::Inbox(Arc::new(error)))
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
                self.letters.unreplied.clear();
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
            self.letters.unreplied.clear();
            self.letters.pause = PAUSE;
            self.letters.unread.clear();
            return Ok(());
        }
        // Those that are not there any more have their replies.
        let waiting: BTreeSet<&LetterId> = looked.letters.iter().map(|(id, _)| id).collect();
        self.letters.unreplied.retain(|id, _| waiting.contains(id));
        let mut replies = Vec::with_capacity(looked.letters.len());
        let mut failed = false;
        for (letter, read) in looked.letters {
            if let Some(Unreplied { bytes, .. }) = self.letters.unreplied.get(&letter) {
                let bytes = bytes.clone();
                replies.push(Reply { letter, bytes });
                continue;
            }
            if !self.letters.leave_room(&self.session, RESERVED) {
                failed = true;
                continue;
            }
            let became = match read {
                Read::Said(note, said) => self.decide_letter(*note, said)?,
                Read::Refused(refusal) => Some(Execution::Refused(refusal)),
                Read::Failed(why) => self.give_up(&letter, why),
            };
            let Some(became) = became else {
                failed = true;
                continue;
            };
            let at = match &became {
                Execution::Accepted { first, .. } => Some(*first),
                Execution::Refused(_) => None,
            };
            let bytes = Acknowledgement::new(became).write();
            let bytes = bytes.map_err(|error| Ended::Defect(format!("a reply: {error}")))?;
            let unreplied = Unreplied {
                at,
                bytes: bytes.clone(),
            };
            self.letters.unreplied.insert(letter.clone(), unreplied);
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
    fn decide_letter(
        &mut self,
        note: RemoteCommand,
        said: SessionCommand,
    ) -> Result<Option<Execution>, Ended> {
        let RemoteCommand {
            key, scope, until, ..
        } = note;
        if !scope.sees(&self.session.owner) {
            let foreign = Rejection::Rejected(Reject::Foreign);
            return Ok(Some(Execution::Refused(foreign)));
        }
        let input = keyed(&key, said.input(scope));
        let foreseen = self.foresee(input.clone());
        if self.ports.clock.now() > until {
            // It was done all the same if a driver before this one took it in time.
            return Ok(Some(match foreseen {
                Err(Reject::Duplicate(seq)) => Execution::Accepted {
                    first: seq,
                    last: seq,
                },
                Ok(()) | Err(_) => Execution::Refused(Rejection::Late { until }),
            }));
        }
        if let Err(defect @ Reject::Defect(_)) = foreseen {
            // It would end each driver that takes it.
            tracing::error!(session = %self.session.id, %defect, "a letter is refused");
            return Ok(Some(Execution::Refused(Rejection::Rejected(defect))));
        }
        Ok(match self.say(input)? {
            Ok(SaidAt { first, last }) => Some(Execution::Accepted { first, last }),
            Err(error @ SendError::Ended(_)) => {
                tracing::debug!(session = %self.session.id, %error, "a letter is left alone");
                None
            }
            Err(error) => Rejection::of(error).map(Execution::Refused),
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
    fn give_up(&mut self, letter: &LetterId, why: String) -> Option<Execution> {
        let reads = self.letters.unread.entry(letter.clone()).or_default();
        *reads = reads.saturating_add(1);
        if *reads < READS {
            return None;
        }
        self.letters.unread.remove(letter);
        Some(Execution::Refused(Rejection::Unread(why)))
    }
}
