//! The driver of a simulated world: decides, records, evolves, and reconciles what runs with what
//! is owed, as a real one does, but lets the log lag behind and the process die anywhere.

use std::collections::BTreeMap;

use windlass_core::{
    CallId, CallState, Demand, EffectClass, EffectKey, History, Input, Limits, Lineage,
    OpenSession, Owed, Progress, Recorded, Reject, Scope, Seq, Session, SessionId, Stamped,
    Timestamp,
};
use windlass_ports::codec;

use super::machine::Machine;
use super::script::{Durability, Kin, Opening};
use super::taken::{Place, Taken, Then, Told, refusal};
use super::transcript;
use crate::laws::law_13_decisions_fit::{self, Applied};
use crate::laws::law_14_rejects_change_nothing::{self, Standing};
use crate::laws::{Begun, Broken, Held, Loss, broken, law_01_live_equals_fold};

/// A session and the process that drives it.
#[derive(Debug, Clone)]
pub struct World {
    pub(super) machine: Machine,
    pub(super) ceiling: Limits,
    pub(super) durability: Durability,
    /// What the clock shows.
    pub(super) now: Timestamp,
    seed: u64,
    inputs: u64,
    life: u32,
    /// The log as it comes back from its text form.
    pub(super) log: Vec<Recorded>,
    pub(super) durable: Seq,
    pub(super) session: Session,
    pub(super) history: History,
    pub(super) running: BTreeMap<EffectKey, Demand>,
    /// Runs that have ended, also with their process, for answers that come late.
    pub(super) past: Vec<EffectKey>,
    pub(super) begun: Vec<Begun>,
    pub(super) losses: Vec<Loss>,
    /// What has happened, for people to read.
    pub(super) transcript: Vec<String>,
    /// Whether anybody reads it, and the log.
    told: bool,
    /// Kinds of inputs that were refused.
    pub(super) rejects: Vec<Reject>,
    taken: Vec<Taken>,
    /// The key that the next input is said under.
    pub(super) said_under: Option<String>,
}

/// When simulated worlds begin.
const EPOCH: Timestamp = Timestamp(1_000_000);

/// More rounds of reconciling than any session needs after one input.
const ROUNDS: usize = 1_000;

impl World {
    /// A world with a new session.
    ///
    /// # Errors
    /// [`Broken`] when the session's first fact does not fit.
    pub fn open(machine: Machine, opening: &Opening) -> Result<Self, Broken> {
        let draft = windlass_core::open(Stamped {
            at: EPOCH,
            entropy: 0,
            input: OpenSession {
                owner: Scope::local("somebody"),
                workspace: opening.workspace.clone(),
                settings: opening.posture.settings(),
                lineage: match opening.kin {
                    Kin::Root => Lineage::Root,
                    Kin::Child => Lineage::Child {
                        of: session_id("parent")?,
                        call: CallId(7),
                    },
                },
            },
        });
        let id = session_id("simulated")?;
        let first = draft.number(&id, Seq::ZERO.next());
        let session = windlass_core::opened(&first)
            .map_err(|misfit| broken(13, format!("the opening does not fit: {misfit}")))?;
        let mut world = Self::around(machine, opening.ceiling, session, History::default(), EPOCH);
        world.durability = opening.durability;
        world.seed = opening.seed;
        world.keep(vec![first])?;
        Ok(world)
    }

    /// A world in which a new process takes over what a log folded to. The log itself is not
    /// part of it, only what comes after.
    ///
    /// # Errors
    /// [`Broken`] when the recovery does not fit.
    pub fn resume(
        machine: Machine,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
    ) -> Result<Self, Broken> {
        Self::taken_over(machine, ceiling, session, history, now, true)
    }

    /// As [`World::resume`], without a transcript, and with a log that does not go by way of its
    /// text form: for those who only ask how it ends.
    pub(crate) fn resume_untold(
        machine: Machine,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
    ) -> Result<Self, Broken> {
        Self::taken_over(machine, ceiling, session, history, now, false)
    }

    /// A world in which a new process takes over a log that is there, and which goes on from it.
    ///
    /// # Errors
    /// [`Broken`] when the log does not fold, or the recovery does not fit.
    pub fn follow(machine: Machine, ceiling: Limits, log: Vec<Recorded>) -> Result<Self, Broken> {
        let (session, history) = law_01_live_equals_fold::fold(&log)?;
        let now = log.iter().map(|fact| fact.ts).fold(EPOCH, Timestamp::max);
        let mut world = Self::around(machine, ceiling, session, history, now);
        world.log = log;
        world.take(Input::Recovered)?;
        Ok(world)
    }

    fn taken_over(
        machine: Machine,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
        told: bool,
    ) -> Result<Self, Broken> {
        let mut world = Self::around(machine, ceiling, session, history, now);
        world.told = told;
        world.take(Input::Recovered)?;
        Ok(world)
    }

    fn around(
        machine: Machine,
        ceiling: Limits,
        session: Session,
        history: History,
        now: Timestamp,
    ) -> Self {
        Self {
            machine,
            ceiling,
            durability: Durability::Prompt,
            now,
            seed: 0,
            inputs: 0,
            life: 0,
            log: Vec::new(),
            durable: Seq(session.next.0.saturating_sub(1)),
            session,
            history,
            running: BTreeMap::new(),
            past: Vec::new(),
            begun: Vec::new(),
            losses: Vec::new(),
            transcript: Vec::new(),
            told: true,
            rejects: Vec::new(),
            taken: Vec::new(),
            said_under: None,
        }
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> &[Recorded] {
        &self.log
    }

    /// The live state.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The live history.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
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
        (self.seed != 0).then_some((self.seed, self.inputs))
    }

    /// Runs that have ended, also with their process, oldest first.
    #[must_use]
    pub fn past(&self) -> &[EffectKey] {
        &self.past
    }

    /// What is owed now.
    #[must_use]
    pub fn owed(&self) -> Vec<Owed> {
        (self.machine.owed)(&self.session)
    }

    /// The last position of the log.
    #[must_use]
    pub fn last(&self) -> Seq {
        Seq(self.session.next.0.saturating_sub(1))
    }

    /// Takes an input, records what it leads to, and reconciles.
    ///
    /// # Errors
    /// [`Broken`] when law 13 or 14 does not hold.
    pub fn take(&mut self, input: Input) -> Held {
        let input = match self.said_under.take() {
            Some(key) => Input::Keyed {
                key,
                input: Box::new(input),
            },
            None => input,
        };
        let before = self.standing();
        let owed = self.owed();
        let rejected = self.decide(input.clone())?;
        if rejected.is_none() {
            self.reconcile()?;
        }
        if let Some(reject) = &rejected {
            self.tell(|| format!("     rejected: {reject}"));
        }
        let after = self.standing();
        law_14_rejects_change_nothing::check(&before, &owed, &input, rejected.is_some(), &after)?;
        law_14_rejects_change_nothing::once(before.last, &input, rejected.is_some(), &self.log)?;
        self.rejects.extend(rejected);
        Ok(())
    }

    /// Makes all facts durable, and starts what has waited for that.
    ///
    /// # Errors
    /// As [`World::take`].
    pub fn sync(&mut self) -> Held {
        self.durable = self.last();
        self.reconcile()
    }

    /// Kills the process. Up to `lose` facts that are not durable are lost; `away_ms` later a new
    /// process folds the rest and recovers.
    ///
    /// # Errors
    /// [`Broken`] when what is left does not fold, or the recovery does not fit.
    pub fn crash(&mut self, lose: usize, away_ms: u64) -> Held {
        self.now = self.now.plus_ms(away_ms);
        let lag = usize::try_from(self.last().0.saturating_sub(self.durable.0)).unwrap_or(0);
        self.log
            .truncate(self.log.len().saturating_sub(lose.min(lag)));
        (self.session, self.history) = law_01_live_equals_fold::fold(&self.log)?;
        self.durable = self.last();
        self.losses.push(Loss {
            life: self.life,
            kept: self.durable,
        });
        self.life += 1;
        self.past.extend(self.running.keys());
        self.running.clear();
        // A position that was lost comes back as something else.
        self.past.retain(|key| key.started() <= self.durable);
        let durable = self.durable;
        self.tell(|| format!("     the log ends at {durable}"));
        self.take(Input::Recovered)
    }

    fn standing(&self) -> Standing {
        Standing {
            last: self.last(),
            session: self.session.clone(),
            running: self.running.clone(),
            begun: self.begun.len(),
        }
    }

    /// Decides on one input and records what follows. Answers with the reject, if it was one.
    fn decide(&mut self, input: Input) -> Result<Option<Reject>, Broken> {
        self.inputs += 1;
        let (place, told) = (Place::of(&self.session), Told::of(&input));
        let stamped = Stamped {
            at: self.now,
            entropy: self
                .seed
                .wrapping_mul(self.inputs.wrapping_mul(0x9e37_79b9)),
            input,
        };
        let drafts = match (self.machine.decide)(&self.session, &self.ceiling, stamped) {
            Ok(drafts) => drafts,
            Err(Reject::Defect(misfit)) => {
                let what = format!("a decision does not fit its own state: {misfit}");
                return Err(broken(13, what));
            }
            Err(reject) => {
                let then = Then::Refused(refusal(&reject));
                self.taken.push(Taken { place, told, then });
                return Ok(Some(reject));
            }
        };
        let (session, history) = (self.session.clone(), self.history.clone());
        let Applied {
            facts,
            session,
            history,
        } = law_13_decisions_fit::apply(&self.machine, session, history, drafts)?;
        (self.session, self.history) = (session, history);
        let kinds: Vec<&str> = facts.iter().map(|recorded| recorded.fact.kind()).collect();
        let then = match kinds.is_empty() {
            true => Then::Nothing,
            false => Then::Moved {
                to: Place::of(&self.session),
                facts: kinds,
            },
        };
        self.taken.push(Taken { place, told, then });
        self.keep(facts)?;
        Ok(None)
    }

    /// Appends facts to the log, by way of their text form.
    fn keep(&mut self, facts: Vec<Recorded>) -> Held {
        if !self.told {
            self.log.extend(facts);
            return Ok(());
        }
        for recorded in facts {
            self.tell(|| transcript::line(&recorded));
            let text = codec::encode(&recorded).map_err(|error| broken(12, error.to_string()))?;
            let back = codec::decode(&text).map_err(|error| broken(12, error.to_string()))?;
            self.log.push(back);
        }
        Ok(())
    }

    /// Starts what is owed and does not run, winds down what is to stop, ends what is not owed,
    /// and says of what will never begin that it never will.
    fn reconcile(&mut self) -> Held {
        for _ in 0..ROUNDS {
            let owed = self.owed();
            let mut never = None;
            self.end_unowed(&owed);
            for one in owed {
                match (one.demand, self.running.get(&one.key)) {
                    (demand @ (Demand::Run | Demand::Yield), None) if one.needs <= self.durable => {
                        self.begin(one.key, demand);
                    }
                    (Demand::Wind, None) => never = never.or(Some(one.key)),
                    (Demand::Wind, Some(Demand::Run | Demand::Yield)) => {
                        self.turn("wind", one.key, Demand::Wind);
                    }
                    (Demand::Yield, Some(Demand::Run)) => {
                        self.turn("yield", one.key, Demand::Yield);
                    }
                    (Demand::Run, Some(Demand::Yield)) => {
                        self.turn("go on with", one.key, Demand::Run);
                    }
                    (Demand::Run | Demand::Yield, None)
                    | (Demand::Run, Some(Demand::Run | Demand::Wind))
                    | (Demand::Yield, Some(Demand::Yield | Demand::Wind))
                    | (Demand::Wind, Some(Demand::Wind)) => {}
                }
            }
            let Some(key) = never else { return Ok(()) };
            self.note("never", &key);
            if let Some(reject) = self.decide(Input::NeverBegan { key })? {
                let what = format!("{key:?} is owed, and that it never began is refused: {reject}");
                return Err(broken(3, what));
            }
        }
        Err(broken(3, "what is owed does not come to rest"))
    }

    fn begin(&mut self, key: EffectKey, demand: Demand) {
        self.turn("run", key, Demand::Run);
        if demand == Demand::Yield {
            self.turn("yield", key, Demand::Yield);
        }
        self.begun.push(Begun {
            life: self.life,
            key,
            class: self.class(key),
            durable: self.durable,
        });
    }

    /// Notes what is demanded of an effect from now on.
    fn turn(&mut self, verb: &str, key: EffectKey, demand: Demand) {
        self.note(verb, &key);
        self.running.insert(key, demand);
    }

    /// What an effect does to the world. Only the run of a tool changes anything.
    fn class(&self, key: EffectKey) -> EffectClass {
        let EffectKey::Call { call, .. } = key else {
            return EffectClass::ReadOnly;
        };
        let turn = self.session.turn();
        let state = turn.and_then(|turn| turn.calls().iter().find(|state| state.id == call));
        if let Some(Progress::Running { plan: true, .. }) = state.map(|state| &state.progress) {
            return EffectClass::ReadOnly;
        }
        if state.is_some_and(CallState::is_program) {
            return EffectClass::ReadOnly;
        }
        let item = self.history.call(call);
        let tool = turn
            .zip(item)
            .and_then(|(turn, item)| turn.settings.tool(&item.name));
        tool.map_or(EffectClass::Effectful, |tool| tool.effect)
    }

    fn end_unowed(&mut self, owed: &[Owed]) {
        let ended: Vec<EffectKey> = self
            .running
            .keys()
            .filter(|key| !owed.iter().any(|one| one.key == **key))
            .copied()
            .collect();
        for key in ended {
            self.running.remove(&key);
            self.past.push(key);
        }
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

fn session_id(text: &str) -> Result<SessionId, Broken> {
    SessionId::new(text).map_err(|error| broken(13, error.to_string()))
}
