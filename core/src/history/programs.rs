//! Programs in a history: their calls and their results.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{History, OutstandingCall, invalid_fact};
use crate::call::Observation;
use crate::error::InvalidFact;
use crate::fact::ProgramRun;
use crate::id::{CallId, Seq};
use crate::item::CallItem;
use crate::program::{
    CallOutcome, ProgramFailure, ReportedCall, ReportedCalls, RetainedMemory, call_line,
};
use crate::record::RecordedFact;
use crate::render::PromptItem;
use crate::time::Timestamp;

/// A call of a program, as a replay of the program needs it; or a program with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCallState {
    /// Id of the call.
    pub id: CallId,
    /// Request of the program.
    pub call: Arc<CallItem>,
    /// Edited arguments, if they replaced the program's.
    pub edited: Option<Arc<str>>,
    /// True if a run of it started that does more than describe its effect.
    pub started: bool,
    /// Result of the call, once it is known.
    pub observation: Option<Arc<Observation>>,
}

impl OutstandingCall {
    fn state(&self) -> ProgramCallState {
        ProgramCallState {
            id: self.id,
            call: self.call.clone(),
            edited: self.edited.clone(),
            started: self.started,
            observation: self.observation.clone(),
        }
    }
}

impl History {
    /// Returns the memory that programs left for later ones, in their runtime's format.
    #[must_use]
    pub fn memory(&self) -> &Arc<RetainedMemory> {
        self.memories.latest()
    }

    /// Returns the time at which the answer with the pending program was complete. It is the
    /// program's present, however often the program runs.
    #[must_use]
    pub fn answered(&self) -> Option<Timestamp> {
        self.answered
    }

    /// Returns the failure of the last program of the open turn, if it failed.
    #[must_use]
    pub fn program_failure(&self) -> Option<&Arc<ProgramFailure>> {
        self.program_failure.as_ref()
    }

    /// Returns the value that the latest answer's program returned, as JSON text.
    #[must_use]
    pub fn returned(&self) -> Option<&Arc<str>> {
        self.returned.as_ref()
    }

    /// Returns the calls of a program in order, until its sample enters the conversation.
    #[must_use]
    pub fn program_calls(&self, program: CallId) -> Vec<ProgramCallState> {
        let calls = self.calls.iter();
        let made = calls.filter(|call| call.program == Some(program));
        made.map(OutstandingCall::state).collect()
    }

    /// Returns the inline program of the latest answer, or the command of the user, once it has
    /// entered the conversation, where it is no call.
    #[must_use]
    pub fn inline_program(&self, program: CallId) -> Option<ProgramCallState> {
        let call = self.inline_program.iter().find(|call| call.id == program)?;
        Some(call.state())
    }

    pub(super) fn on_program_called(&mut self, seq: Seq, program: CallId, call: &Arc<CallItem>) {
        let program = Some(program);
        self.calls.push(OutstandingCall { program, ..OutstandingCall::new(CallId(seq.0), call) });
    }

    /// Returns the report on the calls of a program that reported nothing itself.
    pub(super) fn call_report(&self) -> Option<PromptItem> {
        let tells = self.calls.iter().find_map(|call| call.report.as_ref())?;
        let named = tells.calls.iter().filter_map(|id| {
            let call = self.calls.iter().find(|call| call.id == *id)?;
            let arguments = call.edited.as_deref();
            let arguments = arguments.unwrap_or(&call.call.arguments);
            let status = call.observation.as_ref().map(|seen| seen.status);
            Some(ReportedCall {
                call: call_line(&call.call.name, arguments).into(),
                outcome: CallOutcome::of(call.started, status),
            })
        });
        let calls = Arc::new(ReportedCalls { calls: named.collect(), more: tells.more });
        Some(PromptItem::CallReport { calls })
    }

    pub(super) fn on_program_run(
        &mut self,
        recorded: &RecordedFact,
        fact: &ProgramRun,
    ) -> Result<(), InvalidFact> {
        let known = |call: &OutstandingCall| call.id == fact.program && call.program.is_none();
        if !self.calls.iter().any(known) {
            return Err(invalid_fact(recorded, "no such program is out"));
        }
        self.memories.apply(recorded.seq, &fact.outcome);
        self.program_failure = ProgramFailure::of(fact).map(Arc::new);
        if fact.fault.is_none() {
            self.returned = fact.outcome.end.returned().cloned();
        }
        Ok(())
    }
}
