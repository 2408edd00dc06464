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
use super::action::{
    Action, CommandRefusal, ExitReason, RemoteAcknowledgement, RemoteOutcome, RemoteRefusal,
};
use super::commands::FactRange;
use super::event::{RemoteBody, RemoteCommand, RemoteCommandFault, RemoteCommandId, Timer};
use crate::error::Reject;
use crate::id::Seq;
use crate::input::{Incoming, Input};
use crate::scope::Scope;
use crate::session::Session;
use crate::time::Timestamp;

/// Most remote commands to read at a time: fewer than keys are remembered, so that there is room for
/// commands of this process until they are replied to.
pub const REMOTE_BATCH: usize = Session::MAX_KEYS / 2;
/// Interrupts and answers that may be taken where nothing else may until the replies are taken.
const RESERVED: usize = 8;
/// Pauses after a failure of the mailbox, initial and maximum.
const PAUSE_MS: u64 = 100;
const PAUSE_MAX_MS: u64 = 5_000;
/// Most reads of an unreadable command before it is refused.
const READS: u32 = 5;

/// The remote commands of a session.
#[derive(Debug, Clone)]
pub(super) struct RemoteCommands {
    exists: bool,
    stage: RemoteStage,
    /// There may be commands that were not read yet.
    expected: bool,
    /// It was read for the first time.
    read: bool,
    pause_ms: u64,
    /// Number of failed reads, by command.
    unread: BTreeMap<RemoteCommandId, u32>,
    /// Outcomes of commands whose replies are not taken yet.
    unacknowledged: BTreeMap<RemoteCommandId, RemoteOutcome>,
    /// Replies to the commands that are being decided.
    acknowledgements: Vec<RemoteAcknowledgement>,
}

/// Work in progress on remote commands.
#[derive(Debug, Clone, Copy)]
enum RemoteStage {
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

impl RemoteCommands {
    pub(super) fn new(exists: bool) -> Self {
        Self {
            exists,
            stage: RemoteStage::Idle,
            expected: exists,
            read: !exists,
            pause_ms: PAUSE_MS,
            unread: BTreeMap::new(),
            unacknowledged: BTreeMap::new(),
            acknowledgements: Vec::new(),
        }
    }

    /// Returns true if something more may be said under a key, and all keys of commands without a
    /// reply are still remembered after it and so many more.
    fn has_key_room(&self, session: &Session, more: usize) -> bool {
        let positions = self
            .unacknowledged
            .values()
            .filter_map(|outcome| match outcome {
                RemoteOutcome::Accepted { first, .. } => Some(*first),
                RemoteOutcome::Refused(_) => None,
            });
        let Some(oldest) = positions.min() else {
            return true;
        };
        let keys = session.keys.iter().map(|(_, seq)| *seq);
        let since: BTreeSet<Seq> = keys.filter(|seq| *seq >= oldest).collect();
        since.len() + more < Session::MAX_KEYS
    }

    /// Returns true if commands of this process can be taken. They come after the ones that wait in
    /// the mailbox, and wait a moment while replies are written and too much was said since; where
    /// the mailbox fails, they are refused instead.
    pub(super) fn accepts_local(&self, session: &Session) -> bool {
        self.read
            && match self.stage {
                RemoteStage::Decided(_) | RemoteStage::Replying => {
                    self.has_key_room(session, RESERVED)
                }
                RemoteStage::Idle
                | RemoteStage::Reading
                | RemoteStage::Deciding(_)
                | RemoteStage::Pausing => true,
            }
    }

    /// Returns true if a command cannot be taken under its key for now.
    pub(super) fn lacks_key_room(&self, session: &Session, input: &Input) -> bool {
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
        is_keyed && !self.has_key_room(session, more)
    }

    /// Returns true if nothing is under way. A mailbox that fails is not waited for: the next
    /// process that drives the session finds its commands.
    pub(super) fn is_at_rest(&self) -> bool {
        match self.stage {
            RemoteStage::Idle => !self.expected,
            RemoteStage::Pausing => true,
            RemoteStage::Reading
            | RemoteStage::Deciding(_)
            | RemoteStage::Decided(_)
            | RemoteStage::Replying => false,
        }
    }

    /// Forgets troubles: the mailbox works.
    fn recover(&mut self) {
        self.unacknowledged.clear();
        self.pause_ms = PAUSE_MS;
    }
}

impl Machine {
    /// Notes that there may be remote commands. A session that is about to be let go leaves them.
    pub(super) fn expect_remote(&mut self) {
        if self.accepts_remote() {
            self.remote.expected = self.remote.exists;
        }
    }

    fn accepts_remote(&self) -> bool {
        !self.release.closing && self.hand_off.is_none()
    }

    /// Begins what is to be done next about remote commands, unless something is under way.
    pub(super) fn advance_remote(&mut self) {
        let takes = self.accepts_remote();
        let mailbox = &mut self.remote;
        if !mailbox.exists {
            return;
        }
        match mailbox.stage {
            RemoteStage::Idle if mailbox.expected && takes => {
                mailbox.expected = false;
                mailbox.stage = RemoteStage::Reading;
                let first = !mailbox.read;
                self.actions.push_back(Action::ReadMailbox { first });
            }
            RemoteStage::Decided(last) if last <= self.durable => {
                mailbox.stage = RemoteStage::Replying;
                let replies = core::mem::take(&mut mailbox.acknowledgements);
                self.actions.push_back(Action::AcknowledgeRemote(replies));
            }
            RemoteStage::Idle
            | RemoteStage::Reading
            | RemoteStage::Deciding(_)
            | RemoteStage::Decided(_)
            | RemoteStage::Replying
            | RemoteStage::Pausing => {}
        }
        if !takes {
            self.remote.expected = false;
            self.remote.read = true;
        }
    }

    pub(super) fn on_mailbox_read(&mut self, ids: &[RemoteCommandId]) {
        let mailbox = &mut self.remote;
        mailbox.read = true;
        if ids.is_empty() {
            mailbox.stage = RemoteStage::Idle;
            mailbox.unread.clear();
            return mailbox.recover();
        }
        // Commands that are not there any more have their replies.
        mailbox.unacknowledged.retain(|id, _| ids.contains(id));
        mailbox.acknowledgements.clear();
        mailbox.stage = RemoteStage::Deciding(ids.len());
    }

    /// Decides a remote command; the last one of those that were read ends the batch.
    pub(super) fn on_remote(&mut self, command: RemoteCommand) {
        let RemoteStage::Deciding(left) = self.remote.stage else {
            return;
        };
        let RemoteCommand { id, body } = command;
        if let Some(outcome) = self.outcome(&id, body) {
            let mailbox = &mut self.remote;
            mailbox.unacknowledged.insert(id.clone(), outcome.clone());
            mailbox
                .acknowledgements
                .push(RemoteAcknowledgement { id, outcome });
        }
        if left > 1 {
            self.remote.stage = RemoteStage::Deciding(left - 1);
        } else if self.remote.acknowledgements.is_empty() {
            self.pause_mailbox();
        } else {
            // Also a refusal stands on what was decided before it.
            self.remote.stage = RemoteStage::Decided(self.last());
        }
    }

    /// Returns the outcome of a remote command; `None` when it is left for later.
    fn outcome(&mut self, id: &RemoteCommandId, body: RemoteBody) -> Option<RemoteOutcome> {
        if let Some(known) = self.remote.unacknowledged.get(id) {
            return Some(known.clone());
        }
        if !self.remote.has_key_room(&self.session, RESERVED) {
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
            RemoteBody::Unreadable(why) => self.give_up(id, why),
        }
    }

    fn decide_remote(
        &mut self,
        scope: &Scope,
        until: Timestamp,
        input: Input,
        fault: Option<RemoteCommandFault>,
    ) -> Option<RemoteOutcome> {
        if !scope.can_access(&self.session.owner) {
            return Some(refused(RemoteRefusal::Rejected(Reject::OutOfScope)));
        }
        let foreseen = self.preview(input.clone());
        if self.at > until {
            // It was done all the same if a driver before this one took it in time.
            return Some(match foreseen {
                Err(Reject::Duplicate(seq)) => RemoteOutcome::Accepted {
                    first: seq,
                    last: seq,
                },
                Ok(()) | Err(_) => refused(RemoteRefusal::Expired { until }),
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
            Ok(FactRange { first, last }) => Some(RemoteOutcome::Accepted { first, last }),
            Err(CommandRefusal::Rejected(reject)) => Some(refused(RemoteRefusal::Rejected(reject))),
            Err(
                CommandRefusal::Closing
                | CommandRefusal::HandingOff { .. }
                | CommandRefusal::KeysExhausted,
            ) => None,
        }
    }

    /// Returns what an input would come to. Nothing is changed.
    fn preview(&self, input: Input) -> Result<(), Reject> {
        let stamped = Incoming {
            at: self.at,
            entropy: 0,
            input,
        };
        let decided = self
            .transitions
            .decide_and_evolve(&self.session, &self.limits, stamped);
        decided.map(drop)
    }

    /// Refuses a command that could not be read so often; `None` while it is tried again.
    fn give_up(&mut self, id: &RemoteCommandId, why: String) -> Option<RemoteOutcome> {
        let reads = self.remote.unread.entry(id.clone()).or_default();
        *reads = reads.saturating_add(1);
        if *reads < READS {
            return None;
        }
        self.remote.unread.remove(id);
        Some(refused(RemoteRefusal::Invalid(
            RemoteCommandFault::Unreadable(why),
        )))
    }

    pub(super) fn on_remote_acknowledged(&mut self) {
        self.remote.stage = RemoteStage::Idle;
        self.remote.unacknowledged.clear();
        match self.remote.unread.is_empty() {
            true => {
                self.remote.pause_ms = PAUSE_MS;
                self.expect_remote();
            }
            false => self.pause_mailbox(),
        }
    }

    pub(super) fn on_mailbox_failed(&mut self, superseded: bool) {
        if let RemoteStage::Reading = self.remote.stage {
            self.remote.read = true;
        }
        match superseded {
            true => self.exit(ExitReason::Superseded),
            false => self.pause_mailbox(),
        }
    }

    fn pause_mailbox(&mut self) {
        let mailbox = &mut self.remote;
        mailbox.stage = RemoteStage::Pausing;
        self.actions.push_back(Action::SetTimer {
            timer: Timer::Mailbox,
            after_ms: mailbox.pause_ms,
        });
        mailbox.pause_ms = mailbox.pause_ms.saturating_mul(2).min(PAUSE_MAX_MS);
    }

    pub(super) fn on_pause_over(&mut self) {
        if let RemoteStage::Pausing = self.remote.stage {
            self.remote.stage = RemoteStage::Idle;
            self.expect_remote();
        }
    }
}

fn refused(refusal: RemoteRefusal) -> RemoteOutcome {
    RemoteOutcome::Refused(refusal)
}
