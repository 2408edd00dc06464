//! An inbox in memory that keeps every promise of the port, or all but one.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;
use windlass_core::{Epoch, SessionId, Timestamp};
use windlass_ports::{
    Clock as _, Durability, LogSignal, LogSignalSource, Mailbox, MailboxCapabilities,
    MailboxCommand, MailboxCommandId, MailboxError, MailboxErrorKind,
};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::inbox::{InboxFixture, Opened};

use crate::meeting::Meeting;

use crate::claims::Claims;

const LETTER_BYTES: usize = 5_000;
const LETTERS: usize = 9;
const TOLD_MS: u64 = 100;

/// The one promise that the inbox breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    EndsAtNul,
    TakesAway,
    OrdersByName,
    IgnoresLimits,
    LeavesTwice,
    LeavesOver,
    ForgetsTheReplied,
    FoldsNames,
    NeverFull,
    BoundsAll,
    RefusesTheKnown,
    ChecksThenActs,
    TakesAnySize,
    KeepsTheLetter,
    TakesAllAway,
    LastReplyStands,
    RepliesToNothing,
    WakesOnlyHere,
    HasNoPatience,
    ForgetsReplies,
    KeepsReplies,
    TellsOnlyHere,
    TellsOnce,
    TellsTheReplied,
    ListsFromTheBeginning,
    TakesUnderAnyClaim,
    RepliesUnderAnyClaim,
    TakesUnderOldClaims,
    ForgetsOnOpening,
    ErasesNoReplies,
    ErasesNoLetters,
    ErasesByBeginning,
}

/// A place whose inboxes all have the same fault.
pub(crate) struct Place {
    clock: ManualClock,
    openings: Mutex<u64>,
    shared: Arc<Shared>,
}

/// What all objects of a place have in common.
pub(crate) struct Shared {
    pub(crate) fault: Option<Fault>,
    racers: Meeting,
    kept: Mutex<Kept>,
}

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) epoch: u64,
    pub(crate) claims: BTreeMap<String, Epoch>,
    pub(crate) letters: Vec<(String, MailboxCommand)>,
    pub(crate) replies: BTreeMap<(String, String), (Bytes, Timestamp)>,
    /// Sessions that ever had a letter.
    ever: Vec<String>,
    asking: Vec<(u64, Arc<LogSignalSource>)>,
    waiting: Vec<(u64, Arc<Notify>)>,
}

impl Place {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self {
            clock: ManualClock::new(Timestamp(1_000_000), 1),
            openings: Mutex::default(),
            shared: Arc::new(Shared { racers: Meeting::default(), fault, kept: Mutex::default() }),
        }
    }

    fn opened(&self, replies_ms: u64) -> Opened {
        let mut openings = self.openings.lock().unwrap();
        *openings += 1;
        // Two are open at a time, so the third is another life.
        if self.shared.fault == Some(Fault::ForgetsOnOpening) && *openings % 2 == 1 {
            let mut kept = self.shared.kept();
            kept.letters.clear();
            kept.replies.clear();
        }
        Opened {
            store: Arc::new(Claims(self.shared.clone())),
            inbox: Arc::new(Reference {
                object: *openings,
                replies_ms,
                clock: self.clock.clone(),
                shared: self.shared.clone(),
            }),
        }
    }
}

#[async_trait]
impl InboxFixture for Place {
    async fn open(&self) -> Opened {
        self.opened(60_000)
    }

    async fn open_brief(&self) -> Option<Opened> {
        Some(self.opened(2_000))
    }

    async fn pass(&self, ms: u64) {
        self.clock.advance(ms);
    }

    fn patience(&self) -> Duration {
        // What these leave out is waited for in vain, and the case is to find that.
        let hangs = [
            Fault::WakesOnlyHere,
            Fault::KeepsReplies,
            Fault::TellsOnlyHere,
            Fault::TellsOnce,
            Fault::TellsTheReplied,
        ];
        if self.shared.fault.is_some_and(|fault| hangs.contains(&fault)) {
            Duration::from_millis(400)
        } else {
            Duration::from_secs(60)
        }
    }
}

impl Shared {
    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn waits(&self, kept: &Kept) -> Vec<String> {
        let mut all: Vec<String> = kept.letters.iter().map(|(of, _)| of.clone()).collect();
        if self.is(Fault::TellsTheReplied) {
            all.extend(kept.ever.iter().cloned());
        }
        all.sort();
        all.dedup();
        all
    }
}

struct Reference {
    object: u64,
    replies_ms: u64,
    clock: ManualClock,
    shared: Arc<Shared>,
}

impl Reference {
    fn is(&self, fault: Fault) -> bool {
        self.shared.is(fault)
    }

    fn key(&self, name: &str) -> String {
        match self.shared.fault {
            Some(Fault::FoldsNames) => name.to_lowercase(),
            _ => name.to_owned(),
        }
    }

    fn reply_of(&self, session: &SessionId, letter: &MailboxCommandId) -> Option<Bytes> {
        let kept = self.shared.kept();
        let key = (self.key(session.as_str()), self.key(letter.as_str()));
        let (bytes, given) = kept.replies.get(&key)?;
        let old = self.clock.now().since_ms(*given) > self.replies_ms;
        let gone = old && !self.is(Fault::KeepsReplies);
        (!gone && !self.is(Fault::ForgetsReplies)).then(|| bytes.clone())
    }

    fn stands(&self, session: &SessionId, epoch: Epoch, any: Fault) -> Result<(), MailboxError> {
        let kept = self.shared.kept();
        let stands = kept.claims.get(session.as_str()) == Some(&epoch);
        let old = (1..=kept.epoch).contains(&epoch.0) && self.is(Fault::TakesUnderOldClaims);
        match stands || old || self.is(any) {
            true => Ok(()),
            false => Err(error(MailboxErrorKind::NotClaimed)),
        }
    }

    fn fits(&self, bytes: &[u8]) -> Result<(), MailboxError> {
        match bytes.len() <= LETTER_BYTES || self.is(Fault::TakesAnySize) {
            true => Ok(()),
            false => Err(error(MailboxErrorKind::TooLarge)),
        }
    }

    fn full(&self, kept: &Kept, session: &SessionId) -> bool {
        let of = |of: &str| of == self.key(session.as_str()) || self.is(Fault::BoundsAll);
        let waits = kept.letters.iter().filter(|(name, _)| of(name)).count();
        waits >= LETTERS && !self.is(Fault::NeverFull)
    }
}

#[async_trait]
impl Mailbox for Reference {
    fn capabilities(&self) -> MailboxCapabilities {
        MailboxCapabilities {
            durability: Durability::Process,
            max_command_bytes: LETTER_BYTES,
            max_commands: LETTERS,
            notify_within_ms: TOLD_MS,
            retain_acks_ms: self.replies_ms,
        }
    }

    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError> {
        self.fits(&letter.bytes)?;
        let of = self.key(session.as_str());
        let mut letter = letter.clone();
        if self.is(Fault::EndsAtNul) {
            let end = letter.bytes.iter().position(|byte| *byte == 0);
            letter.bytes.truncate(end.unwrap_or(letter.bytes.len()));
        }
        let replied = self.reply_of(session, &letter.id).is_some();
        let full = {
            let mut kept = self.shared.kept();
            let known =
                kept.letters.iter_mut().find(|(name, known)| *name == of && known.id == letter.id);
            if let Some((_, known)) = known {
                if self.is(Fault::LeavesOver) {
                    *known = letter;
                    return Ok(());
                }
                let refused = self.is(Fault::RefusesTheKnown) && self.full(&kept, session);
                if refused {
                    return Err(error(MailboxErrorKind::Full));
                }
                if !self.is(Fault::LeavesTwice) {
                    return Ok(());
                }
            }
            if replied && !self.is(Fault::ForgetsTheReplied) {
                return Ok(());
            }
            self.full(&kept, session)
        };
        if self.is(Fault::ChecksThenActs) {
            self.shared.racers.meet().await;
        }
        let mut kept = self.shared.kept();
        let known = |(name, known): &(String, MailboxCommand)| *name == of && known.id == letter.id;
        let exact = !self.is(Fault::ChecksThenActs);
        if exact && !self.is(Fault::LeavesTwice) && kept.letters.iter().any(known) {
            return Ok(());
        }
        if full || (exact && self.full(&kept, session)) {
            return Err(error(MailboxErrorKind::Full));
        }
        kept.ever.push(of.clone());
        kept.letters.push((of, letter));
        for (object, source) in &kept.asking {
            if *object == self.object || !self.is(Fault::TellsOnlyHere) {
                source.publish(session);
            }
        }
        Ok(())
    }

    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError> {
        self.stands(session, epoch, Fault::TakesUnderAnyClaim)?;
        let of = self.key(session.as_str());
        let mut kept = self.shared.kept();
        let all = kept.letters.iter().filter(|(name, _)| *name == of);
        let mut all: Vec<MailboxCommand> = all.map(|(_, letter)| letter.clone()).collect();
        if self.is(Fault::OrdersByName) {
            all.sort_by(|a, b| a.id.cmp(&b.id));
        }
        if !self.is(Fault::IgnoresLimits) {
            all.truncate(limit);
        }
        if self.is(Fault::TakesAway) {
            kept.letters.clear();
        }
        Ok(all)
    }

    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError> {
        self.fits(reply)?;
        self.stands(session, epoch, Fault::RepliesUnderAnyClaim)?;
        let of = self.key(session.as_str());
        let now = self.clock.now();
        let mut kept = self.shared.kept();
        let known = |(name, known): &(String, MailboxCommand)| *name == of && known.id == *letter;
        let key = (of.clone(), self.key(letter.as_str()));
        let waits = kept.letters.iter().any(known);
        let over = kept.replies.contains_key(&key) && self.is(Fault::LastReplyStands);
        if !waits && !over && !self.is(Fault::RepliesToNothing) {
            return Ok(());
        }
        if waits || over || !kept.replies.contains_key(&key) {
            kept.replies.insert(key, (Bytes::copy_from_slice(reply), now));
        }
        let all = self.is(Fault::TakesAllAway);
        if !self.is(Fault::KeepsTheLetter) {
            kept.letters.retain(|(name, one)| *name != of || (one.id != *letter && !all));
        }
        for (object, notify) in &kept.waiting {
            if *object == self.object || !self.is(Fault::WakesOnlyHere) {
                notify.notify_one();
            }
        }
        Ok(())
    }

    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError> {
        let notify = Arc::new(Notify::new());
        let waits = (self.object, notify.clone());
        self.shared.kept().waiting.push(waits);
        let given = async {
            loop {
                if let Some(reply) = self.reply_of(session, letter) {
                    return reply;
                }
                notify.notified().await;
            }
        };
        let patience = match self.shared.fault {
            Some(Fault::HasNoPatience) => Duration::ZERO,
            _ => patience,
        };
        Ok(tokio::time::timeout(patience, given).await.ok())
    }

    fn arrivals(&self) -> LogSignal {
        let (source, news) = LogSignal::new(1_000);
        let source = Arc::new(source);
        let asks = (self.object, source.clone());
        self.shared.kept().asking.push(asks);
        let once = self.is(Fault::TellsOnce) || self.is(Fault::TellsOnlyHere);
        let shared = self.shared.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(TOLD_MS / 4));
            while !source.is_closed() && !once {
                ticks.tick().await;
                let waits = shared.waits(&shared.kept());
                for session in waits {
                    source.publish(&SessionId::new(&session).unwrap());
                }
            }
        });
        news
    }

    async fn pending_sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, MailboxError> {
        let waits = self.shared.waits(&self.shared.kept());
        let all = waits.iter().map(|session| SessionId::new(session).unwrap());
        let after = after.filter(|_| !self.is(Fault::ListsFromTheBeginning));
        let page = all.filter(|session| after.is_none_or(|after| session > after));
        let limit = match self.shared.fault {
            Some(Fault::IgnoresLimits) => usize::MAX,
            _ => limit,
        };
        Ok(page.take(limit).collect())
    }
}

fn error(kind: MailboxErrorKind) -> MailboxError {
    MailboxError::new(kind, "the reference inbox of the test kit refuses this")
}
