//! The driver: one task a session, its only writer.
//!
//! It takes inputs, decides, applies the facts, appends them, publishes what has become durable,
//! and keeps what runs equal to what is owed. It holds no rule about turns.
//!
//! While one append is under way, what is decided meanwhile waits and goes out as the next: facts
//! of many decisions share one sync. An effect starts once the log is durable as far as the core
//! says it needs; so does an acknowledgement.

mod agent;
mod ask;
mod checked;
mod command;
mod effects;
mod keep;
mod leave;
mod letters;
mod lost;
mod part;
mod programs;
mod start;
mod write;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use windlass_core::{
    Decided, Epoch, Fact, History, Input, Misfit, Recorded, Reject, Seq, Session, Stamped,
    deadline, decided,
};
use windlass_ports::{Inbox, Ports};

pub(crate) use command::{Ack, Acked, Command};

use crate::arguments::Checker;
use crate::bus::Bus;
use crate::config::Config;
use crate::effect::Effects;
use crate::error::Ended;
use crate::load::Loaded;
use crate::prefix::Prefix;
use crate::program::{Held, Places};
use crate::size::Size;
use crate::slot::Slot;
use keep::Keeping;
use leave::Stopping;
use letters::Letters;
use part::Parting;
use write::{Writing, wrote};

/// Drives one session.
pub(crate) struct Driver {
    ports: Ports,
    config: Config,
    slot: Arc<Slot>,
    bus: Bus,
    epoch: Epoch,
    session: Session,
    history: History,
    checker: Arc<Checker>,
    durable: Seq,
    unsent: Vec<Arc<Recorded>>,
    writing: Option<Writing>,
    acks: VecDeque<(Seq, Ack)>,
    /// What other nodes were asked of the session.
    letters: Letters,
    effects: Effects,
    /// What caused each run that is about to start, where the state does not hold all of it.
    starts: BTreeMap<Seq, Fact>,
    /// The run of the program that waits for its calls.
    held: Held,
    /// Where programs compute.
    places: Places,
    /// What each request is to the one before it.
    prefix: Prefix,
    /// What a fact may hold.
    size: Size,
    /// When a snapshot is kept next.
    keeping: Keeping,
    /// It ends once nothing runs.
    closing: bool,
    /// How and why every turn is asked to stop, once it is.
    stopping: Option<Stopping>,
    /// It starts nothing more, and ends where its turn stands.
    parting: Option<Parting>,
}

/// Facts that may wait for the append before them. Beyond that no more commands are taken; what
/// effects say is bounded by itself.
const BACKLOG: usize = 16_384;

/// What a driver is made of.
pub(crate) struct Parts {
    pub(crate) ports: Ports,
    /// Where letters for the session are; `None` for an engine that is alone on its store.
    pub(crate) inbox: Option<Arc<dyn Inbox>>,
    pub(crate) config: Config,
    pub(crate) places: Places,
    pub(crate) slot: Arc<Slot>,
    pub(crate) bus: Bus,
    pub(crate) epoch: Epoch,
    pub(crate) loaded: Loaded,
    /// The position of the snapshot that is kept; [`Seq::ZERO`] without one.
    pub(crate) kept: Seq,
    pub(crate) checker: Arc<Checker>,
    /// Facts of the loaded session that are not in the log yet: its opening.
    pub(crate) unsent: Vec<Arc<Recorded>>,
}

impl Driver {
    pub(crate) fn new(parts: Parts) -> Self {
        let unsent = parts.unsent.len() as u64;
        let store = parts.ports.store.capabilities();
        let last = parts.loaded.session.next.0.saturating_sub(1);
        let letters = Letters::new(&parts);
        Self {
            ports: parts.ports,
            config: parts.config,
            slot: parts.slot,
            bus: parts.bus,
            epoch: parts.epoch,
            session: parts.loaded.session,
            history: parts.loaded.history,
            checker: parts.checker,
            durable: Seq(last.saturating_sub(unsent)),
            unsent: parts.unsent,
            writing: None,
            acks: VecDeque::new(),
            letters,
            effects: Effects::new(),
            starts: BTreeMap::new(),
            held: Held::default(),
            places: parts.places,
            prefix: Prefix::default(),
            size: Size::of(store),
            keeping: Keeping::new(&parts.config, store.snapshots, parts.kept),
            closing: false,
            stopping: None,
            parting: None,
        }
    }

    /// Drives until nobody needs the session, or it cannot go on.
    pub(crate) async fn run(mut self, mut mailbox: mpsc::Receiver<Command>) -> Arc<Ended> {
        let ended = match self.take(Input::Recovered) {
            Ok(_) => self.drive(&mut mailbox).await,
            Err(reject) => Err(Ended::Defect(reject.to_string())),
        };
        let ended = Arc::new(match ended {
            Ok(()) => Ended::Closed,
            Err(ended) => ended,
        });
        // Nobody attaches from here on; whoever asks is told, and waits for the end.
        self.slot.retire(true);
        mailbox.close();
        for (_, ack) in self.acks.drain(..) {
            let _ = ack.send(Acked::Ended(ended.clone()));
        }
        while let Ok(command) = mailbox.try_recv() {
            command.refuse(&ended);
        }
        // Before the session is let go: what still runs must not meet its next run.
        let limits = self
            .session
            .turn()
            .map_or(self.config.limits, |turn| turn.limits);
        let grace = Duration::from_millis(limits.grace_ms);
        match *ended {
            // Whoever has the session now takes up what ran here: nothing of it goes on.
            Ended::Superseded(_) => self.effects.kill(grace).await,
            Ended::Closed
            | Ended::Parted { .. }
            | Ended::Store(_)
            | Ended::Abandoned
            | Ended::Defect(_) => self.effects.end(grace).await,
        }
        if let Ended::Closed | Ended::Parted { .. } = *ended {
            self.keep_last().await;
        }
        self.release().await;
        ended
    }

    async fn drive(&mut self, mailbox: &mut mpsc::Receiver<Command>) -> Result<(), Ended> {
        loop {
            self.stop()?;
            self.reconcile()?;
            self.write();
            self.keep();
            self.post();
            if let Some(rested) = self.is_time_to_part() {
                return self.part(rested).await;
            }
            if self.parting.is_none() && self.at_rest() && self.slot.retire(self.closing) {
                return self.leave(mailbox).await;
            }
            self.step(mailbox).await?;
        }
    }

    /// Waits for the next thing to happen, and acts on it.
    async fn step(&mut self, mailbox: &mut mpsc::Receiver<Command>) -> Result<(), Ended> {
        let parting = self.parting.as_ref().map(Parting::until);
        let tick = deadline(&self.session).filter(|_| parting.is_none());
        let listens = self.unsent.len() < BACKLOG
            && self.letters.were_looked_for()
            && self.letters.let_others_speak(&self.session);
        tokio::select! {
            result = wrote(&mut self.writing) => self.on_wrote(result),
            news = self.effects.next() => self.on_news(news),
            letters = self.letters.next() => self.on_letters(letters),
            command = mailbox.recv(), if listens => self.on_command(command),
            () = self.slot.changed() => Ok(()),
            () = sleep_until(parting), if parting.is_some() => Ok(()),
            () = until(&self.ports, tick), if tick.is_some() => self.must_take(Input::Tick),
        }
    }

    /// Takes an input: decides, applies. Answers the last position that this led to.
    fn take(&mut self, input: Input) -> Result<Seq, Reject> {
        let stamped = Stamped {
            at: self.ports.clock.now(),
            entropy: self.ports.clock.entropy(),
            input,
        };
        let Decided { session, facts } = decided(&self.session, &self.config.limits, stamped)?;
        for recorded in facts {
            self.note(recorded).map_err(Reject::Defect)?;
        }
        // Each of the facts was applied to it as it was decided.
        self.session = session;
        Ok(Seq(self.session.next.0.saturating_sub(1)))
    }

    /// Takes an input that cannot be refused for any cause but lateness.
    fn must_take(&mut self, input: Input) -> Result<(), Ended> {
        match self.take(input) {
            Ok(_) => Ok(()),
            Err(Reject::Defect(misfit)) => {
                tracing::error!(session = %self.session.id, %misfit, "decision does not fit");
                Err(Ended::Defect(misfit.to_string()))
            }
            Err(reject) => {
                tracing::debug!(session = %self.session.id, %reject, "input refused");
                Ok(())
            }
        }
    }

    /// Notes what a fact says beside the state, and has it written.
    fn note(&mut self, recorded: Recorded) -> Result<(), Misfit> {
        self.history.apply(&recorded)?;
        self.keep_start(&recorded);
        self.leave_no_agent(&recorded);
        self.held.note(&recorded);
        if let Fact::Compacted(_) = &recorded.fact {
            self.prefix.compacted();
        }
        self.unsent.push(Arc::new(recorded));
        Ok(())
    }
}

async fn sleep_until(moment: Option<Instant>) {
    if let Some(moment) = moment {
        tokio::time::sleep_until(moment).await;
    }
}

/// Waits for a moment that the core asked for.
async fn until(ports: &Ports, moment: Option<windlass_core::Timestamp>) {
    if let Some(moment) = moment {
        ports.clock.sleep_until(moment).await;
    }
}
