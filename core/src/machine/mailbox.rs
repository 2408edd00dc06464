//! The mailbox: commands that other nodes left for this session, beside its own and never in their
//! way.
//!
//! One thing at a time: the mailbox is read; its commands are decided, in their order; once that is
//! durable they are replied to, and the mailbox is read again, until it is empty. A command that is
//! read again, as its reply was not taken, gets the same reply: this machine has its outcome, and
//! the next one has it from the core, which knows it by its key. So that no key is forgotten before,
//! only so much is said under keys until the replies are taken.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::Machine;
use super::action::{Action, Exit, Refusal, RemoteOutcome, RemoteRefusal, Reply};
use super::event::{Fault, RemoteBody, RemoteCommand, RemoteId, Timer};
use super::take::Taken;
use crate::error::Reject;
use crate::id::Seq;
use crate::input::{Input, Stamped};
use crate::scope::Scope;
use crate::session::Session;
use crate::time::Timestamp;

/// Most remote commands to read at a time: fewer than keys are remembered, so that there is room for
/// commands of this process until they are replied to.
pub const REMOTE_BATCH: usize = Session::KEYS / 2;
/// Interrupts and answers that may be taken where nothing else may until the replies are taken.
const RESERVED: usize = 8;
/// Pauses after a failure of the mailbox, initial and maximum.
const PAUSE_MS: u64 = 100;
const PAUSE_MAX_MS: u64 = 5_000;
/// Most reads of an unreadable command before it is refused.
const READS: u32 = 5;

/// The remote commands of a session.
#[derive(Debug, Clone)]
pub(super) struct Mailbox {
    exists: bool,
    stage: Stage,
    /// There may be commands that were not read yet.
    expected: bool,
    /// It was read for the first time.
    read: bool,
    pause_ms: u64,
    /// Number of failed reads, by command.
    unread: BTreeMap<RemoteId, u32>,
    /// Outcomes of commands whose replies are not taken yet.
    unreplied: BTreeMap<RemoteId, RemoteOutcome>,
    /// Replies to the commands that are being decided.
    replies: Vec<Reply>,
}

/// Work in progress on remote commands.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Idle,
    Reading,
    /// So many commands are still to be handed over.
    Deciding(usize),
    /// Their outcomes wait to be durable up to this position.
    Decided(Seq),
    Replying,
    /// The mailbox failed, and is left alone for a while.
    Pausing,
}

impl Mailbox {
    pub(super) fn new(exists: bool) -> Self {
        Self {
            exists,
            stage: Stage::Idle,
            expected: exists,
            read: !exists,
            pause_ms: PAUSE_MS,
            unread: BTreeMap::new(),
            unreplied: BTreeMap::new(),
            replies: Vec::new(),
        }
    }

    /// Returns true if something more may be said under a key, and all keys of commands without a
    /// reply are still remembered after it and so many more.
    fn leaves_room(&self, session: &Session, more: usize) -> bool {
        let positions = self.unreplied.values().filter_map(|outcome| match outcome {
            RemoteOutcome::Accepted { first, .. } => Some(*first),
            RemoteOutcome::Refused(_) => None,
        });
        let Some(oldest) = positions.min() else {
            return true;
        };
        let keys = session.keys.iter().map(|(_, seq)| *seq);
        let since: BTreeSet<Seq> = keys.filter(|seq| *seq >= oldest).collect();
        since.len() + more < Session::KEYS
    }

    /// Returns true if commands of this process can be taken. They come after the ones that wait in
    /// the mailbox, and wait a moment while replies are written and too much was said since; where
    /// the mailbox fails, they are refused instead.
    pub(super) fn lets_others_speak(&self, session: &Session) -> bool {
        self.read
            && match self.stage {
                Stage::Decided(_) | Stage::Replying => self.leaves_room(session, RESERVED),
                Stage::Idle | Stage::Reading | Stage::Deciding(_) | Stage::Pausing => true,
            }
    }

    /// Returns true if a command cannot be taken under its key for now.
    pub(super) fn is_crowded(&self, session: &Session, input: &Input) -> bool {
        let is_keyed = matches!(
            input,
            Input::Keyed { .. } | Input::Send { key: Some(_), .. }
        );
        let urgent =
            |input: &Input| matches!(input, Input::Interrupt { .. } | Input::Answer { .. });
        let more = if let Input::Keyed { input, .. } = input
            && urgent(input)
        {
            0
        } else {
            RESERVED
        };
        is_keyed && !self.leaves_room(session, more)
    }

    /// Returns true if nothing is under way. A mailbox that fails is not waited for: the next
    /// process that drives the session finds its commands.
    pub(super) fn is_at_rest(&self) -> bool {
        match self.stage {
            Stage::Idle => !self.expected,
            Stage::Pausing => true,
            Stage::Reading | Stage::Deciding(_) | Stage::Decided(_) | Stage::Replying => false,
        }
    }

    /// Forgets troubles: the mailbox works.
    fn recover(&mut self) {
        self.unreplied.clear();
        self.pause_ms = PAUSE_MS;
    }
}

impl Machine {
    /// Notes that there may be remote commands. A session that is about to be let go leaves them.
    pub(super) fn expect_remote(&mut self) {
        if self.takes_remote() {
            self.mailbox.expected = self.mailbox.exists;
        }
    }

    fn takes_remote(&self) -> bool {
        !self.release.closing && self.hand_off.is_none()
    }

    /// Begins what is to be done next about remote commands, unless something is under way.
    pub(super) fn attend_mailbox(&mut self) {
        let takes = self.takes_remote();
        let mailbox = &mut self.mailbox;
        if !mailbox.exists {
            return;
        }
        match mailbox.stage {
            Stage::Idle if mailbox.expected && takes => {
                mailbox.expected = false;
                mailbox.stage = Stage::Reading;
                let first = !mailbox.read;
                self.actions.push_back(Action::ReadMailbox { first });
            }
            Stage::Decided(last) if last <= self.durable => {
                mailbox.stage = Stage::Replying;
                let replies = core::mem::take(&mut mailbox.replies);
                self.actions.push_back(Action::Reply(replies));
            }
            Stage::Idle
            | Stage::Reading
            | Stage::Deciding(_)
            | Stage::Decided(_)
            | Stage::Replying
            | Stage::Pausing => {}
        }
        if !takes {
            self.mailbox.expected = false;
            self.mailbox.read = true;
        }
    }

    pub(super) fn on_mailbox_read(&mut self, ids: &[RemoteId]) {
        let mailbox = &mut self.mailbox;
        mailbox.read = true;
        if ids.is_empty() {
            mailbox.stage = Stage::Idle;
            mailbox.unread.clear();
            return mailbox.recover();
        }
        // Commands that are not there any more have their replies.
        mailbox.unreplied.retain(|id, _| ids.contains(id));
        mailbox.replies.clear();
        mailbox.stage = Stage::Deciding(ids.len());
    }

    /// Decides a remote command; the last one of those that were read ends the batch.
    pub(super) fn on_remote(&mut self, command: RemoteCommand) {
        let Stage::Deciding(left) = self.mailbox.stage else {
            return;
        };
        let RemoteCommand { id, body } = command;
        if let Some(outcome) = self.outcome(&id, body) {
            let mailbox = &mut self.mailbox;
            mailbox.unreplied.insert(id.clone(), outcome.clone());
            mailbox.replies.push(Reply { id, outcome });
        }
        if left > 1 {
            self.mailbox.stage = Stage::Deciding(left - 1);
        } else if self.mailbox.replies.is_empty() {
            self.pause_mailbox();
        } else {
            // Also a refusal stands on what was decided before it.
            self.mailbox.stage = Stage::Decided(self.last());
        }
    }

    /// Returns the outcome of a remote command; `None` when it is left for later.
    fn outcome(&mut self, id: &RemoteId, body: RemoteBody) -> Option<RemoteOutcome> {
        if let Some(known) = self.mailbox.unreplied.get(id) {
            return Some(known.clone());
        }
        if !self.mailbox.leaves_room(&self.session, RESERVED) {
            return None;
        }
        match body {
            RemoteBody::Command {
                scope,
                until,
                input,
                fault,
            } => self.decide_remote(&scope, until, input, fault),
            RemoteBody::Invalid(fault) => Some(refused(RemoteRefusal::Invalid(fault))),
            RemoteBody::Unread(why) => self.give_up(id, why),
        }
    }

    fn decide_remote(
        &mut self,
        scope: &Scope,
        until: Timestamp,
        input: Input,
        fault: Option<Fault>,
    ) -> Option<RemoteOutcome> {
        if !scope.sees(&self.session.owner) {
            return Some(refused(RemoteRefusal::Rejected(Reject::Foreign)));
        }
        let foreseen = self.foresee(input.clone());
        if self.at > until {
            // It was done all the same if a driver before this one took it in time.
            return Some(match foreseen {
                Err(Reject::Duplicate(seq)) => RemoteOutcome::Accepted {
                    first: seq,
                    last: seq,
                },
                Ok(()) | Err(_) => refused(RemoteRefusal::Late { until }),
            });
        }
        if let Err(defect @ Reject::Defect(_)) = foreseen {
            // It would end each machine that takes it.
            return Some(refused(RemoteRefusal::Rejected(defect)));
        }
        if self.admit(&input).is_err() {
            return None;
        }
        if let Some(fault) = fault {
            return Some(refused(RemoteRefusal::Invalid(fault)));
        }
        match self.command(input) {
            Ok(Taken { first, last }) => Some(RemoteOutcome::Accepted { first, last }),
            Err(Refusal::Rejected(reject)) => Some(refused(RemoteRefusal::Rejected(reject))),
            Err(Refusal::Closing | Refusal::HandingOff { .. } | Refusal::Crowded) => None,
        }
    }

    /// Returns what an input would come to. Nothing is changed.
    fn foresee(&self, input: Input) -> Result<(), Reject> {
        let stamped = Stamped {
            at: self.at,
            entropy: 0,
            input,
        };
        let decided = self
            .transitions
            .decided(&self.session, &self.limits, stamped);
        decided.map(drop)
    }

    /// Refuses a command that could not be read so often; `None` while it is tried again.
    fn give_up(&mut self, id: &RemoteId, why: String) -> Option<RemoteOutcome> {
        let reads = self.mailbox.unread.entry(id.clone()).or_default();
        *reads = reads.saturating_add(1);
        if *reads < READS {
            return None;
        }
        self.mailbox.unread.remove(id);
        Some(refused(RemoteRefusal::Invalid(Fault::Unread(why))))
    }

    pub(super) fn on_replied(&mut self) {
        self.mailbox.stage = Stage::Idle;
        self.mailbox.unreplied.clear();
        match self.mailbox.unread.is_empty() {
            true => {
                self.mailbox.pause_ms = PAUSE_MS;
                self.expect_remote();
            }
            false => self.pause_mailbox(),
        }
    }

    pub(super) fn on_mailbox_failed(&mut self, superseded: bool) {
        if let Stage::Reading = self.mailbox.stage {
            self.mailbox.read = true;
        }
        match superseded {
            true => self.exit(Exit::Superseded),
            false => self.pause_mailbox(),
        }
    }

    fn pause_mailbox(&mut self) {
        let mailbox = &mut self.mailbox;
        mailbox.stage = Stage::Pausing;
        self.actions.push_back(Action::SetTimer {
            timer: Timer::Mailbox,
            after_ms: mailbox.pause_ms,
        });
        mailbox.pause_ms = mailbox.pause_ms.saturating_mul(2).min(PAUSE_MAX_MS);
    }

    pub(super) fn on_pause_over(&mut self) {
        if let Stage::Pausing = self.mailbox.stage {
            self.mailbox.stage = Stage::Idle;
            self.expect_remote();
        }
    }
}

fn refused(refusal: RemoteRefusal) -> RemoteOutcome {
    RemoteOutcome::Refused(refusal)
}
