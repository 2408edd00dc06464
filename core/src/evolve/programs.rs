//! Programs: what they call, how they go on, and how they end.

use alloc::vec::Vec;

use super::{calls, misfit, sample, turn_of};
use crate::error::Misfit;
use crate::fact::{ProgramCalled, ProgramFact, ProgramRun};
use crate::failure::FailureKind;
use crate::id::CallId;
use crate::outcome::Outcome;
use crate::program::{ProgramEnd, SampleKind};
use crate::record::Recorded;
use crate::session::{AfterCalls, CallState, Executing, Progress, Session, Stage, Turn};

pub(super) fn on_program(
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
    let call = sample::called(turn, recorded.seq, fact.program, &fact.item);
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
pub(super) fn go_on(session: &mut Session) {
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
        done && (stopped || calls::heard(turn, call))
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
    match &mut turn.stage {
        Stage::Executing(executing) => Ok(executing),
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Compacting(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Err(misfit(recorded, "no calls are out")),
    }
}

impl Turn {
    /// Whether one more call of a program is within the limits.
    pub(crate) fn room_for_program_call(&self) -> bool {
        let Stage::Executing(executing) = &self.stage else {
            return false;
        };
        let program = self.settings.options.program.as_ref();
        let most = program.map_or(0, |program| program.limits.calls);
        executing.made < most && self.spent.calls < self.limits.calls
    }

    /// Whether a program is to go on: it runs, and waits for none of its calls.
    #[must_use]
    pub fn program_goes_on(&self, program: CallId) -> bool {
        let runs = |call: &CallState| {
            let running = matches!(call.progress, Progress::Running { .. });
            call.id == program && call.is_program() && running && !call.ended
        };
        let waits = |call: &CallState| call.parent == Some(program);
        self.calls().iter().any(runs) && !self.calls().iter().any(waits)
    }

    /// What the sample was for whose calls are out.
    #[must_use]
    pub fn executing_kind(&self) -> SampleKind {
        match &self.stage {
            Stage::Executing(executing) => executing.kind,
            Stage::Opening(_)
            | Stage::Ready(_)
            | Stage::Compacting(_)
            | Stage::Sampling(_)
            | Stage::Backoff(_)
            | Stage::Concluding(_)
            | Stage::Ending(_) => SampleKind::Normal,
        }
    }

    /// Whether a program of this sample may call tools.
    #[must_use]
    pub fn programs_call(&self, kind: SampleKind) -> bool {
        match kind {
            SampleKind::Normal => true,
            SampleKind::MustReturn => false,
            SampleKind::Retry => self.worked() < self.work(),
        }
    }

    /// Samples for work that a turn of programs may have: those that retries of a rejected return may
    /// take are set aside for them.
    pub(crate) fn work(&self) -> u32 {
        self.settings.work_samples(&self.limits)
    }

    /// Samples that only retries of a rejected return may still take.
    pub(crate) fn kept_for_retries(&self) -> u32 {
        let most = self
            .settings
            .options
            .program
            .as_ref()
            .map_or(0, |_| self.returns());
        most.saturating_sub(self.spent.returns)
    }

    /// Samples for work that it has had.
    pub(crate) fn worked(&self) -> u32 {
        self.samples().saturating_sub(self.retried)
    }

    /// What the next sample is for.
    pub(crate) fn next_kind(&self) -> SampleKind {
        if self.settings.options.program.is_none() {
            return SampleKind::Normal;
        }
        match &self.stage {
            Stage::Ready(ready) if ready.because.is_retry_return() => SampleKind::Retry,
            Stage::Backoff(backoff) => backoff.kind,
            Stage::Ready(_)
            | Stage::Opening(_)
            | Stage::Compacting(_)
            | Stage::Sampling(_)
            | Stage::Executing(_)
            | Stage::Concluding(_)
            | Stage::Ending(_) => match self.worked().saturating_add(1) < self.work() {
                true => SampleKind::Normal,
                false => SampleKind::MustReturn,
            },
        }
    }

    /// Whether no sample for work is left, where the model writes programs.
    pub(crate) fn has_worked(&self) -> bool {
        let retries = match &self.stage {
            Stage::Ready(ready) => ready.because.is_retry_return(),
            Stage::Concluding(concluding) => concluding.fault.is_some(),
            Stage::Opening(_)
            | Stage::Compacting(_)
            | Stage::Sampling(_)
            | Stage::Backoff(_)
            | Stage::Executing(_)
            | Stage::Ending(_) => false,
        };
        self.settings.options.program.is_some() && !retries && self.worked() >= self.work()
    }
}
