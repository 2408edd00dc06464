//! The machine: drives one session without I/O. Events go in, actions come out.
//!
//! A shell hands over each event as it happens, polls until there is no action left, and performs
//! each action before it polls the next: the state is then the one that the action was decided in.
//!
//! One append is under way at a time; facts decided in the meantime go out with the next one. An
//! effect starts once the log is durable as far as it needs, and is cancelled when it is not owed
//! any more. Facts are published, and commands acknowledged, once they are durable.
//!
//! Absent on purpose: ports, tasks, channels and clocks. Tokens and ids stand for what the shell
//! knows; the time comes in with each event.

mod action;
mod append;
mod checkpoint;
mod commands;
mod event;
mod hand_off;
mod reconcile;
mod release;
mod remote_commands;
mod transitions;

#[cfg(test)]
mod release_tests;
#[cfg(test)]
mod remote_commands_tests;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::checkpoint::Checkpoint;
use crate::effect::{Demand, EffectKey};
use crate::history::History;
use crate::id::Seq;
use crate::input::{Incoming, Input};
use crate::limits::Limits;
use crate::record::RecordedFact;
use crate::session::Session;
use crate::time::Timestamp;

pub use action::{
    Action, CancelMode, CommandRefusal, EngineDefect, ExitReason, Note, RemoteAcknowledgement,
    RemoteOutcome, RemoteRefusal, RunCause,
};
pub use event::{
    CommandToken, MachineEvent, RemoteBody, RemoteCommand, RemoteCommandFault, RemoteCommandId,
    Timer,
};
pub use remote_commands::REMOTE_BATCH;
pub use transitions::Transitions;

use checkpoint::Checkpoints;
use hand_off::HandOff;
use release::Release;
use remote_commands::RemoteCommands;

/// More rounds of reconciling than any session needs after one event.
const ROUNDS: u32 = 1_000;

/// The state that a machine begins with, and what its process allows.
#[derive(Debug, Clone)]
pub struct MachineSetup {
    /// The session and its history, as the log says, with the facts of `unsent` applied.
    pub loaded: Checkpoint,
    /// Facts of the loaded session that the log does not have yet: its opening.
    pub unsent: Vec<Arc<RecordedFact>>,
    /// The most that this process allows.
    pub limits: Limits,
    /// The functions to decide and fold by.
    pub transitions: Transitions,
    /// Facts after which a checkpoint is written; 0 for a store that keeps none.
    pub checkpoint_every: u64,
    /// Position of the checkpoint that the store has; [`Seq::ZERO`] without one.
    pub checkpoint: Seq,
    /// Whether other nodes may leave commands for the session.
    pub has_mailbox: bool,
    /// How long hooks of the session's end may take, in milliseconds.
    pub release_ms: u64,
}

/// Drives one session. Performs no I/O: the caller runs effects, appends and timers.
#[derive(Debug, Clone)]
pub struct Machine {
    transitions: Transitions,
    limits: Limits,
    session: Session,
    history: History,
    /// Moment of the latest event.
    at: Timestamp,
    /// Entropy of the next decision.
    entropy: u64,
    /// Decisions so far, refused ones among them.
    decisions: u64,
    durable: Seq,
    /// Facts that were decided and are not appended yet.
    unsent: Vec<Arc<RecordedFact>>,
    /// Facts of the append that is under way.
    appending: Option<Arc<[Arc<RecordedFact>]>>,
    /// Acknowledgements that wait for a position to be durable.
    waiting: VecDeque<(Seq, CommandToken)>,
    /// Running effects, with what was last demanded of each.
    running: BTreeMap<EffectKey, Demand>,
    /// Causes of runs that are about to start, by their positions.
    causes: BTreeMap<Seq, RunCause>,
    /// An effect that is to wind down and never began.
    never_started: Option<EffectKey>,
    /// Rounds of reconciling since the latest event.
    rounds: u32,
    remote: RemoteCommands,
    checkpoints: Checkpoints,
    release: Release,
    hand_off: Option<HandOff>,
    actions: VecDeque<Action>,
    /// Something has happened since the machine last came to rest.
    changed: bool,
    exited: bool,
}

impl Machine {
    /// Builds the machine of a session. A session that another process may have driven before is
    /// recovered first: see [`MachineEvent::Recovered`].
    #[must_use]
    pub fn new(setup: MachineSetup) -> Self {
        let Checkpoint { session, history } = setup.loaded;
        let last = session.next.0.saturating_sub(1);
        let unsent = setup.unsent.len() as u64;
        Self {
            transitions: setup.transitions,
            limits: setup.limits,
            session,
            history,
            at: Timestamp(0),
            entropy: 0,
            decisions: 0,
            durable: Seq(last.saturating_sub(unsent)),
            unsent: setup.unsent,
            appending: None,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            causes: BTreeMap::new(),
            never_started: None,
            rounds: 0,
            remote: RemoteCommands::new(setup.has_mailbox),
            checkpoints: Checkpoints::new(setup.checkpoint_every, setup.checkpoint),
            release: Release::new(setup.release_ms),
            hand_off: None,
            actions: VecDeque::new(),
            changed: true,
            exited: false,
        }
    }

    /// Takes in an event. Its consequences are polled.
    ///
    /// After an [`Action::ExitReason`] nothing is taken in any more.
    pub fn handle(&mut self, event: Incoming<MachineEvent>) {
        if self.exited {
            return;
        }
        (self.at, self.entropy, self.rounds) = (event.at, event.entropy, 0);
        self.changed = true;
        match event.input {
            MachineEvent::Recovered => self.recover(),
            MachineEvent::Command { token, input } => self.on_command(token, input),
            MachineEvent::Flush { token } => self.acknowledge_at(self.last(), token),
            MachineEvent::Withdrawn { token } => self.withdraw(token),
            MachineEvent::MailboxChanged => self.expect_remote(),
            MachineEvent::MailboxRead { ids } => self.on_mailbox_read(&ids),
            MachineEvent::Remote(command) => self.on_remote(command),
            MachineEvent::RemoteAcknowledged => self.on_remote_acknowledged(),
            MachineEvent::MailboxFailed { superseded } => self.on_mailbox_failed(superseded),
            MachineEvent::Appended => self.on_appended(),
            MachineEvent::AppendFailed { superseded } => self.exit(match superseded {
                true => ExitReason::Superseded,
                false => ExitReason::StoreFailed,
            }),
            MachineEvent::Effect { key, inputs, last } => self.on_effect(key, inputs, last),
            MachineEvent::Tick => self.on_tick(),
            MachineEvent::Close => self.release.close(),
            MachineEvent::Drain { when, reason } => self.release.drain(when, reason),
            MachineEvent::HandOff { within_ms, reason } => self.on_hand_off(within_ms, reason),
            MachineEvent::Released => self.on_released(),
            MachineEvent::Elapsed(Timer::Mailbox) => self.on_pause_over(),
            MachineEvent::Elapsed(Timer::HandOff) => self.end_patience(),
            MachineEvent::Elapsed(Timer::Release) => self.exit_without_hooks(),
            MachineEvent::Checkpointed { bytes } => self.checkpoints.learn(bytes),
        }
    }

    /// Returns the next action; `None` when there is nothing to do before the next event.
    pub fn poll(&mut self) -> Option<Action> {
        while self.actions.is_empty() && self.changed && !self.exited {
            self.advance();
        }
        self.actions.pop_front()
    }

    /// Does one round of what follows from the state.
    fn advance(&mut self) {
        self.changed = false;
        if self.is_finishing() {
            return self.finish();
        }
        match self.never_started.take() {
            Some(key) => self.report_never_started(key),
            None => self.interrupt_drained(),
        }
        if self.exited {
            return;
        }
        self.never_started = self.reconcile();
        if self.never_started.is_some() {
            // What was started before it starts in the state that asked for it.
            self.changed = true;
            self.rounds = self.rounds.saturating_add(1);
            if self.rounds > ROUNDS {
                self.exit(ExitReason::Defect(EngineDefect::NotConverging));
            }
            return;
        }
        self.append();
        if self.release.asking_hooks {
            return self.exit_at_rest();
        }
        self.checkpoint();
        self.advance_remote();
        self.hand_off_in_time();
    }

    fn exit(&mut self, exit: ExitReason) {
        self.exited = true;
        self.actions.push_back(Action::Exit(exit));
    }

    /// Current state of the session, with everything that was decided.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// History beside the session.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Position of the last fact that is durable.
    #[must_use]
    pub fn durable(&self) -> Seq {
        self.durable
    }

    /// Position of the last fact that was decided.
    #[must_use]
    pub fn last(&self) -> Seq {
        Seq(self.session.next.0.saturating_sub(1))
    }

    /// Running effects, with what was last demanded of each.
    #[must_use]
    pub fn running(&self) -> &BTreeMap<EffectKey, Demand> {
        &self.running
    }

    /// How many inputs were decided or refused so far.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Whether an append is under way.
    #[must_use]
    pub fn is_appending(&self) -> bool {
        self.appending.is_some()
    }

    /// When to hand over the next [`MachineEvent::Tick`].
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.hand_off {
            Some(_) => None,
            None => (self.transitions.deadline)(&self.session),
        }
    }

    /// Whether commands may be handed over. They wait while too much waits for the store, before the
    /// mailbox was read for the first time, and for a moment while remote commands are replied to.
    #[must_use]
    pub fn accepts_commands(&self) -> bool {
        !self.is_finishing()
            && self.unsent.len() < append::BACKLOG
            && self.remote.accepts_local(&self.session)
    }

    /// Whether nothing runs, is being appended, or waits for an acknowledgement or a reply. The shell
    /// then hands over [`MachineEvent::Released`] if nobody uses the session.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.session.turn().is_none()
            && self.session.hook_rounds.open.is_none()
            && self.appending.is_none()
            && self.unsent.is_empty()
            && self.waiting.is_empty()
            && self.remote.is_at_rest()
    }

    /// Whether the session is to be let go once it is at rest, whoever uses it.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.release.closing
    }

    /// Whether the session is being handed off.
    #[must_use]
    pub fn is_handing_off(&self) -> bool {
        self.hand_off.is_some()
    }

    fn on_tick(&mut self) {
        if self.hand_off.is_none() {
            let _ = self.apply_input(Input::Tick);
        }
    }
}
