//! Turn snapshot: the immutable result of one cycle of a turn. Only two functions create one.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::messages::CycleMessages;
use crate::call::{Observation, ObservationStatus};
use crate::id::{CallId, TurnId};
use crate::item::CallItem;
use crate::program::{ProgramEnd, ProgramFault, RetainedMemory, SampleKind};
use crate::render::result_text;
use crate::time::Timestamp;
use crate::usage::Usage;

/// Result of one cycle of a turn: a sample with all its attempts, and its calls.
///
/// [`TurnSnapshots`](crate::TurnSnapshots) reads it from a log; it never changes. It is a success
/// or a failure with a reason. A cycle fails in these cases:
///
/// - the sample failed for good, or was truncated by a limit, the user or an interrupt;
/// - the answer, or a program's return value, violates the output schema;
/// - its program ended with a fault, reported failure, or did not run to its end; or the answer of
///   a turn in program mode has calls and no program.
///
/// Failed calls do not make the cycle fail: the model or its program handles them. So without
/// programs a cycle is a success unless its answer failed.
///
/// Only [`success`](Self::success) and [`failure`](Self::failure) create one:
///
/// ```compile_fail
/// # fn of(cycle: windlass_core::Cycle) -> windlass_core::TurnSnapshot {
/// windlass_core::TurnSnapshot { cycle, success: true, failure: None }
/// # }
/// ```
///
/// and nothing changes it:
///
/// ```compile_fail
/// # fn change(mut snapshot: windlass_core::TurnSnapshot) {
/// snapshot.success = true;
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnSnapshot {
    #[serde(flatten)]
    cycle: Cycle,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<ProgramFault>,
}

/// Contents of a cycle, successful or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cycle {
    /// Id of the turn.
    pub turn: TurnId,
    /// Number of the cycle in the turn, from 1.
    pub number: u32,
    /// Purpose of its sample. A sample that re-asks for the output schema is a `ReAsk` in turns
    /// without programs too.
    pub kind: SampleKind,
    /// Number of attempts, from 1.
    pub attempts: u32,
    /// Time of the first attempt.
    pub started: Timestamp,
    /// Time of the end: of the answer, or of the last observation of its calls.
    pub ended: Timestamp,
    /// Text of the answer so far. If a native call submitted a program, its source follows.
    pub raw_response: String,
    /// Source of the answer's program, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Call that runs the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_call: Option<CallId>,
    /// End of the program; `None` if it did not run to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ProgramEnd>,
    /// Lines that the program printed.
    pub prints: Vec<String>,
    /// Repairs made to the program's source, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// Calls that the model or its program made, in order, without the program itself.
    pub tool_calls: Vec<CycleCall>,
    /// Memory for later programs after the cycle, in their runtime's format. A failed cycle leaves
    /// it unchanged. One that an earlier version recorded whole is written as its text.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "memory")]
    pub memory: Option<Arc<RetainedMemory>>,
    /// Conversation that the model received.
    pub messages: CycleMessages,
    /// Tokens of all attempts, as far as the provider reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A call of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleCall {
    /// Id of the call.
    pub id: CallId,
    /// Program that made it; `None` if the model did.
    pub program: Option<CallId>,
    /// Request of the caller.
    pub call: Arc<CallItem>,
    /// Edited arguments, if it ran with other ones.
    pub edited: Option<Arc<str>>,
    /// Result of the call; `None` if its answer was discarded or the call has not ended.
    pub observation: Option<Arc<Observation>>,
}

impl TurnSnapshot {
    /// Creates the snapshot of a successful cycle.
    #[must_use]
    pub fn success(cycle: Cycle) -> Self {
        Self { cycle, success: true, failure: None }
    }

    /// Creates the snapshot of a failed cycle, with its reason.
    #[must_use]
    pub fn failure(cycle: Cycle, why: ProgramFault) -> Self {
        Self { cycle, success: false, failure: Some(why) }
    }

    /// Returns the contents of the cycle.
    #[must_use]
    pub fn cycle(&self) -> &Cycle {
        &self.cycle
    }

    /// Returns true if the cycle succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.success
    }

    /// Returns the failure, if it failed: the fault of its program, or a class and a description of
    /// any other failure.
    #[must_use]
    pub fn fault(&self) -> Option<&ProgramFault> {
        self.failure.as_ref()
    }

    /// Returns the same snapshot with the complete conversation, readable without the previous one.
    #[must_use]
    pub fn with_all_messages(mut self) -> Self {
        self.cycle.messages = self.cycle.messages.complete();
        self
    }

    /// Returns every call of the cycle, including the program itself.
    pub fn calls(&self) -> impl Iterator<Item = CallId> {
        let made = self.cycle.tool_calls.iter().map(|call| call.id);
        self.cycle.program_call.into_iter().chain(made)
    }
}

impl CycleCall {
    /// Returns the status of the call.
    #[must_use]
    pub fn status(&self) -> Option<ObservationStatus> {
        self.observation.as_ref().map(|observation| observation.status)
    }
}

/// Serializes the memory of a cycle.
#[expect(clippy::ref_option, reason = "serde hands a reference")]
fn memory<S: Serializer>(memory: &Option<Arc<RetainedMemory>>, to: S) -> Result<S::Ok, S::Error> {
    match memory {
        Some(memory) if memory.entries.is_empty() => memory.base.serialize(to),
        Some(_) | None => memory.serialize(to),
    }
}

/// Serialises the output as it was shown to the caller.
impl Serialize for CycleCall {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CallJson<'a> {
            id: CallId,
            #[serde(skip_serializing_if = "Option::is_none")]
            program: Option<CallId>,
            name: &'a str,
            arguments: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            edited: Option<&'a str>,
            status: Option<ObservationStatus>,
            output: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            omitted_bytes: Option<u64>,
        }
        let observation = self.observation.as_deref();
        let edited = self.edited.as_deref();
        let shown = observation.map(|observation| match self.program {
            Some(_) => result_text(observation, None),
            None => result_text(observation, edited),
        });
        let omitted = observation.map(|observation| observation.omitted_bytes);
        let told = CallJson {
            id: self.id,
            program: self.program,
            name: &self.call.name,
            arguments: &self.call.arguments,
            edited,
            status: self.status(),
            output: shown.as_deref(),
            omitted_bytes: omitted.filter(|omitted| *omitted > 0),
        };
        told.serialize(to)
    }
}
