//! The driver: one task a session, its only writer. It is the shell of core's machine.
//!
//! It performs the actions that the machine asks for: it starts effects as tasks, appends, publishes,
//! answers callers; and it hands every outside event to the machine. What is decided, when an effect
//! may start, and when the session is let go, is the machine's to say.

mod agent;
mod append;
mod ask;
mod callers;
mod checked;
mod checkpoints;
mod command;
mod effects;
mod lost;
mod mail;
mod perform;
mod programs;
mod start;
mod timers;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::machine::{Event, Machine, Setup, Timer, Transitions};
use windlass_core::{Epoch, Recorded, Seq, Stamped, Timestamp};
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
use append::Appending;
use callers::Callers;
use checkpoints::Checkpoints;
use mail::Mail;
use timers::Timers;

/// State of a session's driver.
pub(crate) struct Driver {
    ports: Ports,
    config: Config,
    slot: Arc<Slot>,
    bus: Bus,
    epoch: Epoch,
    machine: Machine,
    checker: Arc<Checker>,
    /// The append that is under way.
    appending: Option<Appending>,
    /// Those who wait for acknowledgements.
    callers: Callers,
    /// Remote commands as they are read, and replies as they are written.
    mail: Mail,
    effects: Effects,
    timers: Timers,
    checkpoints: Checkpoints,
    /// The run of the program that waits for its calls.
    held: Held,
    /// Places in which programs compute.
    places: Places,
    /// Relation of each request to the previous one.
    prefix: Prefix,
    /// Capacity of a fact.
    size: Size,
    /// The error that the machine was told of as it ended.
    failure: Option<Ended>,
}

/// The parts of a driver.
pub(crate) struct Parts {
    pub(crate) ports: Ports,
    /// The mailbox of the session; `None` for an engine that is alone on its store.
    pub(crate) inbox: Option<Arc<dyn Inbox>>,
    pub(crate) config: Config,
    pub(crate) places: Places,
    pub(crate) slot: Arc<Slot>,
    pub(crate) bus: Bus,
    pub(crate) epoch: Epoch,
    pub(crate) loaded: Loaded,
    /// Position of the checkpoint that the store has; [`Seq::ZERO`] without one.
    pub(crate) kept: Seq,
    pub(crate) checker: Arc<Checker>,
    /// Facts of the loaded session that are not in the log yet: its opening.
    pub(crate) unsent: Vec<Arc<Recorded>>,
}

impl Driver {
    pub(crate) fn new(parts: Parts) -> Self {
        let store = parts.ports.store.capabilities();
        let mail = Mail::new(&parts);
        let machine = Machine::new(Setup {
            loaded: parts.loaded,
            unsent: parts.unsent,
            limits: parts.config.limits,
            transitions: Transitions::CORE,
            checkpoint_every: match store.snapshots {
                Some(_) => parts.config.snapshot_every,
                None => 0,
            },
            checkpoint: parts.kept,
            has_mailbox: parts.inbox.is_some(),
            release_ms: parts.config.shutdown_ms,
        });
        Self {
            ports: parts.ports,
            config: parts.config,
            slot: parts.slot,
            bus: parts.bus,
            epoch: parts.epoch,
            machine,
            checker: parts.checker,
            appending: None,
            callers: Callers::default(),
            mail,
            effects: Effects::new(),
            timers: Timers::default(),
            checkpoints: Checkpoints::new(store.snapshots.unwrap_or(0)),
            held: Held::default(),
            places: parts.places,
            prefix: Prefix::default(),
            size: Size::of(store),
            failure: None,
        }
    }

    /// Drives until nobody needs the session, or it cannot go on.
    pub(crate) async fn run(mut self, mut mailbox: mpsc::Receiver<Command>) -> Arc<Ended> {
        self.hand_over(Event::Recovered);
        let ended = match self.drive(&mut mailbox).await {
            Ok(()) => Ended::Closed,
            Err(ended) => ended,
        };
        let ended = Arc::new(ended);
        // Nobody attaches from here on; later callers are told, and wait for the end.
        self.slot.retire(true);
        mailbox.close();
        self.callers.end(&ended);
        while let Ok(command) = mailbox.try_recv() {
            command.refuse(&ended);
        }
        // Before the session is let go: what still runs must not meet its next run.
        let turn = self.machine.session().turn();
        let limits = turn.map_or(self.config.limits, |turn| turn.limits);
        let grace = Duration::from_millis(limits.grace_ms);
        match *ended {
            // The next owner of the session takes up what ran here: nothing of it goes on.
            Ended::Superseded(_) => self.effects.kill(grace).await,
            Ended::Closed
            | Ended::Parted { .. }
            | Ended::Store(_)
            | Ended::Abandoned
            | Ended::Defect(_) => self.effects.end(grace).await,
        }
        if let Ended::Closed | Ended::Parted { .. } = *ended {
            self.write_last_checkpoint().await;
        }
        self.release().await;
        ended
    }

    async fn drive(&mut self, mailbox: &mut mpsc::Receiver<Command>) -> Result<(), Ended> {
        loop {
            while let Some(action) = self.machine.poll() {
                self.perform(action)?;
            }
            let closing = self.machine.is_closing();
            if self.machine.is_at_rest() && self.slot.retire(closing) {
                self.hand_over(Event::Released);
            } else {
                self.listen(mailbox).await?;
            }
        }
    }

    /// Waits for the next event, and hands it to the machine.
    async fn listen(&mut self, mailbox: &mut mpsc::Receiver<Command>) -> Result<(), Ended> {
        let tick = self.machine.deadline();
        let listens = self.machine.listens();
        tokio::select! {
            result = append::appended(&mut self.appending) => self.on_appended(result),
            news = self.effects.next() => self.on_news(news),
            post = self.mail.next() => self.on_post(post)?,
            command = mailbox.recv(), if listens => self.on_command(command)?,
            () = self.slot.changed() => {}
            timer = self.timers.next() => self.on_timer(timer),
            kept = self.checkpoints.next() => self.on_checkpoint(&kept),
            () = until(&self.ports, tick), if tick.is_some() => self.hand_over(Event::Tick),
        }
        Ok(())
    }

    fn hand_over(&mut self, event: Event) {
        self.machine.handle(Stamped {
            at: self.ports.clock.now(),
            entropy: self.ports.clock.entropy(),
            input: event,
        });
    }

    fn on_timer(&mut self, timer: Timer) {
        if timer == Timer::Release {
            let session = &self.machine.session().id;
            tracing::warn!(%session, "let go before its hooks have spoken");
        }
        self.hand_over(Event::Elapsed(timer));
    }
}

/// Waits for a moment that the core asked for.
async fn until(ports: &Ports, moment: Option<Timestamp>) {
    if let Some(moment) = moment {
        ports.clock.sleep_until(moment).await;
    }
}
