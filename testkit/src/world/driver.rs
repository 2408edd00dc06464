//! The driver of a simulated world: the machine that ships, with a shell that lets the log lag behind
//! and the process die anywhere.

use std::sync::Arc;

use windlass_core::machine::{
    Action, CancelMode, CommandToken, ExitReason, Machine, MachineEvent, MachineSetup, Note,
    Transitions,
};
use windlass_core::{
    CallId, CallProgress, CallState, Ceiling, Checkpoint, DesiredEffect, EffectClass, EffectKey,
    History, Incoming, Input, Limits, Lineage, OpenSession, RecordedFact, Reject, Scope, Seq,
    Session, SessionId, Timestamp,
};
use windlass_ports::codec;

use super::declared::match_rules;
use super::events::{defect, event};
use super::script::{Durability, Kin, Opening};
use super::taken::{Place, Taken, Then, Told, refusal};
use super::transcript;
use crate::laws::law_14_rejects_change_nothing::{self, Standing};
use crate::laws::{Begun, Broken, Held, Loss, Tally, broken, law_01_live_equals_fold};

/// A session and the process that drives it: a shell round the machine, whose store is durable when a
/// script says so, and whose effects say what it has them say.
#[derive(Debug, Clone)]
pub struct World {
    pub(super) transitions: Transitions,
    pub(super) ceiling: Limits,
    /// Calls that its process permits at most, each from after a position on; the last one is the
    /// current one.
    pub(super) ceilings: Vec<(Seq, Ceiling)>,
    pub(super) durability: Durability,
    /// What the clock shows.
    pub(super) now: Timestamp,
    seed: u64,
    /// Decisions of the processes before this one.
    inputs: u64,
    life: u32,
    /// The log as it comes back from its text form.
    pub(super) log: Vec<RecordedFact>,
    pub(super) machine: Machine,
    /// Where the session stood after the latest decision.
    place: Place,
    /// Runs that have ended, also with their process, for answers that come late.
    pub(super) past: Vec<EffectKey>,
    pub(super) begun: Vec<Begun>,
    pub(super) losses: Vec<Loss>,
    /// What has happened, for people to read.
    pub(super) transcript: Vec<String>,
    /// True if anybody reads it, and the log.
    told: bool,
    pub(super) rejects: Vec<Reject>,
    taken: Vec<Taken>,
    /// The key that the next input is said under.
    pub(super) said_under: Option<String>,
    pub(super) applied: Tally,
}

/// When simulated worlds begin.
const EPOCH: Timestamp = Timestamp(1_000_000);

impl World {
    /// A world with a new session.
    ///
    /// # Errors
    /// [`Broken`] when the session's first fact does not fit.
    pub fn open(transitions: Transitions, opening: &Opening) -> Result<Self, Broken> {
        let draft = windlass_core::decide_open(Incoming {
            at: EPOCH,
            entropy: 0,
            input: OpenSession {
                owner: Scope::local("somebody"),
                workspace: opening.workspace.clone(),
                settings: opening.posture.settings(),
                lineage: match opening.kin {
                    Kin::Root => Lineage::Root,
                    Kin::Child => Lineage::Child { of: session_id("parent")?, call: CallId(7) },
                },
            },
        });
        let id = session_id("simulated")?;
        let first = draft.number(&id, Seq::ZERO.next());
        let session = windlass_core::evolve_first(&first)
            .map_err(|misfit| broken(13, format!("the opening does not fit: {misfit}")))?;
        let mut world =
            Self::around(transitions, opening.ceiling, session, History::default(), EPOCH);
        world.durability = opening.durability;
        world.seed = opening.seed;
        world.keep(&[Arc::new(first)])?;
        Ok(world)
    }

    /// A world in which a new process takes over what a log folded to. The log itself is not
    /// part of it, only what comes after.
    ///
    /// # Errors
    /// [`Broken`] when the recovery does not fit.
    pub fn resume(
        transitions: Transitions,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
    ) -> Result<Self, Broken> {
        Self::taken_over(transitions, ceiling, session, history, now, true)
    }

    /// As [`World::resume`], without a transcript, and with a log that does not go by way of its
    /// text form: for those who only ask how it ends.
    pub(crate) fn resume_untold(
        transitions: Transitions,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
    ) -> Result<Self, Broken> {
        Self::taken_over(transitions, ceiling, session, history, now, false)
    }

    /// A world in which a new process takes over a log that is there, and which goes on from it.
    ///
    /// # Errors
    /// [`Broken`] when the log does not fold, or the recovery does not fit.
    pub fn follow(
        transitions: Transitions,
        ceiling: Limits,
        log: Vec<RecordedFact>,
    ) -> Result<Self, Broken> {
        let (session, history) = law_01_live_equals_fold::fold(&log)?;
        let now = log.iter().map(|fact| fact.ts).fold(EPOCH, Timestamp::max);
        let mut world = Self::around(transitions, ceiling, session, history, now);
        world.log = log;
        world.take(Input::Recover)?;
        Ok(world)
    }

    /// As [`World::follow`], in a process with this ceiling.
    ///
    /// # Errors
    /// As [`World::follow`].
    pub fn follow_under(
        transitions: Transitions,
        limits: Limits,
        ceiling: Ceiling,
        log: Vec<RecordedFact>,
    ) -> Result<Self, Broken> {
        let (session, history) = law_01_live_equals_fold::fold(&log)?;
        let now = log.iter().map(|fact| fact.ts).fold(EPOCH, Timestamp::max);
        let permitted = Some(ceiling.clone());
        let durable = session.next.0.saturating_sub(1);
        let mut world = Self::around(transitions, limits, session.clone(), history.clone(), now);
        world.machine = machine(transitions, limits, permitted, session, history);
        world.ceilings.push((Seq(durable), ceiling));
        world.log = log;
        world.take(Input::Recover)?;
        Ok(world)
    }

    fn taken_over(
        transitions: Transitions,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
        told: bool,
    ) -> Result<Self, Broken> {
        let mut world = Self::around(transitions, ceiling, session, history, now);
        world.told = told;
        world.take(Input::Recover)?;
        Ok(world)
    }

    fn around(
        transitions: Transitions,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
    ) -> Self {
        Self {
            place: Place::of(&session),
            machine: machine(transitions, ceiling, None, session, history),
            transitions,
            ceiling,
            ceilings: Vec::new(),
            durability: Durability::Prompt,
            now,
            seed: 0,
            inputs: 0,
            life: 0,
            log: Vec::new(),
            past: Vec::new(),
            begun: Vec::new(),
            losses: Vec::new(),
            transcript: Vec::new(),
            told: true,
            rejects: Vec::new(),
            taken: Vec::new(),
            said_under: None,
            applied: Tally::default(),
        }
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> &[RecordedFact] {
        &self.log
    }

    /// The live state.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.machine.session()
    }

    /// The live history.
    #[must_use]
    pub fn history(&self) -> &History {
        self.machine.history()
    }

    /// What has happened so far, for people to read.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.transcript
    }

    /// The inputs that were refused so far.
    #[must_use]
    pub fn rejects(&self) -> &[Reject] {
        &self.rejects
    }

    /// What was decided so far, in few words.
    #[must_use]
    pub fn taken(&self) -> &[Taken] {
        &self.taken
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Where the entropy of its next input comes from; nothing where it is always 0.
    #[must_use]
    pub fn entropy(&self) -> Option<(u64, u64)> {
        let inputs = self.inputs + self.machine.decisions();
        (self.seed != 0).then_some((self.seed, inputs))
    }

    /// Runs that have ended, also with their process, oldest first.
    #[must_use]
    pub fn past(&self) -> &[EffectKey] {
        &self.past
    }

    /// Desired effects now.
    #[must_use]
    pub fn owed(&self) -> Vec<DesiredEffect> {
        (self.transitions.desired_effects)(self.machine.session())
    }

    /// The last position of the log.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.machine.last()
    }

    /// Takes an input, records what it leads to, and reconciles.
    ///
    /// # Errors
    /// [`Broken`] when law 13 or 14 does not hold.
    pub fn take(&mut self, input: Input) -> Held {
        let input = match self.said_under.take() {
            Some(key) => Input::Keyed { key, input: Box::new(input) },
            None => input,
        };
        let (before, owed) = (self.standing(), self.owed());
        let token = CommandToken(0);
        let rejected = self.hand_over(Told::of(&input), event(input.clone(), token))?;
        if let Some(reject) = &rejected {
            self.tell(|| format!("     rejected: {reject}"));
        }
        let after = self.standing();
        law_14_rejects_change_nothing::check(&before, &owed, &input, rejected.is_some(), &after)?;
        law_14_rejects_change_nothing::once(before.last, &input, rejected.is_some(), &self.log)?;
        self.rejects.extend(rejected);
        Ok(())
    }

    /// Gives the process a ceiling.
    ///
    /// # Errors
    /// As [`World::take`].
    pub fn narrow(&mut self, ceiling: Ceiling) -> Held {
        self.ceilings.push((self.last(), ceiling.clone()));
        let ceiling = Arc::new(ceiling);
        self.hand_over(Told::Narrowed, MachineEvent::Ceiling { ceiling, matched: Vec::new() })?;
        Ok(())
    }

    /// Makes all facts durable, and starts what has waited for that.
    ///
    /// # Errors
    /// As [`World::take`].
    pub fn sync(&mut self) -> Held {
        while self.machine.is_appending() {
            self.hand_over(Told::Tick, MachineEvent::Appended)?;
        }
        Ok(())
    }

    /// Kills the process. Up to `lose` facts that are not durable are lost; `away_ms` later a new
    /// process folds the rest and recovers.
    ///
    /// # Errors
    /// [`Broken`] when what is left does not fold, or the recovery does not fit.
    pub fn crash(&mut self, lose: usize, away_ms: u64) -> Held {
        self.now = self.now.plus_ms(away_ms);
        let lag = self.last().0.saturating_sub(self.machine.durable().0);
        let lag = usize::try_from(lag).unwrap_or(0);
        self.log.truncate(self.log.len().saturating_sub(lose.min(lag)));
        self.past.extend(self.machine.running().keys());
        self.inputs += self.machine.decisions();
        let (session, history) = law_01_live_equals_fold::fold(&self.log)?;
        self.place = Place::of(&session);
        let permitted = self.ceilings.last().map(|(_, ceiling)| ceiling.clone());
        self.machine = machine(self.transitions, self.ceiling, permitted, session, history);
        let durable = self.machine.durable();
        for (since, _) in &mut self.ceilings {
            *since = durable.min(*since);
        }
        self.losses.push(Loss { life: self.life, kept: durable });
        self.life += 1;
        // A position that was lost comes back as something else.
        self.past.retain(|key| key.started() <= durable);
        self.tell(|| format!("     the log ends at {durable}"));
        self.take(Input::Recover)
    }

    fn standing(&self) -> Standing {
        Standing {
            last: self.last(),
            session: self.machine.session().clone(),
            running: self.machine.running().clone(),
            begun: self.begun.len(),
        }
    }

    /// Hands an event to the machine, and does what it asks for. Answers with the reject, if the
    /// event was one.
    fn hand_over(
        &mut self,
        mut told: Told,
        mut event: MachineEvent,
    ) -> Result<Option<Reject>, Broken> {
        match_rules(&self.machine, &mut event);
        let inputs = self.inputs + self.machine.decisions() + 1;
        self.machine.handle(Incoming {
            at: self.now,
            entropy: self.seed.wrapping_mul(inputs.wrapping_mul(0x9e37_79b9)),
            input: event,
        });
        let mut rejected = None;
        while let Some(action) = self.machine.poll() {
            match action {
                Action::Note(Note::Decided(facts)) => self.decided(told, &facts)?,
                Action::Note(Note::Rejected(reject)) => {
                    let (place, then) = (self.place, Then::Refused(refusal(&reject)));
                    self.taken.push(Taken { place, told, then });
                    rejected = Some(reject);
                }
                Action::Note(Note::NeverStarted(key)) => {
                    self.note("never", &key);
                    told = Told::NeverBegan;
                }
                Action::Start { key, .. } => self.begin(key),
                Action::Cancel { key, mode: how } => match how {
                    CancelMode::Graceful => self.note("wind", &key),
                    CancelMode::Yield => self.note("yield", &key),
                    CancelMode::Drop => self.past.push(key),
                },
                Action::Continue { key } => self.note("go on with", &key),
                Action::Exit(ExitReason::Defect(contradiction)) => {
                    return Err(defect(&contradiction));
                }
                Action::Exit(exit) => {
                    return Err(broken(3, format!("nobody told it to end: {exit:?}")));
                }
                // The script says when an append is durable; nobody waits for the rest.
                Action::Append { .. }
                | Action::Publish(_)
                | Action::StopAgent { .. }
                | Action::Accept { .. }
                | Action::Acknowledge { .. }
                | Action::Refuse { .. }
                | Action::ReadMailbox { .. }
                | Action::AcknowledgeRemote(_)
                | Action::SetTimer { .. }
                | Action::Checkpoint => {}
            }
        }
        Ok(rejected)
    }

    /// Notes a decision, and its facts.
    fn decided(&mut self, told: Told, facts: &[Arc<RecordedFact>]) -> Held {
        let place = self.place;
        self.place = Place::of(self.machine.session());
        let kinds: Vec<&str> = facts.iter().map(|recorded| recorded.fact.kind()).collect();
        let then = match kinds.is_empty() {
            true => Then::Nothing,
            false => Then::Moved { to: self.place, facts: kinds },
        };
        self.taken.push(Taken { place, told, then });
        self.keep(facts)
    }

    /// Appends facts to the log, by way of their text form.
    fn keep(&mut self, facts: &[Arc<RecordedFact>]) -> Held {
        if !self.told {
            self.log.extend(facts.iter().map(|recorded| (**recorded).clone()));
            return Ok(());
        }
        for recorded in facts {
            self.tell(|| transcript::line(recorded));
            let text = codec::encode(recorded).map_err(|error| broken(12, error.to_string()))?;
            let back = codec::decode(&text).map_err(|error| broken(12, error.to_string()))?;
            self.log.push(back);
        }
        Ok(())
    }

    fn begin(&mut self, key: EffectKey) {
        self.note("run", &key);
        self.begun.push(Begun {
            life: self.life,
            key,
            class: self.class(key),
            durable: self.machine.durable(),
        });
    }

    /// What an effect does to the world. Only the run of a tool changes anything.
    fn class(&self, key: EffectKey) -> EffectClass {
        let EffectKey::Call { call, .. } = key else {
            return EffectClass::ReadOnly;
        };
        let turn = self.machine.session().turn();
        let state = turn.and_then(|turn| turn.calls().iter().find(|state| state.id == call));
        if let Some(CallProgress::Running { plan: true, .. }) = state.map(|state| &state.progress) {
            return EffectClass::ReadOnly;
        }
        if state.is_some_and(CallState::is_program) {
            return EffectClass::ReadOnly;
        }
        let item = self.machine.history().call(call);
        let tool = turn.zip(item).and_then(|(turn, item)| turn.settings.tool(&item.name));
        tool.map_or(EffectClass::Effectful, |tool| tool.effect)
    }

    fn note(&mut self, verb: &str, key: &EffectKey) {
        self.tell(|| format!("     {verb} {}", transcript::effect(key)));
    }

    /// Tells what happened, where anybody listens.
    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.told {
            self.transcript.push(line());
        }
    }
}

fn machine(
    transitions: Transitions,
    limits: Limits,
    ceiling: Option<Ceiling>,
    session: Session,
    history: History,
) -> Machine {
    Machine::new(MachineSetup {
        loaded: Checkpoint { session, history },
        unsent: Vec::new(),
        limits,
        ceiling: ceiling.map(Arc::new),
        transitions,
        checkpoint_every: 0,
        checkpoint: Seq::ZERO,
        has_mailbox: false,
        release_ms: 0,
    })
}

fn session_id(text: &str) -> Result<SessionId, Broken> {
    SessionId::new(text).map_err(|error| broken(13, error.to_string()))
}
