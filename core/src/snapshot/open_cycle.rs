//! An open cycle, and its snapshot.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::messages::CycleMessages;
use super::source::source;
use super::turn::{Cycle, CycleCall, TurnSnapshot};
use crate::call::{Observation, ObservationStatus};
use crate::fact::ProgramRun;
use crate::failure::FailureKind;
use crate::id::CallId;
use crate::item::StopReason;
use crate::program::{PROGRAM_TOOL, ProgramEnd, ProgramFault, RetainedMemory};
use crate::view::{CallStage, CallView, SampleEnd, SampleView, TurnView};

/// An open cycle: the contents of its snapshot beyond the view of its sample.
#[derive(Debug, Clone)]
pub(super) struct OpenCycle {
    /// Conversation that the model received.
    pub(super) messages: CycleMessages,
    /// True if its turn is in program mode.
    pub(super) programs: bool,
    /// Observations of its calls.
    pub(super) observed: BTreeMap<CallId, Arc<Observation>>,
}

impl OpenCycle {
    /// Builds the snapshot of a turn's latest sample, with the memory after it.
    pub(super) fn finish(mut self, turn: &TurnView, memory: &Arc<RetainedMemory>) -> TurnSnapshot {
        let sample = &turn.sample;
        let program = sample.calls().find(|call| self.is_program(call));
        let why = self.fault(sample, program);
        let mut raw_response = sample.text();
        let source = program.map(|program| source(&program.item.arguments));
        if let (Some(program), Some(source)) = (program, &source)
            && !program.item.inline
        {
            let apart = if raw_response.is_empty() { "" } else { "\n\n" };
            raw_response = format!("{raw_response}{apart}{source}");
        }
        let id = program.map(|program| program.id);
        let others = sample.calls().filter(|call| Some(call.id) != id);
        let tool_calls = others.map(|call| self.call(call)).collect();
        let ran = sample.program.as_ref().map(|ran| &*ran.outcome);
        let cycle = Cycle {
            turn: turn.id,
            number: sample.number,
            kind: sample.kind,
            attempts: sample.attempts,
            started: sample.started,
            ended: sample.changed,
            raw_response,
            program: source,
            program_call: id,
            result: ran.map(|ran| ran.end.clone()),
            prints: ran.map_or_else(Vec::new, |ran| ran.prints.clone()),
            repairs: ran.map_or_else(Vec::new, |ran| ran.repairs.clone()),
            tool_calls,
            memory: (!memory.is_empty()).then(|| memory.clone()),
            messages: self.messages,
            usage: sample.usage,
        };
        match why {
            None => TurnSnapshot::success(cycle),
            Some(why) => TurnSnapshot::failure(cycle, why),
        }
    }

    fn call(&mut self, call: &CallView) -> CycleCall {
        let observation = self.observed.remove(&call.id);
        CycleCall {
            id: call.id,
            program: call.source.program(),
            call: call.item.clone(),
            edited: call.edited().filter(|_| observation.is_some()).cloned(),
            observation,
        }
    }

    fn is_program(&self, call: &CallView) -> bool {
        let own = call.source.program().is_none() && call.item.name == PROGRAM_TOOL;
        self.programs && own && call.stage != CallStage::Superseded
    }

    /// Returns the failure of the cycle, if it failed.
    fn fault(&self, sample: &SampleView, program: Option<&CallView>) -> Option<ProgramFault> {
        let (stop, fault) = match &sample.end {
            SampleEnd::Pending => return Some(unfinished("the answer is not whole")),
            SampleEnd::Cut { failure, .. } => {
                return Some(ProgramFault::new(failure.kind.name(), failure.message.clone()));
            }
            SampleEnd::Complete { stop, fault } => (stop, fault),
        };
        if !sample.is_over() {
            return Some(unfinished("not every call has its observation"));
        }
        if let Some(ran) = &sample.program {
            return ended_badly(ran);
        }
        if let Some(fault) = fault {
            return Some(ProgramFault::new("invalid_output", fault.clone()));
        }
        let mut own = sample.calls().filter(|call| call.source.program().is_none());
        match program.or(own.next()) {
            Some(call) if self.programs => {
                let observation = self.observed.get(&call.id);
                observation.map(|observation| not_run(observation))
            }
            Some(_) => None,
            None => cut_off(stop),
        }
    }
}

fn unfinished(words: &str) -> ProgramFault {
    ProgramFault::new("unfinished", words)
}

fn ended_badly(ran: &ProgramRun) -> Option<ProgramFault> {
    match &ran.outcome.end {
        ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => {
            ran.fault.as_ref().map(|fault| ProgramFault::new("rejected", fault.clone()))
        }
        ProgramEnd::Fail { value } => Some(ProgramFault::new("fail", String::from(&**value))),
        ProgramEnd::Fault(fault) => Some(fault.clone()),
    }
}

/// Returns the fault of a program that did not run to its end, by its report for the model.
fn not_run(observation: &Observation) -> ProgramFault {
    let class = match observation.status {
        ObservationStatus::Done => "no_program",
        ObservationStatus::Failed => "not_run",
        ObservationStatus::Denied => "denied",
        ObservationStatus::Aborted => "aborted",
        ObservationStatus::Unknown => "unknown",
        ObservationStatus::NotStarted => "not_started",
    };
    ProgramFault::new(class, observation.output.clone())
}

/// Returns the fault of a final answer that was truncated.
fn cut_off(stop: &StopReason) -> Option<ProgramFault> {
    match stop {
        StopReason::Stop | StopReason::Unfinished | StopReason::Other(_) => None,
        StopReason::Length => Some(ProgramFault::new(
            "length",
            "the model's limit of output tokens cut the answer off",
        )),
        StopReason::ContentFilter => Some(ProgramFault::new(
            FailureKind::ContentFilter.name(),
            "the provider's content filter cut the answer off",
        )),
    }
}
