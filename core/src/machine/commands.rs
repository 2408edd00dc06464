//! Commands and reports: each input is decided, its facts are applied and then wait for their
//! append.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Machine;
use super::action::{Action, CommandRefusal, EngineDefect, ExitReason, Note, RunCause};
use super::event::CommandToken;
use crate::call::ObservationStatus;
use crate::decide::Decision;
use crate::effect::EffectKey;
use crate::error::{InvalidFact, Reject};
use crate::fact::{CallObserved, CallRules, EffectStart, Fact};
use crate::id::Seq;
use crate::input::{Incoming, Input};
use crate::record::RecordedFact;

/// Positions of the facts that a command led to.
pub(super) struct FactRange {
    pub(super) first: Seq,
    pub(super) last: Seq,
}

impl Machine {
    /// Narrows the session to the ceiling of this process, if its settings permit more. Returns true
    /// if they did.
    pub(super) fn narrow(&mut self, recovers: bool, matched: Vec<CallRules>) -> bool {
        let ceiling = self.ceiling.as_ref();
        let narrowing =
            ceiling.and_then(|ceiling| ceiling.narrowing(&self.session, recovers, matched));
        narrowing.is_some_and(|to| self.apply_input(Input::Narrow { to }).is_ok())
    }

    pub(super) fn recover(&mut self) {
        match self.apply_input(Input::Recover) {
            Ok(()) | Err(Reject::Defect(_)) => {}
            Err(reject) => self.exit(ExitReason::Defect(EngineDefect::Recovery(reject))),
        }
    }

    pub(super) fn on_command(&mut self, token: CommandToken, input: Input) {
        let taken = match self.remote.lacks_key_room(&self.session, &input) {
            true => Err(CommandRefusal::KeysExhausted),
            false => self.command(input),
        };
        match taken {
            Ok(FactRange { first, last }) => {
                self.actions.push_back(Action::Accept { token, first });
                self.acknowledge_at(last, token);
            }
            Err(refusal) => self.actions.push_back(Action::Refuse { token, refusal }),
        }
    }

    /// Applies a command of this process or of another node.
    pub(super) fn command(&mut self, input: Input) -> Result<FactRange, CommandRefusal> {
        self.admit(&input)?;
        let first = self.session.next;
        match self.apply_input(input) {
            Ok(()) => Ok(FactRange { first, last: self.last() }),
            // A repeated command: it is acknowledged again once its facts are durable.
            Err(Reject::Duplicate(seq)) => Ok(FactRange { first: seq, last: seq }),
            Err(reject) => Err(CommandRefusal::Rejected(reject)),
        }
    }

    /// Refuses commands to a session that is being released.
    pub(super) fn admit(&self, input: &Input) -> Result<(), CommandRefusal> {
        if let Some(hand_off) = &self.hand_off {
            let reason = String::from(hand_off.reason());
            return Err(CommandRefusal::HandingOff { reason });
        }
        match self.release.closing && opens_turns(input) {
            true => Err(CommandRefusal::Closing),
            false => Ok(()),
        }
    }

    /// Applies the reports of an effect.
    pub(super) fn on_effect(&mut self, key: EffectKey, inputs: Vec<Input>, last: bool) {
        if self.is_finishing() {
            return;
        }
        if last {
            self.running.remove(&key);
        }
        for input in inputs {
            // A late report is rejected, which is noted.
            let _ = self.report(key, input);
        }
    }

    /// Applies one report of an effect.
    pub(super) fn report(&mut self, key: EffectKey, input: Input) -> Result<(), Reject> {
        match self.hand_off {
            Some(_) => self.report_at_hand_off(key, input),
            None => self.apply_input(input),
        }
    }

    /// Decides an input and applies its facts.
    pub(super) fn apply_input(&mut self, input: Input) -> Result<(), Reject> {
        let Decision { session, facts } = self.decide(input)?;
        self.record(facts).map_err(Reject::Defect)?;
        self.session = session;
        Ok(())
    }

    /// Decides an input, and notes a rejection. Applies nothing.
    pub(super) fn decide(&mut self, input: Input) -> Result<Decision, Reject> {
        if self.exited {
            return Err(Reject::Idle);
        }
        let stamped = Incoming { at: self.at, entropy: self.entropy, input };
        self.entropy = self.entropy.wrapping_add(1);
        self.decisions = self.decisions.saturating_add(1);
        let transitions = &self.transitions;
        let decided = transitions.decide_and_evolve(&self.session, &self.limits, stamped);
        decided.inspect_err(|reject| {
            if let Reject::Defect(misfit) = reject {
                self.exit(ExitReason::Defect(EngineDefect::InvalidFact(misfit.clone())));
            } else {
                let note = Note::Rejected(reject.clone());
                self.actions.push_back(Action::Note(note));
            }
        })
    }

    /// Applies the facts of a decision to the history, and queues them for the append. The session
    /// is still the one before the decision.
    pub(super) fn record(&mut self, facts: Vec<RecordedFact>) -> Result<(), InvalidFact> {
        let facts: Vec<Arc<RecordedFact>> = facts.into_iter().map(Arc::new).collect();
        for recorded in &facts {
            if let Err(misfit) = (self.transitions.remember)(&mut self.history, recorded) {
                self.exit(ExitReason::Defect(EngineDefect::InvalidFact(misfit.clone())));
                return Err(misfit);
            }
            self.note_cause(recorded);
            if let Fact::CallObserved(fact) = &recorded.fact {
                self.stop_agent(fact);
            }
            self.unsent.push(recorded.clone());
        }
        self.actions.push_back(Action::Note(Note::Decided(facts)));
        Ok(())
    }

    /// Remembers the cause of a run, if the run needs more than the state.
    fn note_cause(&mut self, recorded: &RecordedFact) {
        if let Fact::TurnSettled(_) = &recorded.fact {
            self.causes.clear();
        }
        match recorded.fact.start() {
            Some(EffectStart::Call(_) | EffectStart::Reconcile(_) | EffectStart::Compact(_)) => {
                let cause = RunCause::Fact(Box::new(recorded.fact.clone()));
                self.causes.insert(recorded.seq, cause);
            }
            // The state holds all data that these need.
            Some(EffectStart::Sample(_) | EffectStart::Hook(_) | EffectStart::Approval(_))
            | None => {}
        }
    }

    /// Stops an agent that may outlive its call: its process ended, or it did not stop within its
    /// grace period.
    fn stop_agent(&mut self, fact: &CallObserved) {
        if fact.usage.is_none() || fact.observation.status == ObservationStatus::Done {
            return;
        }
        let agent = self.session.turn().and_then(|turn| {
            let call = turn.calls().iter().find(|call| call.id == fact.call)?;
            turn.agent(call)
        });
        if agent.is_some_and(|agent| !agent.can_detach()) {
            let call = fact.call;
            self.actions.push_back(Action::StopAgent { call });
        }
    }
}

/// Returns true if a command asks for a turn, with or without a key.
fn opens_turns(input: &Input) -> bool {
    match input {
        Input::Keyed { input, .. } => opens_turns(input),
        Input::Compact { .. }
        | Input::Send { .. }
        | Input::RunCommand { .. }
        | Input::ChildEnded { .. }
        | Input::Continue => true,
        Input::Configure { .. }
        | Input::SetGoal { .. }
        | Input::EditInput { .. }
        | Input::MoveInput { .. }
        | Input::WithdrawInput { .. }
        | Input::Rename { .. }
        | Input::Rewind { .. }
        | Input::FilesRestored { .. }
        | Input::Interrupt { .. }
        | Input::Answer { .. }
        | Input::SubmitResult { .. }
        | Input::Close
        | Input::Recover
        | Input::Narrow { .. }
        | Input::Tick
        | Input::SampleEvent { .. }
        | Input::CallEnded { .. }
        | Input::CallSuspended { .. }
        | Input::AgentEnded { .. }
        | Input::AgentDetached { .. }
        | Input::ProgramEvent { .. }
        | Input::HookReplied { .. }
        | Input::ApproverAnswered { .. }
        | Input::CallReconciled { .. }
        | Input::CompactionEnded { .. }
        | Input::NeverStarted { .. } => false,
    }
}
