//! The machine: drives one session without I/O. Receives events and returns actions.
//!
//! A shell hands over each event as it happens and polls until no action is left. It performs each
//! action before it polls the next one, so the state is the one that the action was decided in.
//!
//! One append runs at a time; facts decided in the meantime go into the next one. An effect starts
//! once the log is durable as far as the effect requires. It is cancelled once it is no longer
//! desired. Facts are published, and commands acknowledged, once they are durable.
//!
//! Absent on purpose: ports, tasks, channels and clocks. Tokens and ids stand for the shell's
//! objects; the time arrives with each event.

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

use crate::ceiling::{CallsToMatch, Ceiling};
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

/// Initial state of a machine, and the limits of its process.
#[derive(Debug, Clone)]
pub struct MachineSetup {
    /// Session and history from the log, with the facts of `unsent` applied.
    pub loaded: Checkpoint,
    /// Facts of the loaded session that are not in the log yet: its opening.
    pub unsent: Vec<Arc<RecordedFact>>,
    /// Upper limits of this process.
    pub limits: Limits,
    /// Calls that this process permits at most; `None` permits what the session's settings do.
    pub ceiling: Option<Arc<Ceiling>>,
    /// Functions to decide and fold with.
    pub transitions: Transitions,
    /// Facts between two checkpoints; 0 for a store without checkpoints.
    pub checkpoint_every: u64,
    /// Position of the stored checkpoint; [`Seq::ZERO`] without one.
    pub checkpoint: Seq,
    /// True if other nodes may send commands to the session.
    pub has_mailbox: bool,
    /// Time limit for hooks on the session's end, in milliseconds.
    pub release_ms: u64,
}

/// Drives one session. Performs no I/O: the caller runs effects, appends and timers.
#[derive(Debug, Clone)]
pub struct Machine {
    transitions: Transitions,
    limits: Limits,
    ceiling: Option<Arc<Ceiling>>,
    session: Session,
    history: History,
    /// Time of the latest event.
    at: Timestamp,
    /// Entropy of the next decision.
    entropy: u64,
    /// Decisions so far, including rejected ones.
    decisions: u64,
    durable: Seq,
    /// Facts that are decided and not sent to the store yet.
    unsent: Vec<Arc<RecordedFact>>,
    /// Facts of the running append.
    appending: Option<Arc<[Arc<RecordedFact>]>>,
    /// Acknowledgements, each with the position that must be durable.
    waiting: VecDeque<(Seq, CommandToken)>,
    /// Running effects, with the last demand on each.
    running: BTreeMap<EffectKey, Demand>,
    /// Causes of runs that will start, by position.
    causes: BTreeMap<Seq, RunCause>,
    /// A cancelled effect that never started.
    never_started: Option<EffectKey>,
    /// Rounds of reconciling since the latest event.
    rounds: u32,
    remote: RemoteCommands,
    checkpoints: Checkpoints,
    release: Release,
    hand_off: Option<HandOff>,
    actions: VecDeque<Action>,
    /// True if an event or action may have consequences that are not processed yet.
    changed: bool,
    exited: bool,
}

impl Machine {
    /// Creates the machine of a session. If another process may have driven the session before, it
    /// is recovered first: see [`MachineEvent::Recovered`].
    #[must_use]
    pub fn new(setup: MachineSetup) -> Self {
        let Checkpoint { session, history } = setup.loaded;
        let last = session.next.0.saturating_sub(1);
        let unsent = setup.unsent.len() as u64;
        Self {
            transitions: setup.transitions,
            limits: setup.limits,
            ceiling: setup.ceiling,
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

    /// Applies an event. Poll for its consequences.
    ///
    /// After an [`Action::Exit`] all events are ignored.
    pub fn handle(&mut self, event: Incoming<MachineEvent>) {
        if self.exited {
            return;
        }
        (self.at, self.entropy, self.rounds) = (event.at, event.entropy, 0);
        self.changed = true;
        let mut narrowed = false;
        match event.input {
            MachineEvent::Ceiling { ceiling, matched } => {
                self.ceiling = Some(ceiling);
                narrowed = self.narrow(false, matched);
            }
            MachineEvent::Recovered { matched } => {
                narrowed = self.narrow(true, matched);
                self.recover();
            }
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
        if self.narrow(false, Vec::new()) || narrowed {
            self.on_tick();
        }
    }

    /// Returns the calls whose rules a [`MachineEvent::Recovered`], or a change to this ceiling,
    /// should bring; `None` if there are no such calls or no rules.
    #[must_use]
    pub fn calls_to_match(&self, ceiling: Option<&Ceiling>) -> Option<CallsToMatch> {
        ceiling.or(self.ceiling.as_deref())?.calls_to_match(&self.session)
    }

    /// Returns the next action; `None` if none is due before the next event.
    pub fn poll(&mut self) -> Option<Action> {
        while self.actions.is_empty() && self.changed && !self.exited {
            self.advance();
        }
        self.actions.pop_front()
    }

    /// Runs one round of consequences of the state.
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
            // Starts from earlier rounds must run in the state that requested them.
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

    /// Returns the current session, with all decided facts.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the history of the session.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the position of the last durable fact.
    #[must_use]
    pub fn durable(&self) -> Seq {
        self.durable
    }

    /// Returns the decided facts that are not durable yet, in order.
    pub fn pending_facts(&self) -> impl Iterator<Item = &Arc<RecordedFact>> {
        let appending = self.appending.iter().flat_map(|facts| facts.iter());
        appending.chain(&self.unsent)
    }

    /// Returns the position of the last decided fact.
    #[must_use]
    pub fn last(&self) -> Seq {
        Seq(self.session.next.0.saturating_sub(1))
    }

    /// Returns the running effects, with the last demand on each.
    #[must_use]
    pub fn running(&self) -> &BTreeMap<EffectKey, Demand> {
        &self.running
    }

    /// Returns the number of inputs decided or rejected so far.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Returns true if an append is running.
    #[must_use]
    pub fn is_appending(&self) -> bool {
        self.appending.is_some()
    }

    /// Returns the time to hand over the next [`MachineEvent::Tick`].
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.hand_off {
            Some(_) => None,
            None => (self.transitions.deadline)(&self.session),
        }
    }

    /// Returns true if commands may be handed over. They wait while the store's backlog is full,
    /// before the first read of the mailbox, and briefly while remote commands are acknowledged.
    #[must_use]
    pub fn accepts_commands(&self) -> bool {
        !self.is_finishing()
            && self.unsent.len() < append::BACKLOG
            && self.remote.accepts_local(&self.session)
    }

    /// Returns true if nothing runs, is being appended, or awaits an acknowledgement, and no result
    /// of a detached child is awaited unless the session closes. The shell then hands over
    /// [`MachineEvent::Released`] if the session has no users.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.session.turn().is_none()
            && self.session.hook_rounds.open.is_none()
            && self.appending.is_none()
            && self.unsent.is_empty()
            && self.waiting.is_empty()
            && self.remote.is_at_rest()
            && (self.session.detached.is_empty() || self.release.closing)
    }

    /// Returns true if the session is released once it is idle, even with users.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.release.closing
    }

    /// Returns true if the session is being handed off.
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
