//! Remote commands: commands from other nodes, which arrive through the mailbox and never block the
//! session's own.
//!
//! The machine reads the mailbox, decides its commands in order, acknowledges them once they are
//! durable, and reads again until the mailbox is empty. A command may be read again if its
//! acknowledgement failed. It gets the same acknowledgement: this machine remembers the outcome,
//! and a later one finds it in the core by the command's key. The machine limits new keys until the
//! acknowledgements are stored, so that the core forgets no key too early.

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

/// Most remote commands to read at a time. Fewer than the remembered keys, so that commands of this
/// process have room before the acknowledgements.
pub const REMOTE_BATCH: usize = Session::MAX_KEYS / 2;
/// Extra interrupts, answers and results that are accepted when the key limit blocks other commands.
const RESERVED: usize = 8;
/// First pause after a failure of the mailbox; it doubles with each failure.
const PAUSE_MS: u64 = 100;
const PAUSE_MAX_MS: u64 = 5_000;
/// Most reads of an unreadable command before it is refused.
const READS: u32 = 5;

/// The remote commands of a session.
#[derive(Debug, Clone)]
pub(super) struct RemoteCommands {
    exists: bool,
    stage: RemoteStage,
    /// True if there may be unread commands.
    expected: bool,
    /// True once the mailbox was read for the first time.
    read: bool,
    pause_ms: u64,
    /// Number of failed reads, by command.
    unread: BTreeMap<RemoteCommandId, u32>,
    /// Outcomes of commands whose acknowledgements are not stored yet.
    unacknowledged: BTreeMap<RemoteCommandId, RemoteOutcome>,
    /// Acknowledgements of the commands that are being decided.
    acknowledgements: Vec<RemoteAcknowledgement>,
}

/// Work in progress on remote commands.
#[derive(Debug, Clone, Copy)]
enum RemoteStage {
    Idle,
    Reading,
    /// This number of commands must still be handed over.
    Deciding(usize),
    /// Their outcomes wait until this position is durable.
    Decided(Seq),
    Replying,
    /// The mailbox failed; the machine pauses before the next try.
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

    /// Returns true if a command with a key fits. The keys of all unacknowledged commands must stay
    /// remembered after it and `more` others.
    fn has_key_room(&self, session: &Session, more: usize) -> bool {
        let positions = self.unacknowledged.values().filter_map(|outcome| match outcome {
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

    /// Returns true if commands of this process are accepted. They come after the commands that
    /// wait in the mailbox. They wait briefly while acknowledgements are written and the key limit
    /// is reached; if the mailbox fails, they are refused instead.
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

    /// Returns true if the key limit currently blocks a command.
    pub(super) fn lacks_key_room(&self, session: &Session, input: &Input) -> bool {
        let is_keyed = matches!(input, Input::Keyed { .. } | Input::Send { key: Some(_), .. });
        let urgent = |input: &Input| {
            matches!(
                input,
                Input::Interrupt { .. } | Input::Answer { .. } | Input::SubmitResult { .. }
            )
        };
        let more = if let Input::Keyed { input, .. } = input
            && urgent(input)
        {
            0
        } else {
            RESERVED
        };
        is_keyed && !self.has_key_room(session, more)
    }

    /// Returns true if no mailbox work is pending. A failing mailbox is not awaited: the next
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

    /// Resets the failure state: the mailbox works.
    fn recover(&mut self) {
        self.unacknowledged.clear();
        self.pause_ms = PAUSE_MS;
    }
}

impl Machine {
    /// Notes that there may be remote commands. A session that is being released ignores them.
    pub(super) fn expect_remote(&mut self) {
        if self.accepts_remote() {
            self.remote.expected = self.remote.exists;
        }
    }

    fn accepts_remote(&self) -> bool {
        !self.release.closing && self.hand_off.is_none()
    }

    /// Starts the next work on remote commands, unless some is running.
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
        // Commands that are no longer in the mailbox were acknowledged.
        mailbox.unacknowledged.retain(|id, _| ids.contains(id));
        mailbox.acknowledgements.clear();
        mailbox.stage = RemoteStage::Deciding(ids.len());
    }

    /// Decides a remote command; the last one of a read ends the batch.
    pub(super) fn on_remote(&mut self, command: RemoteCommand) {
        let RemoteStage::Deciding(left) = self.remote.stage else {
            return;
        };
        let RemoteCommand { id, body } = command;
        if let Some(outcome) = self.outcome(&id, body) {
            let mailbox = &mut self.remote;
            mailbox.unacknowledged.insert(id.clone(), outcome.clone());
            mailbox.acknowledgements.push(RemoteAcknowledgement { id, outcome });
        }
        if left > 1 {
            self.remote.stage = RemoteStage::Deciding(left - 1);
        } else if self.remote.acknowledgements.is_empty() {
            self.pause_mailbox();
        } else {
            // A refusal also depends on earlier decisions.
            self.remote.stage = RemoteStage::Decided(self.last());
        }
    }

    /// Returns the outcome of a remote command; `None` if it is postponed.
    fn outcome(&mut self, id: &RemoteCommandId, body: RemoteBody) -> Option<RemoteOutcome> {
        if let Some(known) = self.remote.unacknowledged.get(id) {
            return Some(known.clone());
        }
        if !self.remote.has_key_room(&self.session, RESERVED) {
            return None;
        }
        match body {
            RemoteBody::Command { scope, until, input, fault } => {
                self.decide_remote(&scope, until, input, fault)
            }
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
            // An earlier driver may have executed it in time.
            return Some(match foreseen {
                Err(Reject::Duplicate(seq)) => RemoteOutcome::Accepted { first: seq, last: seq },
                Ok(()) | Err(_) => refused(RemoteRefusal::Expired { until }),
            });
        }
        if let Err(defect @ Reject::Defect(_)) = foreseen {
            // The command would end each machine that executes it.
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

    /// Returns the result that an input would have. Changes nothing.
    fn preview(&self, input: Input) -> Result<(), Reject> {
        let stamped = Incoming { at: self.at, entropy: 0, input };
        let decided = self.transitions.decide_and_evolve(&self.session, &self.limits, stamped);
        decided.map(drop)
    }

    /// Refuses a command after too many failed reads; `None` before that.
    fn give_up(&mut self, id: &RemoteCommandId, why: String) -> Option<RemoteOutcome> {
        let reads = self.remote.unread.entry(id.clone()).or_default();
        *reads = reads.saturating_add(1);
        if *reads < READS {
            return None;
        }
        self.remote.unread.remove(id);
        Some(refused(RemoteRefusal::Invalid(RemoteCommandFault::Unreadable(why))))
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
        self.actions
            .push_back(Action::SetTimer { timer: Timer::Mailbox, after_ms: mailbox.pause_ms });
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
