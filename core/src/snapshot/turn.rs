//! A snapshot: what one cycle of a turn came to. Nothing changes one, and two functions make them.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::messages::CycleMessages;
use crate::call::{Observation, ObservationStatus};
use crate::id::{CallId, TurnId};
use crate::item::CallItem;
use crate::program::{ProgramEnd, ProgramFault, SampleKind};
use crate::render::result_text;
use crate::time::Timestamp;
use crate::usage::Usage;

/// Result of one cycle of a turn: a sample, with all its attempts, and the calls that it made.
///
/// It is read off a log by [`TurnSnapshots`](crate::TurnSnapshots) and never changes. It is a success
/// where the cycle did what it was to do, and a failure, with its reason, where it did not:
///
/// - the sample failed for good, or was cut off: by a limit, by the user, by an interrupt;
/// - the answer, or what a program returned, does not fit the contract;
/// - its program ended with a fault, gave up, or did not run to an end; or the answer of a turn in
///   program mode has calls and no program.
///
/// Calls that fail make no failure: they are what a model, or its program, has to deal with. So in a
/// turn without programs a cycle is a success unless its answer failed.
///
/// Only [`success`](Self::success) and [`failure`](Self::failure) make one:
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

/// Contents of a cycle, whether it succeeded or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cycle {
    /// Id of the turn.
    pub turn: TurnId,
    /// Number of the cycle in the turn, from 1.
    pub number: u32,
    /// Purpose of its sample. Also in a turn without programs, a sample that re-asks for the output
    /// schema is a retry.
    pub kind: SampleKind,
    /// Number of attempts, from 1.
    pub attempts: u32,
    /// When the model was first asked.
    pub started: Timestamp,
    /// When it was over: with the answer, or with the last observation of its calls.
    pub ended: Timestamp,
    /// The text of the answer, as far as it came, and after it the source of a program that came by a
    /// native call.
    pub raw_response: String,
    /// The source of the program that the answer has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The call that the program is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_call: Option<CallId>,
    /// End of the program; none if it was not run to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ProgramEnd>,
    /// Lines that the program printed.
    pub prints: Vec<String>,
    /// Repairs made to the program's source, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// The calls: each that the model or its program made, in the order in which they were made; the
    /// program itself is not among them.
    pub tool_calls: Vec<CycleCall>,
    /// Memory for later programs after the cycle, in their runtime's format. A failed cycle leaves
    /// it unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Arc<str>>,
    /// The conversation that the model was shown.
    pub messages: CycleMessages,
    /// Tokens, of all attempts, as far as the provider said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A call of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleCall {
    /// Id of the call.
    pub id: CallId,
    /// The program that made it; none where the model did.
    pub program: Option<CallId>,
    /// Request of the caller.
    pub call: Arc<CallItem>,
    /// The arguments that it ran with, where somebody changed them.
    pub edited: Option<Arc<str>>,
    /// Result of the call; none if its answer was discarded, or it is not over.
    pub observation: Option<Arc<Observation>>,
}

impl TurnSnapshot {
    /// Of a cycle that did what it was to do.
    #[must_use]
    pub fn success(cycle: Cycle) -> Self {
        Self {
            cycle,
            success: true,
            failure: None,
        }
    }

    /// Of a cycle that did not, for this reason.
    #[must_use]
    pub fn failure(cycle: Cycle, why: ProgramFault) -> Self {
        Self {
            cycle,
            success: false,
            failure: Some(why),
        }
    }

    /// Returns the contents of the cycle.
    #[must_use]
    pub fn cycle(&self) -> &Cycle {
        &self.cycle
    }

    /// Returns true if it did what it was to do.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.success
    }

    /// Returns the failure, if it failed: the fault of its program, or a class and words for
    /// anything else.
    #[must_use]
    pub fn fault(&self) -> Option<&ProgramFault> {
        self.failure.as_ref()
    }

    /// The same, with the whole conversation that the model was shown told in it, so that it is
    /// understood without the snapshot before it.
    #[must_use]
    pub fn with_all_messages(mut self) -> Self {
        self.cycle.messages = self.cycle.messages.complete();
        self
    }

    /// Every call that was made in the cycle, the program itself among them.
    pub fn calls(&self) -> impl Iterator<Item = CallId> {
        let made = self.cycle.tool_calls.iter().map(|call| call.id);
        self.cycle.program_call.into_iter().chain(made)
    }
}

impl CycleCall {
    /// Returns the status of the call.
    #[must_use]
    pub fn status(&self) -> Option<ObservationStatus> {
        self.observation
            .as_ref()
            .map(|observation| observation.status)
    }
}

/// With its output as whoever made the call was shown it.
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
