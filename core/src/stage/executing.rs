//! Executing: the answer is complete and its tool calls are pending. Ends when each has its
//! observation.
//!
//! Each call proceeds independently, from its decision to its observation, as in `call`. A steering
//! input waits until the last result is there. Then `leave_if_done` makes the turn ready, where the
//! input is admitted before the model is asked. A program's calls are pending together with the
//! program, which continues when each of them has its observation.
//!
//! A user's command executes here too, without an answer: it is the only call, and the turn ends with
//! it.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::about_steer;
use super::{
    AnswerKind, Concluding, EffectReport, EffectfulCall, EffectfulCalls, NextFact, Ready, Stage,
    StageRules, Transition, TransitionResult,
};
use crate::call::facts::hooks_finished;
use crate::call::proposed::{command_call, program_call};
use crate::call::{answer, steps};
use crate::compaction::{ItemFingerprint, VisiblePart};
use crate::decide::Plan;
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::{InvalidFact, Reject};
use crate::evolve::{invalid_fact, turn_of};
use crate::fact::{CallObserved, Fact, ProgramCalled, ProgramFact, ProgramRun};
use crate::failure::FailureKind;
use crate::hook::HookOccurrence;
use crate::hook_rounds::CombinedVerdict;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::id::Seq;
use crate::item::{CallItem, StopReason};
use crate::nonempty::NonEmpty;
use crate::outcome::{LimitKind, TurnOutcome};
use crate::program::{ProgramEnd, SampleKind};
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::session::{CallProgress, CallState, PendingContext, Session, Turn, is_zero};
use crate::time::Timestamp;

/// Tool calls are pending; ends when each has its observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executing {
    /// Position of the `SampleStarted` of the answer, or of the `InputAccepted` of a user's command.
    pub started: Seq,
    /// Calls, in the order of the answer.
    pub calls: NonEmpty<CallState>,
    /// Next step when each has its observation.
    pub after: AfterCalls,
    /// Kind of the sample.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
    /// Number of calls that its program made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub program_calls: u32,
    /// The ended effectful ones of them.
    #[serde(default, skip_serializing_if = "EffectfulCalls::is_empty")]
    pub effectful_calls: EffectfulCalls,
    /// Fingerprint of the report on them, if their program ended without a report of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ItemFingerprint>,
    /// Context from hooks about those calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<PendingContext>,
}

/// Next step of a turn when each call has its observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCalls {
    /// Ask the model again.
    Ask,
    /// Ask the model again from this time on: the answer was truncated.
    Wait(Timestamp),
    /// End the turn: the answer was truncated, or its program reported failure.
    End(TurnOutcome),
    /// Its program returned the turn's result.
    Returned,
    /// It has no result or an invalid one, for this reason.
    Rejected(String),
}

impl StageRules for Executing {
    fn allows(&self, session: &Session, _: &Turn, transition: Transition<'_>) -> TransitionResult {
        let so = match transition {
            Transition::AskHooks(at) => self.answered() == Some(at) || about_steer(session, at),
            Transition::Accept(_)
            | Transition::Block(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskAfterEmpty(_)
            | Transition::EndCompaction(_)
            | Transition::Sample(_)
            | Transition::Settle(_) => false,
        };
        transition.only_if(so)
    }

    fn on_report(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: EffectReport,
    ) -> Result<Vec<Fact>, Reject> {
        answer::on_call_report(plan, turn, key, report)
    }

    /// The hooks on the answer precede its calls, unless the turn is to stop.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        let Some(answered) = self.answered() else {
            return NextFact::or_wait(steps::next(plan, turn, &CombinedVerdict::Pass));
        };
        let answer = match hooks::at_turn(turn, answered, "") {
            HookStep::Add(fact) if turn.stop.is_none() => return NextFact::Fact(fact),
            HookStep::Wait if turn.stop.is_none() => return NextFact::Wait,
            HookStep::Add(_) | HookStep::Wait => &CombinedVerdict::Pass,
            HookStep::Finished(word) => word,
        };
        NextFact::or_wait(steps::next(plan, turn, answer))
    }

    fn desired_effect(&self, _: &Session, _: &Turn) -> Option<DesiredEffect> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn calls(&self) -> &[CallState] {
        self.calls.as_slice()
    }

    fn calls_mut(&mut self) -> &mut [CallState] {
        self.calls.as_mut_slice()
    }

    /// The limits on calls are about answers.
    fn counted(&self) -> Option<u32> {
        self.answer()?;
        // A program's calls are counted when they are made.
        let own = |call: &&CallState| call.parent.is_none() && call.counts();
        let count = u32::try_from(self.calls.iter().filter(own).count()).unwrap_or(u32::MAX);
        Some(count.saturating_add(self.program_calls))
    }

    fn answer(&self) -> Option<Seq> {
        (!self.is_command()).then_some(self.started)
    }

    fn winds_down(&self) -> bool {
        true
    }
}

impl Executing {
    /// Returns the stage of an answer that has ended with these calls.
    pub(crate) fn new(
        started: Seq,
        calls: NonEmpty<CallState>,
        then: AfterCalls,
        kind: SampleKind,
    ) -> Self {
        Self {
            started,
            calls,
            after: then,
            kind,
            program_calls: 0,
            effectful_calls: EffectfulCalls::default(),
            report: None,
            contexts: Vec::new(),
        }
    }

    /// Returns the stage of a user's command, which began at this position. The turn ends with it.
    pub(crate) fn command(turn: &Turn, began: Seq, call: &CallItem) -> Self {
        let calls = NonEmpty::new(command_call(turn, began, call));
        Self::new(began, calls, AfterCalls::End(TurnOutcome::Completed), SampleKind::Normal)
    }

    fn is_command(&self) -> bool {
        self.calls.iter().any(|call| call.command.is_some())
    }

    /// Returns the occurrence of the answer, for its hooks. No answer made a user's command.
    fn answered(&self) -> Option<HookOccurrence> {
        self.answer().map(|started| HookOccurrence::AfterAnswer { started })
    }
}

impl Stage {
    /// Returns the pending calls and the next step, once their answer is complete.
    #[must_use]
    pub fn executing(&self) -> Option<&Executing> {
        if let Self::Executing(executing) = self { Some(executing) } else { None }
    }
}

/// Leaves the stage after the last observation and the last hook reply about it. The model will see
/// all observations in call order, then the hooks' context in the same order.
pub(crate) fn leave_if_done(session: &mut Session) {
    resume_program(session);
    let mut shown = session.visible;
    let Some(turn) = session.turn_mut() else {
        return;
    };
    let Stage::Executing(executing) = &turn.stage else {
        return;
    };
    let stopped = turn.stop.is_some();
    let mut spoken = Vec::new();
    for call in executing.calls.iter() {
        let CallProgress::Done { observation, .. } = call.progress else {
            return;
        };
        if !stopped && !hooks_finished(turn, call) {
            return;
        }
        // Nothing comes between the calls and their results.
        match call.inline {
            true => spoken.push(observation),
            false => shown = shown.with(observation),
        }
    }
    shown = spoken.into_iter().chain(executing.report).fold(shown, VisiblePart::with);
    let contexts = executing.calls.iter().flat_map(|call| &call.contexts);
    let contexts = contexts.chain(&executing.contexts);
    let contexts: Vec<_> = contexts.copied().collect();
    let over = turn.exceeded_call_limit();
    let again = !stopped && denied(turn, executing.started);
    let (continued, most) = (turn.spent.continuations, turn.limits.continuations);
    let next = match (&executing.after, over) {
        (AfterCalls::Ask, None) if again && continued >= most => {
            let limit = LimitKind::Continuations;
            Stage::Ending(TurnOutcome::Exhausted { limit })
        }
        (_, Some(limit)) => Stage::Ending(TurnOutcome::Exhausted { limit }),
        (AfterCalls::Ask, None) => Stage::Ready(Ready::for_reason(Reason::ToolResults)),
        (AfterCalls::Wait(until), None) => Stage::Ready(Ready {
            not_before: Some(*until),
            ..Ready::for_reason(Reason::ToolResults)
        }),
        (AfterCalls::End(outcome), None) => Stage::Ending(outcome.clone()),
        (AfterCalls::Returned, None) if again && continued < most => {
            Stage::Ready(Ready::for_reason(Reason::ToolResults))
        }
        (AfterCalls::Returned, None) => Stage::Concluding(Concluding {
            started: executing.started,
            stop: StopReason::Stop,
            answer: AnswerKind::Text,
            fault: None,
            bounded: None,
        }),
        (AfterCalls::Rejected(fault), None) if turn.spent.re_asks >= turn.max_re_asks() => {
            let fault = fault.clone();
            Stage::Ending(TurnOutcome::InvalidOutput { fault })
        }
        (AfterCalls::Rejected(_), None) => {
            let started = executing.started;
            turn.spent.re_asks = turn.spent.re_asks.saturating_add(1);
            Stage::Ready(Ready::for_reason(Reason::InvalidOutput { started }))
        }
    };
    if again && continued < most {
        turn.spent.continuations = continued.saturating_add(1);
    }
    turn.pending.extend(contexts);
    turn.stage = next;
    session.visible = shown;
}

/// Returns true if hooks denied the answer that made the calls, so the model continues, within the
/// limit.
fn denied(turn: &Turn, started: Seq) -> bool {
    let mut passed = turn.hook_rounds.finished.iter();
    passed.any(|passed| {
        passed.at == HookOccurrence::AfterAnswer { started }
            && matches!(passed.verdict, CombinedVerdict::Deny { .. })
    })
}

/// Adds an effectful call of a program to the report for the model. A program's observation reports
/// none of them, or the first and the last ones.
pub(crate) fn add_report(
    turn: &mut Turn,
    recorded: &RecordedFact,
    fact: &CallObserved,
    change: Option<EffectfulCall>,
) -> Result<(), InvalidFact> {
    let Stage::Executing(executing) = &mut turn.stage else {
        return match (&fact.report, change) {
            (None, None) => Ok(()),
            (_, _) => Err(invalid_fact(recorded, "no program has made calls")),
        };
    };
    if let Some(change) = change {
        executing.effectful_calls.add(change);
    }
    let Some(report) = &fact.report else {
        return Ok(());
    };
    let mut calls = executing.calls.iter();
    let program = calls.any(|call| call.id == fact.call && call.is_program());
    let named = executing.effectful_calls.first_and_last(report.calls.len());
    if !program || fact.report != named.report() {
        return Err(invalid_fact(recorded, "it tells of other calls than were made"));
    }
    executing.report = Some(named.report_fingerprint());
    Ok(())
}

/// Applies a fact of a program.
pub(crate) fn on_program(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: ProgramFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        ProgramFact::ProgramCalled(fact) => on_called(session, recorded, fact),
        ProgramFact::ProgramRun(fact) => on_run(session, recorded, fact),
    }
}

/// Adds a program's call: it is pending like one of the answer, and the program waits for it.
fn on_called(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ProgramCalled,
) -> Result<(), InvalidFact> {
    let turn = turn_of(session, recorded)?;
    let runs = turn.calls().iter().any(|call| {
        let runs = matches!(call.progress, CallProgress::Running { .. });
        call.id == fact.program && call.is_program() && runs
    });
    if !runs || turn.stop.is_some() {
        return Err(invalid_fact(recorded, "no such program runs"));
    }
    let call = program_call(turn, recorded.seq, fact.program, &fact.item);
    let counts = turn.room_for_program_call();
    let executing = executing(turn, recorded)?;
    executing.calls.push(call);
    if counts {
        executing.program_calls = executing.program_calls.saturating_add(1);
        turn.spent.calls = turn.spent.calls.saturating_add(1);
    }
    Ok(())
}

/// Applies the end of a program, which determines the step after its answer.
fn on_run(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ProgramRun,
) -> Result<(), InvalidFact> {
    let turn = turn_of(session, recorded)?;
    let runs = turn.program_can_resume(fact.program);
    let contract = turn.settings.options.output_schema.is_some();
    if !runs || turn.stop.is_some() {
        return Err(invalid_fact(recorded, "no such program runs"));
    }
    if fact.fault.is_none() && fact.outcome.end.retains_definitions() {
        turn.program_effects.remove(fact.program);
    }
    let returns = fact.outcome.end.returned().is_some();
    let missing =
        turn.must_return(turn.executing_kind()) && fact.outcome.end.missing_result().is_some();
    let rejected = fact.fault.is_some();
    if rejected && !(returns && contract || missing) {
        return Err(invalid_fact(recorded, "no contract is asked of this program"));
    }
    let executing = executing(turn, recorded)?;
    if fact.outcome.changes_memory() && (rejected || !fact.outcome.end.retains_definitions()) {
        return Err(invalid_fact(recorded, "a program that failed leaves nothing"));
    }
    let mut calls = executing.calls.iter_mut();
    if let Some(call) = calls.find(|call| call.id == fact.program) {
        call.ended = true;
    }
    // A truncated answer may already end the turn, unless its program has the result.
    let over = matches!(executing.after, AfterCalls::End(_));
    match (&fact.outcome.end, &fact.fault) {
        (_, Some(fault)) if !over => executing.after = AfterCalls::Rejected(fault.clone()),
        (ProgramEnd::Return { .. }, None) => executing.after = AfterCalls::Returned,
        (ProgramEnd::Fail { value }, None) if !over => {
            executing.after = AfterCalls::End(TurnOutcome::Failed {
                failure: FailureKind::Program,
                message: alloc::format!("the program gave up: {value}"),
            });
        }
        (
            ProgramEnd::Value { .. }
            | ProgramEnd::Fault(_)
            | ProgramEnd::Return { .. }
            | ProgramEnd::Fail { .. },
            _,
        ) => {}
    }
    Ok(())
}

/// Resumes a program once each of its pending calls has its observation and the last hook reply.
/// The calls leave the state; context from their hooks follows the program.
fn resume_program(session: &mut Session) {
    let next = session.next;
    let Some(turn) = session.turn_mut() else {
        return;
    };
    let stopped = turn.stop.is_some();
    let program = turn.calls().iter().find_map(|call| call.parent);
    let Some(program) = program else { return };
    let mut made = turn.calls().iter().filter(|call| call.parent.is_some());
    let done = |call: &CallState| {
        let done = matches!(call.progress, CallProgress::Done { .. });
        done && (stopped || hooks_finished(turn, call))
    };
    if !made.all(done) {
        return;
    }
    let Stage::Executing(executing) = &mut turn.stage else {
        return;
    };
    let mut contexts = Vec::new();
    for call in executing.calls.iter_mut() {
        if call.parent.is_some() {
            contexts.append(&mut call.contexts);
        }
    }
    executing.contexts.append(&mut contexts);
    executing.calls.retain(|call| call.parent.is_none());
    let calls = executing.calls.iter_mut();
    for call in calls.filter(|call| call.id == program) {
        if let CallProgress::Running { started, .. } = &mut call.progress {
            *started = next;
        }
    }
}

fn executing<'a>(
    turn: &'a mut Turn,
    recorded: &RecordedFact,
) -> Result<&'a mut Executing, InvalidFact> {
    if let Stage::Executing(executing) = &mut turn.stage {
        Ok(executing)
    } else {
        Err(invalid_fact(recorded, "no calls are out"))
    }
}
