//! Driver: one task for each session, its only writer. It is the shell of the core's machine.
//!
//! It performs the actions of the machine: it starts effects as tasks, appends, publishes, and
//! acknowledges callers. It passes every outside event to the machine. The machine decides
//! everything, including when an effect may start and when the session is released.

mod agent;
mod append;
mod ask;
mod callers;
mod checkpoints;
mod command;
mod effects;
mod mailbox;
mod panics;
mod perform;
mod programs;
mod spans;
mod start;
mod timers;
mod turn_calls;
mod undo;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use windlass_core::machine::{Machine, MachineEvent, MachineSetup, Timer, Transitions};
use windlass_core::{CallRules, Ceiling, Epoch, Incoming, RecordedFact, Seq, Timestamp};
use windlass_ports::{Mailbox, Ports, ToolProcessState};

pub(crate) use command::{AckResult, AckSender, DriverCommand};
pub(crate) use undo::{UndoAnswer, UndoCommand};

use crate::arguments::Checker;
use crate::bus::EventBus;
use crate::capacity::FactCapacity;
use crate::config::Config;
use crate::effect::Effects;
use crate::error::DriverEnd;
use crate::grants::GrantBook;
use crate::load::Loaded;
use crate::prefix::PrefixTracker;
use crate::program::{ComputeSlots, ProgramSlot};
use crate::recovered::{RecoveredCall, RecoveredCalls};
use crate::slot::Slot;
use append::AppendFuture;
use callers::CommandCallers;
use checkpoints::Checkpoints;
use mailbox::MailboxTask;
use spans::TurnSpan;
use timers::Timers;

/// State of a session's driver.
pub(crate) struct Driver {
    ports: Ports,
    config: Config,
    slot: Arc<Slot>,
    bus: EventBus,
    epoch: Epoch,
    machine: Machine,
    /// Changes of the process's ceiling.
    ceiling: watch::Receiver<Option<Arc<Ceiling>>>,
    checker: Arc<Checker>,
    /// Append that is under way.
    appending: Option<AppendFuture>,
    /// Callers that wait for acknowledgements.
    callers: CommandCallers,
    /// Remote commands as they are read, and acknowledgements as they are written.
    mailbox: MailboxTask,
    effects: Effects,
    timers: Timers,
    checkpoints: Checkpoints,
    /// Run of the program that waits for its calls.
    program: ProgramSlot,
    /// Slots in which programs compute.
    compute_slots: ComputeSlots,
    /// Relation of each request to the previous one.
    prefix: PrefixTracker,
    /// Capacity of a fact.
    capacity: FactCapacity,
    /// Approval grants of the user.
    grants: GrantBook,
    /// First position that this driver wrote, or could have.
    entered: Seq,
    turn_span: TurnSpan,
    /// Error that was reported to the machine as it ended.
    failure: Option<DriverEnd>,
}

/// Components of a driver.
pub(crate) struct DriverParts {
    pub(crate) ports: Ports,
    /// Mailbox of the session; `None` for an engine without a cluster.
    pub(crate) mailbox: Option<Arc<dyn Mailbox>>,
    pub(crate) config: Config,
    /// Calls that this process permits at most.
    pub(crate) ceiling: watch::Receiver<Option<Arc<Ceiling>>>,
    pub(crate) compute_slots: ComputeSlots,
    pub(crate) grants: GrantBook,
    pub(crate) slot: Arc<Slot>,
    pub(crate) bus: EventBus,
    pub(crate) epoch: Epoch,
    pub(crate) loaded: Loaded,
    /// Position of the store's checkpoint; [`Seq::ZERO`] without one.
    pub(crate) checkpoint: Seq,
    pub(crate) checker: Arc<Checker>,
    /// Facts of the loaded session that are not in the log yet: its opening.
    pub(crate) unwritten: Vec<Arc<RecordedFact>>,
}

impl Driver {
    pub(crate) fn new(parts: DriverParts) -> Self {
        let store = parts.ports.store.capabilities();
        let mail = MailboxTask::new(&parts);
        let mut ceiling = parts.ceiling;
        let entered = parts.loaded.session.next;
        let machine = Machine::new(MachineSetup {
            loaded: parts.loaded,
            unsent: parts.unwritten,
            limits: parts.config.limits,
            ceiling: ceiling.borrow_and_update().clone(),
            transitions: Transitions::CORE,
            checkpoint_every: match store.max_checkpoint_bytes {
                Some(_) => parts.config.checkpoint_every,
                None => 0,
            },
            checkpoint: parts.checkpoint,
            has_mailbox: parts.mailbox.is_some(),
            release_ms: parts.config.shutdown_ms,
        });
        Self {
            ports: parts.ports,
            config: parts.config,
            slot: parts.slot,
            bus: parts.bus,
            epoch: parts.epoch,
            machine,
            ceiling,
            checker: parts.checker,
            appending: None,
            callers: CommandCallers::default(),
            mailbox: mail,
            effects: Effects::new(),
            timers: Timers::default(),
            checkpoints: Checkpoints::new(store.max_checkpoint_bytes.unwrap_or(0)),
            program: ProgramSlot::new(Duration::from_millis(parts.config.program_idle_ms)),
            compute_slots: parts.compute_slots,
            prefix: PrefixTracker::default(),
            capacity: FactCapacity::of(store),
            grants: parts.grants,
            entered,
            turn_span: TurnSpan::default(),
            failure: None,
        }
    }

    /// Drives the session until nobody needs it, or until it cannot continue.
    ///
    /// The driver is in a box, since a future holds what it is called with twice.
    pub(crate) async fn run(
        mut self: Box<Self>,
        mut mailbox: mpsc::Receiver<DriverCommand>,
    ) -> Arc<DriverEnd> {
        self.report_recovered();
        let matched = self.match_rules(None);
        self.hand_over(MachineEvent::Recovered { matched });
        self.deliver_results();
        let ended = match self.drive(&mut mailbox).await {
            Ok(()) => DriverEnd::Closed,
            Err(ended) => ended,
        };
        if let DriverEnd::Store(error) = &ended {
            let session = self.machine.session();
            let turn = session.turn().map(|turn| turn.id.0);
            tracing::warn!(session = %session.id, turn, %error, "the store failed under a session");
        }
        let ended = Arc::new(ended);
        // Nobody attaches from here on. Later callers wait for the end.
        self.slot.retire(true);
        mailbox.close();
        self.callers.end(&ended);
        while let Ok(command) = mailbox.try_recv() {
            command.reject(&ended);
        }
        // Before the release: running effects must not overlap with their next run.
        let turn = self.machine.session().turn();
        let limits = turn.map_or(self.config.limits, |turn| turn.limits);
        let grace = Duration::from_millis(limits.grace_ms);
        match *ended {
            // The next owner recovers the running effects, so all of them are dropped.
            DriverEnd::Superseded(_) => self.effects.abort(grace).await,
            DriverEnd::Closed
            | DriverEnd::HandOff { .. }
            | DriverEnd::Store(_)
            | DriverEnd::Abandoned
            | DriverEnd::Defect(_) => self.effects.end(grace).await,
        }
        self.ports.tools.release(&self.slot.id).await;
        if let DriverEnd::Closed | DriverEnd::HandOff { .. } = *ended {
            self.write_last_checkpoint().await;
        }
        self.release().await;
        ended
    }

    async fn drive(
        &mut self,
        mailbox: &mut mpsc::Receiver<DriverCommand>,
    ) -> Result<(), DriverEnd> {
        loop {
            while let Some(action) = self.machine.poll() {
                self.perform(action)?;
            }
            let closing = self.machine.is_closing();
            let at_rest = self.machine.is_at_rest();
            // A process that outlives its turn holds the session, unless that is closing.
            let held = at_rest && !closing && self.has_running_process();
            if at_rest && !held && self.slot.retire(closing) {
                self.hand_over(MachineEvent::Released);
            } else {
                self.next_event(mailbox, held).await?;
            }
        }
    }

    /// Waits for the next event, and passes it to the machine.
    async fn next_event(
        &mut self,
        mailbox: &mut mpsc::Receiver<DriverCommand>,
        held: bool,
    ) -> Result<(), DriverEnd> {
        let tick = self.machine.deadline();
        let listens = self.machine.accepts_commands();
        tokio::select! {
            result = append::wait_appended(&mut self.appending) => self.on_appended(result),
            news = self.effects.next() => self.on_effect_event(news),
            post = self.mailbox.next() => self.on_mailbox(post)?,
            command = mailbox.recv(), if listens => match command {
                Some(DriverCommand::Undo(command)) => self.undo(command).await,
                command => self.on_command(command)?,
            },
            Ok(()) = self.ceiling.changed() => self.on_ceiling(),
            () = self.slot.changed() => {}
            // The port's future is made only if it is waited for.
            () = async { self.ports.tools.wait_processes(&self.slot.id).await }, if held => {}
            () = self.program.expired() => {}
            timer = self.timers.next() => self.on_timer(timer),
            kept = self.checkpoints.next() => self.on_checkpoint(&kept),
            () = until(&self.ports, tick), if tick.is_some() => self.hand_over(MachineEvent::Tick),
        }
        Ok(())
    }

    /// Returns true if a process runs that a call of the session started and did not end.
    fn has_running_process(&self) -> bool {
        let processes = self.ports.tools.processes(&self.slot.id);
        processes.iter().any(|process| process.state == ToolProcessState::Running)
    }

    fn hand_over(&mut self, event: MachineEvent) {
        self.machine.handle(Incoming {
            at: self.ports.clock.now(),
            entropy: self.ports.clock.entropy(),
            input: event,
        });
    }

    fn on_ceiling(&mut self) {
        let ceiling = self.ceiling.borrow_and_update().clone();
        if let Some(ceiling) = ceiling {
            let matched = self.match_rules(Some(&ceiling));
            self.hand_over(MachineEvent::Ceiling { ceiling, matched });
        }
    }

    /// Compares the calls of an earlier process, or of a higher ceiling, with the rules.
    fn match_rules(&self, ceiling: Option<&Ceiling>) -> Vec<CallRules> {
        let Some(pending) = self.machine.calls_to_match(ceiling) else {
            return Vec::new();
        };
        // With settings that are of no use, nothing is known about the calls.
        let Ok(checker) = Checker::new(&pending.settings) else {
            return Vec::new();
        };
        let (session, history) = (self.machine.session(), self.machine.history());
        let checker = checker.in_workspace(session.workspace.as_ref(), &self.ports.tools);
        let calls = pending.calls.into_iter().filter_map(|call| {
            let (tool, arguments) = (&history.call(call)?.name, history.arguments(call)?);
            let matched = checker.rules(tool, &arguments);
            Some(CallRules { call, rules: matched.certain, possible_rules: matched.possible })
        });
        calls.collect()
    }

    /// Reports the calls that start because an earlier process allowed them.
    fn report_recovered(&self) {
        let session = self.machine.session();
        for call in RecoveredCalls::of(session, self.machine.history()).calls {
            let RecoveredCall { id, tool, arguments } = call;
            tracing::warn!(
                session = %session.id, call = %id, tool, arguments,
                "an earlier process allowed this call: this one decides again if it runs"
            );
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        if timer == Timer::Release {
            let session = &self.machine.session().id;
            tracing::warn!(%session, "let go before its hooks have spoken");
        }
        self.hand_over(MachineEvent::Elapsed(timer));
    }
}

/// Waits until a time that the core requested.
async fn until(ports: &Ports, moment: Option<Timestamp>) {
    if let Some(moment) = moment {
        ports.clock.sleep_until(moment).await;
    }
}
