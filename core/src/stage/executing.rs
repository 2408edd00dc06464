//! Executing: the answer is whole and its tool calls are out. It ends when each has its observation.
//!
//! Each call goes its own way, from its decision to its observation, as in `calls`. What a user says
//! to the turn waits until the last result is there: then `leave_if_done` makes the turn ready, and
//! there the user is heard before the model is asked. A program's calls are out beside the program,
//! and it goes on when each of them has its observation.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{
    Allowed, Change, Changes, Concluding, Next, Ready, Report, Rules, Said, Stage, Transition,
};
use crate::because::Because;
use crate::call::facts::heard;
use crate::call::proposed::called;
use crate::call::{answer, steps};
use crate::compaction::{Part, Shown};
use crate::decide::Plan;
use crate::effect::{EffectKey, Owed};
use crate::error::{Misfit, Reject};
use crate::evolve::{misfit, turn_of};
use crate::fact::{CallObserved, Fact, ProgramCalled, ProgramFact, ProgramRun};
use crate::failure::FailureKind;
use crate::gate::Word;
use crate::gate::hooks::{self, At};
use crate::hook::HookAt;
use crate::id::Seq;
use crate::item::StopReason;
use crate::nonempty::NonEmpty;
use crate::outcome::{LimitKind, Outcome};
use crate::program::{ProgramEnd, SampleKind};
use crate::record::Recorded;
use crate::session::{CallState, Pending, Progress, Session, Turn, is_zero};
use crate::time::Timestamp;

/// Tool calls are out; this ends when each has its observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executing {
    /// The `SampleStarted` of the answer.
    pub started: Seq,
    /// The calls, in the order of the answer.
    pub calls: NonEmpty<CallState>,
    /// Next step when each has its observation.
    pub then: AfterCalls,
    /// Kind of the sample.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
    /// The calls that its program has made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub made: u32,
    /// Those of them that change something and are over.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// Text that tells the model of those, in numbers, where their program did not come to its
    /// own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Part>,
    /// Context that hooks gave about those, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Pending>,
}

/// Next step of a turn when each call has its observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCalls {
    /// The model is asked again.
    Ask,
    /// The answer broke off: the model is asked again from then on.
    Wait(Timestamp),
    /// The answer broke off, or its program gave up: the model is not asked again.
    End(Outcome),
    /// Its program has returned what the turn is to come to.
    Returned,
    /// Its program has returned what does not fit the contract, for this reason.
    Rejected(String),
}

impl Rules for Executing {
    fn allows(&self, _: &Session, _: &Turn, transition: Transition<'_>) -> Allowed {
        let so = match transition {
            Transition::AskHooks(at) => at == self.answered(),
            Transition::Accept(_)
            | Transition::Block(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::EndCompaction(_)
            | Transition::Sample(_)
            | Transition::Settle(_) => false,
        };
        transition.only_if(so)
    }

    fn on(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: Report,
    ) -> Result<Vec<Fact>, Reject> {
        answer::about_call(plan, turn, key, report)
    }

    /// The hooks that see the answer come before its calls, unless the turn is to stop.
    fn next(&self, plan: &Plan, turn: &Turn) -> Next {
        let answer = match hooks::at_turn(turn, self.answered(), "") {
            At::Do(fact) if turn.stop.is_none() => return Next::Fact(fact),
            At::Wait if turn.stop.is_none() => return Next::Wait,
            At::Do(_) | At::Wait => &Word::Pass,
            At::Passed(word) => word,
        };
        Next::or_wait(steps::next(plan, turn, answer))
    }

    fn owed(&self, _: &Session, _: &Turn) -> Option<Owed> {
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

    fn counted(&self) -> Option<u32> {
        // Those of its program are counted where they are made.
        let own = self.calls.iter().filter(|call| call.parent.is_none());
        let count = u32::try_from(own.count()).unwrap_or(u32::MAX);
        Some(count.saturating_add(self.made))
    }

    fn answer(&self) -> Option<Seq> {
        Some(self.started)
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
            then,
            kind,
            made: 0,
            changes: Changes::default(),
            told: None,
            contexts: Vec::new(),
        }
    }

    fn answered(&self) -> HookAt {
        HookAt::AfterAnswer {
            started: self.started,
        }
    }
}

impl Stage {
    /// Returns the calls that are out, and what comes after them, once their answer is whole.
    #[must_use]
    pub fn executing(&self) -> Option<&Executing> {
        if let Self::Executing(executing) = self {
            Some(executing)
        } else {
            None
        }
    }
}

/// With the last observation, and the last word of the hooks on it, the turn goes on. The model
/// will see all observations in call order, whichever came first, and then what hooks gave, in the
/// same order.
pub(crate) fn leave_if_done(session: &mut Session) {
    resume_program(session);
    let mut shown = session.shown;
    let Some(turn) = session.turn_mut() else {
        return;
    };
    let Stage::Executing(executing) = &turn.stage else {
        return;
    };
    let stopped = turn.stop.is_some();
    let mut spoken = Vec::new();
    for call in executing.calls.iter() {
        let Progress::Done { observation, .. } = call.progress else {
            return;
        };
        if !stopped && !heard(turn, call) {
            return;
        }
        // Nothing comes between the calls and their results.
        match call.spoken {
            true => spoken.push(observation),
            false => shown = shown.with(observation),
        }
    }
    shown = spoken
        .into_iter()
        .chain(executing.told)
        .fold(shown, Shown::with);
    let contexts = executing.calls.iter().flat_map(|call| &call.contexts);
    let contexts = contexts.chain(&executing.contexts);
    let contexts: Vec<_> = contexts.copied().collect();
    let over = turn.over_calls();
    let again = !stopped && denied(turn, executing.started);
    let (continued, most) = (turn.spent.continuations, turn.limits.continuations);
    let next = match (&executing.then, over) {
        (AfterCalls::Ask, None) if again && continued >= most => {
            let limit = LimitKind::Continuations;
            Stage::Ending(Outcome::Exhausted { limit })
        }
        (_, Some(limit)) => Stage::Ending(Outcome::Exhausted { limit }),
        (AfterCalls::Ask, None) => Stage::Ready(Ready::because(Because::ToolResults)),
        (AfterCalls::Wait(until), None) => Stage::Ready(Ready {
            not_before: Some(*until),
            ..Ready::because(Because::ToolResults)
        }),
        (AfterCalls::End(outcome), None) => Stage::Ending(outcome.clone()),
        (AfterCalls::Returned, None) if again && continued < most => {
            Stage::Ready(Ready::because(Because::ToolResults))
        }
        (AfterCalls::Returned, None) => Stage::Concluding(Concluding {
            started: executing.started,
            stop: StopReason::Stop,
            said: Said::Text,
            fault: None,
        }),
        (AfterCalls::Rejected(fault), None) if turn.spent.returns >= turn.returns() => {
            let fault = fault.clone();
            Stage::Ending(Outcome::Misshapen { fault })
        }
        (AfterCalls::Rejected(_), None) => {
            let started = executing.started;
            turn.spent.returns = turn.spent.returns.saturating_add(1);
            Stage::Ready(Ready::because(Because::RetryReturn { started }))
        }
    };
    if again && continued < most {
        turn.spent.continuations = continued.saturating_add(1);
    }
    turn.pending.extend(contexts);
    turn.stage = next;
    session.shown = shown;
}

/// Returns `true` if hooks denied the answer that brought the calls: they have the model go on, as
/// often as they may.
fn denied(turn: &Turn, started: Seq) -> bool {
    let mut passed = turn.gates.passed.iter();
    passed.any(|passed| {
        passed.at == HookAt::AfterAnswer { started } && matches!(passed.word, Word::Deny { .. })
    })
}

/// A call of a program that changes something is one that the model may have to be told of. With the
/// observation of a program it is told of none or all of them.
pub(crate) fn tell(
    turn: &mut Turn,
    recorded: &Recorded,
    fact: &CallObserved,
    change: Option<Change>,
) -> Result<(), Misfit> {
    let Stage::Executing(executing) = &mut turn.stage else {
        return match (&fact.tells, change) {
            (None, None) => Ok(()),
            (_, _) => Err(misfit(recorded, "no program has made calls")),
        };
    };
    if let Some(change) = change {
        executing.changes.add(change);
    }
    if fact.tells.is_none() {
        return Ok(());
    }
    let mut calls = executing.calls.iter();
    let program = calls.any(|call| call.id == fact.call && call.is_program());
    if !program || fact.tells != executing.changes.telling() {
        return Err(misfit(recorded, "it tells of other calls than were made"));
    }
    executing.told = Some(executing.changes.told());
    Ok(())
}

/// Applies a fact of a program.
pub(crate) fn on_program(
    session: &mut Session,
    recorded: &Recorded,
    fact: ProgramFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        ProgramFact::ProgramCalled(fact) => on_called(session, recorded, fact),
        ProgramFact::ProgramRun(fact) => on_run(session, recorded, fact),
    }
}

/// A program makes a call: it is out like one of the answer, and the program waits for it.
fn on_called(
    session: &mut Session,
    recorded: &Recorded,
    fact: &ProgramCalled,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let runs = turn.calls().iter().any(|call| {
        let runs = matches!(call.progress, Progress::Running { .. });
        call.id == fact.program && call.is_program() && runs
    });
    if !runs || turn.stop.is_some() {
        return Err(misfit(recorded, "no such program runs"));
    }
    let call = called(turn, recorded.seq, fact.program, &fact.item);
    let counts = turn.room_for_program_call();
    let executing = executing(turn, recorded)?;
    executing.calls.push(call);
    if counts {
        executing.made = executing.made.saturating_add(1);
        turn.spent.calls = turn.spent.calls.saturating_add(1);
    }
    Ok(())
}

/// A program has ended: what comes after its answer is known then.
fn on_run(session: &mut Session, recorded: &Recorded, fact: &ProgramRun) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let runs = turn.program_goes_on(fact.program);
    let contract = turn.settings.options.answer.is_some();
    if !runs || turn.stop.is_some() {
        return Err(misfit(recorded, "no such program runs"));
    }
    let executing = executing(turn, recorded)?;
    let returns = fact.outcome.end.returned().is_some();
    let rejected = fact.fault.is_some();
    if rejected && !(returns && contract) {
        return Err(misfit(recorded, "no contract is asked of this program"));
    }
    if fact.outcome.memory.is_some() && (rejected || !fact.outcome.end.lasts()) {
        return Err(misfit(recorded, "a program that failed leaves nothing"));
    }
    let mut calls = executing.calls.iter_mut();
    if let Some(call) = calls.find(|call| call.id == fact.program) {
        call.ended = true;
    }
    // An answer that broke off may have ended the turn already, unless its program has the result.
    let over = matches!(executing.then, AfterCalls::End(_));
    match (&fact.outcome.end, &fact.fault) {
        (_, Some(fault)) if !over => executing.then = AfterCalls::Rejected(fault.clone()),
        (ProgramEnd::Return { .. }, None) => executing.then = AfterCalls::Returned,
        (ProgramEnd::Fail { value }, None) if !over => {
            executing.then = AfterCalls::End(Outcome::Failed {
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

/// A program goes on once each of its calls that are out has its observation and the hooks have said
/// their word: they leave the state, and what hooks gave about them is told after the program.
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
        let done = matches!(call.progress, Progress::Done { .. });
        done && (stopped || heard(turn, call))
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
        if let Progress::Running { started, .. } = &mut call.progress {
            *started = next;
        }
    }
}

fn executing<'a>(turn: &'a mut Turn, recorded: &Recorded) -> Result<&'a mut Executing, Misfit> {
    if let Stage::Executing(executing) = &mut turn.stage {
        Ok(executing)
    } else {
        Err(misfit(recorded, "no calls are out"))
    }
}
