//! The simulated driver: one of a process, for one session. It does what the engine's driver does:
//! it decides, applies what it decided, appends one batch at a time, and starts, acknowledges and
//! publishes only as far as the log is durable. What it does not know is what the store really did.

use std::collections::{BTreeMap, VecDeque};

use windlass_core::{
    CallStarted, Demand, EffectKey, Epoch, Fact, History, Input, Limits, Recorded, Reject, Seq,
    Session, Stamped, Timestamp,
};
use windlass_ports::{StoreError, StoreErrorKind, codec};

use super::breach::Breach;
use super::flaw::Flaw;
use crate::laws::law_13_decisions_fit::{self, Applied};
use crate::laws::law_14_rejects_change_nothing::{self, Standing};
use crate::laws::{Begun, Broken, Evidence, Loss, broken};
use crate::world::{Machine, line};

/// Drives one session.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) process: usize,
    pub(super) life: u32,
    pub(super) epoch: Epoch,
    pub(super) machine: Machine,
    pub(super) flaw: Option<Flaw>,
    ceiling: Limits,
    /// What it knows and has decided, as it comes back from its text form.
    pub(super) log: Vec<Recorded>,
    pub(super) session: Session,
    pub(super) history: History,
    pub(super) durable: Seq,
    unsent: Vec<Vec<u8>>,
    writing: Option<Sending>,
    acks: VecDeque<Ack>,
    pub(super) running: BTreeMap<EffectKey, Demand>,
    /// What was begun before its time, and by it.
    pub(super) begun: Vec<Begun>,
    losses: Vec<Loss>,
    /// Runs that have ended.
    pub(super) past: Vec<EffectKey>,
    /// It takes nothing more, and ends once it is at rest.
    pub(super) closing: bool,
    /// It has told the core that it lets the session go.
    pub(super) left: bool,
    /// Inputs that came while its append was under way.
    pub(super) overtaken: u32,
    /// What it has done since it was last looked at.
    pub(super) done: Vec<Done>,
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
    due: Seq,
}

/// Why a driver ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ended {
    /// Another one has claimed the session.
    Superseded,
    /// The store failed.
    Store,
    /// It let the session go.
    Closed,
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
    pub(super) machine: Machine,
    pub(super) flaw: Option<Flaw>,
    pub(super) ceiling: Limits,
    pub(super) log: Vec<Recorded>,
    pub(super) session: Session,
    pub(super) history: History,
    /// How much of the log the store has.
    pub(super) durable: Seq,
    pub(super) begun: Vec<Begun>,
    pub(super) losses: Vec<Loss>,
    pub(super) past: Vec<EffectKey>,
}

impl Driver {
    pub(super) fn new(taken: Taken) -> Result<Self, Breach> {
        let known = usize::try_from(taken.durable.0).unwrap_or(usize::MAX);
        let unsent = taken.log.get(known..).unwrap_or_default();
        let unsent = unsent.iter().map(encode).collect::<Result<_, _>>()?;
        Ok(Self {
            process: taken.process,
            life: taken.life,
            epoch: taken.epoch,
            machine: taken.machine,
            flaw: taken.flaw,
            ceiling: taken.ceiling,
            log: taken.log,
            session: taken.session,
            history: taken.history,
            durable: taken.durable,
            unsent,
            writing: None,
            acks: VecDeque::new(),
            running: BTreeMap::new(),
            begun: taken.begun,
            losses: taken.losses,
            past: taken.past,
            closing: false,
            left: false,
            overtaken: 0,
            done: Vec::new(),
        })
    }

    /// What the laws are held against now.
    pub(super) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            machine: &self.machine,
            ceiling: &self.ceiling,
            log: &self.log,
            durable: self.durable,
            session: &self.session,
            history: &self.history,
            running: &self.running,
            begun: &self.begun,
            losses: &self.losses,
        }
    }

    /// When it wants a tick.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        (self.machine.deadline)(&self.session)
    }

    /// Whether an append is under way.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether no turn is open, and nothing is being written or waits for it.
    pub(super) fn at_rest(&self) -> bool {
        self.session.turn().is_none()
            && self.session.gates.open.is_none()
            && self.writing.is_none()
            && self.unsent.is_empty()
            && self.acks.is_empty()
    }

    /// Takes an input, and does what follows from it. Answers the reject, if it was one.
    pub(super) fn take(
        &mut self,
        input: Input,
        moment: Moment,
        user: Option<usize>,
    ) -> Result<Option<Reject>, Breach> {
        let before = self.standing();
        let owed = (self.machine.owed)(&self.session);
        let first = self.session.next;
        let said = input.clone();
        let rejected = self.decide(input, moment)?;
        match (&rejected, user) {
            (None, Some(input)) => {
                let due = Seq(self.session.next.0.saturating_sub(1));
                self.acks.push_back(Ack { input, first, due });
            }
            // Said before: it is acknowledged again, once it is durable.
            (Some(Reject::Duplicate(seq)), Some(input)) => self.acks.push_back(Ack {
                input,
                first: *seq,
                due: *seq,
            }),
            (Some(_), Some(_)) | (_, None) => {}
        }
        match &rejected {
            None => self.reconcile(moment)?,
            Some(reject) => self.say(format!("rejected: {reject}")),
        }
        let after = self.standing();
        law_14_rejects_change_nothing::check(&before, &owed, &said, rejected.is_some(), &after)?;
        if self.writing.is_some() {
            self.overtaken += 1;
        }
        self.acknowledge();
        self.write();
        Ok(rejected)
    }

    /// The store answers an append. An answer to another append than the one that is under way came
    /// twice, and changes nothing.
    pub(super) fn wrote(
        &mut self,
        number: u64,
        answer: &Result<(), StoreError>,
        moment: Moment,
    ) -> Result<Option<Ended>, Breach> {
        if self.writing.as_ref().map(|writing| writing.number) != Some(number) {
            return Ok(None);
        }
        let Some(writing) = self.writing.take() else {
            return Ok(None);
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
                return Ok(Some(match superseded {
                    true => Ended::Superseded,
                    false => Ended::Store,
                }));
            }
        }
        self.durable = writing.last();
        self.overtaken = 0;
        self.say(format!("durable up to {}", self.durable));
        if self.flaw != Some(Flaw::AcknowledgesEarly) {
            self.done.push(Done::Publishes {
                first: writing.after.next(),
                texts: writing.texts,
            });
        }
        self.acknowledge();
        self.reconcile(moment)?;
        self.write();
        Ok(None)
    }

    fn standing(&self) -> Standing {
        Standing {
            last: Seq(self.session.next.0.saturating_sub(1)),
            session: self.session.clone(),
            running: self.running.clone(),
            begun: self.begun.len(),
        }
    }

    /// Decides on one input and keeps what follows. Answers the reject, if it was one.
    pub(super) fn decide(
        &mut self,
        input: Input,
        moment: Moment,
    ) -> Result<Option<Reject>, Breach> {
        let stamped = Stamped {
            at: moment.at,
            entropy: moment.entropy,
            input,
        };
        let drafts = match (self.machine.decide)(&self.session, &self.ceiling, stamped) {
            Ok(drafts) => drafts,
            Err(Reject::Defect(misfit)) => {
                let what = format!("a decision does not fit its own state: {misfit}");
                return Err(broken(13, what).into());
            }
            Err(reject) => return Ok(Some(reject)),
        };
        let (session, history) = (self.session.clone(), self.history.clone());
        let Applied {
            facts,
            session,
            history,
        } = law_13_decisions_fit::apply(&self.machine, session, history, drafts)?;
        (self.session, self.history) = (session, history);
        for recorded in facts {
            self.say(line(&recorded));
            let text = encode(&recorded)?;
            self.log.push(decode(&text)?);
            let dropped = self.flaw == Some(Flaw::DropsTheBacklog) && self.writing.is_some();
            if !dropped {
                self.unsent.push(text);
            }
        }
        Ok(None)
    }

    /// Sends the next append, if there is something to append and none is under way.
    pub(super) fn write(&mut self) {
        if self.writing.is_some() || self.unsent.is_empty() {
            return;
        }
        let sending = Sending {
            number: self.durable.0,
            after: self.durable,
            texts: std::mem::take(&mut self.unsent),
        };
        if self.flaw == Some(Flaw::AcknowledgesEarly) {
            self.done.push(Done::Publishes {
                first: sending.after.next(),
                texts: sending.texts.clone(),
            });
        }
        self.done.push(Done::Sends(sending.clone()));
        self.writing = Some(sending);
        self.acknowledge();
    }

    fn acknowledge(&mut self) {
        let early = self.flaw == Some(Flaw::AcknowledgesEarly);
        while let Some(ack) = self.acks.front()
            && (ack.due <= self.durable || early)
        {
            self.done.push(Done::Acknowledges(*ack));
            self.acks.pop_front();
        }
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

/// Whether an error says that another driver has claimed the session.
pub(super) fn is_superseded(error: &StoreError) -> bool {
    match &error.kind {
        StoreErrorKind::Conflict { .. } | StoreErrorKind::NotClaimed => true,
        StoreErrorKind::Unknown
        | StoreErrorKind::Locked
        | StoreErrorKind::Invalid
        | StoreErrorKind::TooLarge
        | StoreErrorKind::Corrupt { .. }
        | StoreErrorKind::Newer
        | StoreErrorKind::Full
        | StoreErrorKind::ReadOnly
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io => false,
    }
}

/// The text form of a fact.
pub(super) fn encode(recorded: &Recorded) -> Result<Vec<u8>, Broken> {
    codec::encode(recorded).map_err(|error| broken(12, error.to_string()))
}

/// A fact from its text form.
pub(super) fn decode(text: &[u8]) -> Result<Recorded, Broken> {
    codec::decode(text).map_err(|error| broken(12, error.to_string()))
}
