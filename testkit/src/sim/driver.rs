//! The simulated driver: one of a process, for one session. It is the machine that ships, with a shell
//! that sends its appends to the simulated store, and has the flaws of a wrong one. What it does not
//! know is what the store really did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::machine::{
    Action, CancelMode, CommandToken, ExitReason, Machine, MachineEvent, MachineSetup, Note, Timer,
    Transitions,
};
use windlass_core::{
    CallStarted, Checkpoint, Demand, EffectKey, Epoch, Fact, History, Incoming, Input, Limits,
    RecordedFact, Reject, Seq, Session, Timestamp,
};
use windlass_ports::{StoreError, StoreErrorKind, codec};

use super::breach::Breach;
use super::flaw::{Flaw, owed_early};
use crate::laws::law_14_rejects_change_nothing::{self, Standing};
use crate::laws::{Begun, Broken, Evidence, Loss, broken};
use crate::world::{defect, effect, event, line};

/// Drives one session.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) process: usize,
    pub(super) life: u32,
    pub(super) epoch: Epoch,
    /// The core that the laws ask. That of the machine may have a flaw.
    transitions: Transitions,
    flaw: Option<Flaw>,
    ceiling: Limits,
    /// What it knows and has decided, as it comes back from its text form.
    pub(super) log: Vec<RecordedFact>,
    pub(super) machine: Machine,
    /// The append that is under way.
    sending: Option<Sending>,
    /// How far the store has what it was sent.
    stored: Seq,
    /// Facts that a flaw keeps from the store.
    dropped: BTreeSet<Seq>,
    /// Where inputs that wait for their acknowledgements stand.
    accepted: BTreeMap<CommandToken, Seq>,
    /// What was begun before its time, and by it.
    pub(super) begun: Vec<Begun>,
    losses: Vec<Loss>,
    /// Runs that have ended.
    pub(super) past: Vec<EffectKey>,
    /// Inputs that came while its append was under way.
    pub(super) overtaken: u32,
    /// What it has done since it was last looked at.
    pub(super) done: Vec<Done>,
    /// It drives no more.
    pub(super) over: bool,
    /// Why it ended, until somebody has seen it.
    pub(super) ended: Option<Ended>,
    /// When a hand-off waits no longer.
    pub(super) patience: Option<Timestamp>,
}

/// What a driver does that others see.
#[derive(Debug, Clone)]
pub(super) enum Done {
    /// A line for its transcript.
    Line(String),
    /// An effect began.
    Began {
        begun: Begun,
        /// What caused it, for a tool's run.
        call: Option<CallStarted>,
    },
    /// An append goes out.
    Sends(Sending),
    /// Facts are published; the first of them has this position.
    Publishes { first: Seq, texts: Vec<Vec<u8>> },
    /// A user's input is acknowledged.
    Acknowledges(Ack),
    /// A checkpoint is written.
    Checkpoint(Box<Checkpoint>),
    /// It found that another driver has claimed the session.
    Knows,
}

/// An append.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    /// Which of the driver's appends it is.
    pub(super) number: u64,
    pub(super) after: Seq,
    pub(super) texts: Vec<Vec<u8>>,
}

impl Sending {
    fn last(&self) -> Seq {
        self.after.plus(self.texts.len() as u64)
    }
}

/// An acknowledgement that is due once a position is durable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    /// Which of the user's inputs.
    pub(super) input: usize,
    /// The first of its facts.
    pub(super) first: Seq,
}

/// Facts after which a checkpoint is written.
const CHECKPOINT: u64 = 12;

/// The token of inputs that nobody waits for.
const NOBODY: CommandToken = CommandToken(u64::MAX);

/// Why a driver ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ended {
    /// Another one has claimed the session.
    Superseded,
    /// The store failed.
    Store,
    /// It let the session go.
    Closed,
    /// It handed the session off: once every effect had ended, or as the time was up.
    HandedOff { complete: bool },
}

/// When an input comes, and with what entropy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    pub(super) entropy: u64,
}

/// What a driver begins with.
pub(super) struct Taken {
    pub(super) process: usize,
    pub(super) life: u32,
    pub(super) epoch: Epoch,
    pub(super) transitions: Transitions,
    pub(super) flaw: Option<Flaw>,
    pub(super) ceiling: Limits,
    pub(super) log: Vec<RecordedFact>,
    pub(super) session: Session,
    pub(super) history: History,
    /// How much of the log the store has.
    pub(super) durable: Seq,
    pub(super) begun: Vec<Begun>,
    pub(super) losses: Vec<Loss>,
    pub(super) past: Vec<EffectKey>,
}

impl Driver {
    pub(super) fn new(taken: Taken) -> Self {
        let known = usize::try_from(taken.durable.0).unwrap_or(usize::MAX);
        let unsent = taken.log.get(known..).unwrap_or_default();
        let machine = Machine::new(MachineSetup {
            loaded: Checkpoint { session: taken.session, history: taken.history },
            unsent: unsent.iter().cloned().map(Arc::new).collect(),
            limits: taken.ceiling,
            ceiling: None,
            transitions: match taken.flaw {
                Some(Flaw::StartsEarly) => {
                    Transitions { desired_effects: owed_early, ..taken.transitions }
                }
                Some(_) | None => taken.transitions,
            },
            checkpoint_every: CHECKPOINT,
            checkpoint: Seq::ZERO,
            has_mailbox: false,
            release_ms: 0,
        });
        Self {
            process: taken.process,
            life: taken.life,
            epoch: taken.epoch,
            transitions: taken.transitions,
            flaw: taken.flaw,
            ceiling: taken.ceiling,
            log: taken.log,
            machine,
            sending: None,
            stored: taken.durable,
            dropped: BTreeSet::new(),
            accepted: BTreeMap::new(),
            begun: taken.begun,
            losses: taken.losses,
            past: taken.past,
            overtaken: 0,
            done: Vec::new(),
            over: false,
            ended: None,
            patience: None,
        }
    }

    /// What the laws are held against now.
    pub(super) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            ceilings: &[],
            transitions: &self.transitions,
            ceiling: &self.ceiling,
            log: &self.log,
            durable: self.machine.durable(),
            session: self.session(),
            history: self.history(),
            running: self.running(),
            begun: &self.begun,
            losses: &self.losses,
            checked: 0,
        }
    }

    pub(super) fn session(&self) -> &Session {
        self.machine.session()
    }

    pub(super) fn history(&self) -> &History {
        self.machine.history()
    }

    pub(super) fn running(&self) -> &BTreeMap<EffectKey, Demand> {
        self.machine.running()
    }

    /// When it wants a tick.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.machine.deadline()
    }

    /// Takes an input, and does what follows from it. Answers the reject, if it was one.
    pub(super) fn take(
        &mut self,
        input: Input,
        moment: Moment,
        user: Option<usize>,
    ) -> Result<Option<Reject>, Breach> {
        let before = self.standing();
        let owed = (self.transitions.desired_effects)(self.session());
        let overtakes = self.machine.is_appending();
        let said = input.clone();
        let token = user.map_or(NOBODY, |input| CommandToken(input as u64));
        let event =
            if let Input::Close = input { MachineEvent::Released } else { event(input, token) };
        // Whoever hands a session off passes over what it would refuse.
        let passes_over = self.machine.is_handing_off();
        let rejected = self.hand_over(event, moment)?;
        let after = self.standing();
        if !passes_over {
            let is = rejected.is_some();
            law_14_rejects_change_nothing::check(&before, &owed, &said, is, &after)?;
        }
        self.overtaken += u32::from(overtakes);
        Ok(rejected)
    }

    /// It is to let the session go once it is at rest.
    pub(super) fn close(&mut self, at: Timestamp) -> Result<(), Breach> {
        let moment = Moment { at, entropy: 0 };
        self.hand_over(MachineEvent::Close, moment).map(drop)
    }

    /// It is to hand the session off.
    pub(super) fn hand_off(&mut self, within_ms: u64, at: Timestamp) -> Result<(), Breach> {
        let event = MachineEvent::HandOff { within_ms, reason: String::from("it moves") };
        self.hand_over(event, Moment { at, entropy: 0 }).map(drop)
    }

    /// The time of a hand-off is up.
    pub(super) fn end_patience(&mut self, at: Timestamp) -> Result<(), Breach> {
        self.patience = None;
        let event = MachineEvent::Elapsed(Timer::HandOff);
        self.hand_over(event, Moment { at, entropy: 0 }).map(drop)
    }

    /// The store answers an append. An answer to another append than the one that is under way came
    /// twice, and changes nothing.
    pub(super) fn wrote(
        &mut self,
        number: u64,
        answer: &Result<(), StoreError>,
        moment: Moment,
    ) -> Result<(), Breach> {
        let sending = self.sending.take_if(|sending| sending.number == number);
        let Some(sending) = sending else {
            return Ok(());
        };
        if let Err(error) = answer {
            let superseded = is_superseded(error);
            self.say(format!("the append failed: {error}"));
            if superseded {
                self.done.push(Done::Knows);
            }
            let goes_on = match self.flaw {
                Some(Flaw::IgnoresSupersession) => superseded,
                Some(Flaw::GoesOnAfterError) => !superseded,
                Some(_) | None => false,
            };
            if !goes_on {
                let event = MachineEvent::AppendFailed { superseded };
                return self.hand_over(event, moment).map(drop);
            }
        }
        self.stored = sending.last();
        self.overtaken = 0;
        self.say(format!("durable up to {}", self.stored));
        self.sending = Some(sending);
        self.hand_over(MachineEvent::Appended, moment).map(drop)
    }

    fn standing(&self) -> Standing {
        Standing {
            last: self.machine.last(),
            session: self.session().clone(),
            running: self.running().clone(),
            begun: self.begun.len(),
        }
    }

    /// Hands an event to the machine, and does what it asks for. Answers the reject, if it was one.
    fn hand_over(&mut self, event: MachineEvent, moment: Moment) -> Result<Option<Reject>, Breach> {
        let Moment { at, entropy } = moment;
        let stamped = |input| Incoming { at, entropy, input };
        self.machine.handle(stamped(event));
        let mut rejected = None;
        while let Some(action) = self.machine.poll() {
            match action {
                Action::Note(Note::Decided(facts)) => self.keep(&facts)?,
                Action::Note(Note::Rejected(reject)) => {
                    self.say(format!("rejected: {reject}"));
                    rejected = Some(reject);
                }
                Action::Note(Note::NeverStarted(key)) => {
                    self.say(format!("never {}", effect(&key)))
                }
                Action::Append { facts, .. } => {
                    if !self.send(&facts)? {
                        self.machine.handle(stamped(MachineEvent::Appended));
                    }
                }
                Action::Publish(_) => self.publish(),
                Action::Start { key, cause } => self.begin(key, cause)?,
                Action::Cancel { key, mode: how } => match how {
                    CancelMode::Drop => self.past.push(key),
                    CancelMode::Graceful | CancelMode::Yield => {
                        self.say(format!("{how:?} {}", effect(&key)))
                    }
                },
                Action::Continue { key } => self.say(format!("continue {}", effect(&key))),
                Action::Accept { token, first } => self.accept(token, first),
                Action::Acknowledge { token, .. } => self.acknowledge(token),
                Action::Exit(exit) => self.exit(exit)?,
                Action::SetTimer { timer: Timer::HandOff, after_ms } => {
                    let until = at.plus_ms(after_ms);
                    self.patience = Some(self.patience.map_or(until, |set| set.min(until)));
                }
                Action::Checkpoint => {
                    let folded = Box::new(self.machine.checkpoint_now());
                    self.done.push(Done::Checkpoint(folded));
                    let bytes = Some(1_000);
                    self.machine.handle(stamped(MachineEvent::Checkpointed { bytes }));
                }
                // Agents, mailboxes and other spans of real time are not simulated. Users learn of a
                // refusal from the note.
                Action::Refuse { .. }
                | Action::StopAgent { .. }
                | Action::ReadMailbox { .. }
                | Action::AcknowledgeRemote(_)
                | Action::SetTimer { timer: Timer::Mailbox | Timer::Release, .. } => {}
            }
        }
        Ok(rejected)
    }

    /// Keeps the facts of a decision.
    fn keep(&mut self, facts: &[Arc<RecordedFact>]) -> Result<(), Broken> {
        for recorded in facts {
            self.say(line(recorded));
            self.log.push(decode(&encode(recorded)?)?);
            if self.flaw == Some(Flaw::DropsTheBacklog) && self.sending.is_some() {
                self.dropped.insert(recorded.seq);
            }
        }
        Ok(())
    }

    /// Sends an append. Answers whether there was anything to send.
    fn send(&mut self, facts: &[Arc<RecordedFact>]) -> Result<bool, Broken> {
        let sent = facts.iter().filter(|fact| !self.dropped.contains(&fact.seq));
        let texts: Vec<_> = sent.map(|fact| encode(fact)).collect::<Result<_, _>>()?;
        let any = !texts.is_empty();
        let sending = Sending { number: self.stored.0, after: self.stored, texts };
        if self.flaw == Some(Flaw::AcknowledgesEarly) {
            self.done.push(Done::Publishes {
                first: sending.after.next(),
                texts: sending.texts.clone(),
            });
        }
        if any {
            self.done.push(Done::Sends(sending.clone()));
            self.sending = Some(sending);
        }
        Ok(any)
    }

    fn publish(&mut self) {
        let sending = self.sending.take();
        let Some(sending) = sending.filter(|_| self.flaw != Some(Flaw::AcknowledgesEarly)) else {
            return;
        };
        self.done.push(Done::Publishes { first: sending.after.next(), texts: sending.texts });
    }

    fn accept(&mut self, token: CommandToken, first: Seq) {
        self.accepted.insert(token, first);
        if self.flaw == Some(Flaw::AcknowledgesEarly) {
            self.acknowledge(token);
        }
    }

    fn acknowledge(&mut self, token: CommandToken) {
        let input = usize::try_from(token.0).ok().filter(|_| token != NOBODY);
        if let (Some(input), Some(first)) = (input, self.accepted.get(&token).copied()) {
            self.done.push(Done::Acknowledges(Ack { input, first }));
        }
    }

    fn exit(&mut self, exit: ExitReason) -> Result<(), Breach> {
        self.over = true;
        self.ended = Some(match exit {
            ExitReason::Closed => Ended::Closed,
            ExitReason::HandedOff { complete, .. } => Ended::HandedOff { complete },
            ExitReason::Superseded => Ended::Superseded,
            ExitReason::StoreFailed => Ended::Store,
            ExitReason::Defect(contradiction) => return Err(defect(&contradiction).into()),
        });
        Ok(())
    }

    /// The fact at a position.
    pub(super) fn fact(&self, at: Seq) -> Option<&Fact> {
        let place = usize::try_from(at.0.checked_sub(1)?).ok()?;
        self.log.get(place).map(|recorded| &recorded.fact)
    }

    pub(super) fn say(&mut self, line: String) {
        self.done.push(Done::Line(line));
    }
}

/// Returns true if an error says that another driver has claimed the session.
pub(super) fn is_superseded(error: &StoreError) -> bool {
    match &error.kind {
        StoreErrorKind::Conflict { .. } | StoreErrorKind::NotClaimed => true,
        StoreErrorKind::Unknown
        | StoreErrorKind::Locked
        | StoreErrorKind::Invalid
        | StoreErrorKind::TooLarge
        | StoreErrorKind::Corrupt { .. }
        | StoreErrorKind::Newer
        | StoreErrorKind::WrongKey
        | StoreErrorKind::Full
        | StoreErrorKind::ReadOnly
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io
        | StoreErrorKind::Ended => false,
    }
}

/// The text form of a fact.
pub(super) fn encode(recorded: &RecordedFact) -> Result<Vec<u8>, Broken> {
    codec::encode(recorded).map_err(|error| broken(12, error.to_string()))
}

/// A fact from its text form.
pub(super) fn decode(text: &[u8]) -> Result<RecordedFact, Broken> {
    codec::decode(text).map_err(|error| broken(12, error.to_string()))
}
