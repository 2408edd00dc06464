//! Inputs: what the world says to a session.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::BudgetUsage;
use crate::call::Observation;
use crate::compaction::{CutPoint, VisiblePart};
use crate::digest::Digest;
use crate::effect::EffectKey;
use crate::fact::{ContextPart, Lineage, StopTiming};
use crate::failure::SampleFailure;
use crate::goal::Goal;
use crate::hook::{Edit, HookReply};
use crate::id::{CallId, TurnId};
use crate::image::Image;
use crate::item::{CallItem, Item, StopReason};
use crate::outcome::InterruptSource;
use crate::program::ProgramOutcome;
use crate::request_record::RequestRecord;
use crate::scope::Scope;
use crate::session::Delivery;
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::usage::Usage;

/// An input with what only the world knows: when it came, and a random number to spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming<T> {
    /// Time of the input.
    pub at: Timestamp,
    /// Entropy for whatever the decision must spread (backoff).
    pub entropy: u64,
    /// Id of the input.
    pub input: T,
}

/// Request to open a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// Owner of the session.
    pub owner: Scope,
    /// The folder that the tools work in, where there is one.
    pub workspace: Option<String>,
    /// Settings of its turns.
    pub settings: Settings,
    /// Origin of the session.
    pub lineage: Lineage,
}

/// Input to an open session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub enum Input {
    /// Somebody says something under a key, so that it is done once however often it is said: by one
    /// who does not know what became of it, or by a process that took it over from another.
    ///
    /// The fact that the input itself is carries the key, and the session remembers those of the
    /// latest [`Session::KEYS`](crate::Session::KEYS) such facts. Under a key that it remembers
    /// nothing is decided: that is [`Reject::Duplicate`](crate::Reject::Duplicate), with the position
    /// of the fact. What becomes no fact leaves no key: settings that are the same, or a word to go on
    /// while a turn runs anyway; and so does what is refused.
    ///
    /// A `Send` keeps the key of its own besides, and is refused by either of them. All keys of a
    /// session are of one kind, so whoever makes them sees to it that no two inputs share one.
    Keyed {
        /// Key of the command.
        key: String,
        /// Command under the key: a `Configure`, `SetGoal`, `Send`, `Continue`, `Interrupt` or
        /// `ApprovalAnswer`. Anything else is [`Reject::NotSaid`](crate::Reject::NotSaid).
        input: Box<Self>,
    },
    /// A user changes the settings, for turns that open from now on.
    Configure {
        /// Scope of the caller.
        scope: Scope,
        /// All of the settings.
        settings: Settings,
        /// True if they may allow more than the session does.
        widening: Widening,
    },
    /// A user gives the session a goal, or takes it away.
    SetGoal {
        /// Scope of the caller.
        scope: Scope,
        /// The new goal, if any.
        goal: Option<Goal>,
    },
    /// A user says something.
    Send {
        /// Scope of the caller.
        scope: Scope,
        /// Text of the input.
        text: String,
        /// When it is meant to be heard.
        delivery: Delivery,
        /// Additional context from the presenter.
        context: Vec<ContextPart>,
        /// The images that are shown with it, in order: their bytes are kept already.
        images: Vec<Image>,
        /// The caller's own key: sending the same key again changes nothing.
        key: Option<String>,
        /// True if the turn only plans what its tools would do.
        dry_run: bool,
    },
    /// A user asks to go on with what is waiting. Refused while a turn stops that will leave it
    /// held. Hooks that are hearing of the session's end are not waited for: it does not end yet,
    /// and they are asked again when it does.
    Continue,
    /// Somebody or something asks the running turn to stop.
    Interrupt {
        /// Scope of the caller.
        by: InterruptSource,
        /// Scope that it acts for.
        scope: Scope,
        /// Reason in words.
        reason: String,
        /// When it is to stop.
        when: StopTiming,
        /// The turn that it is about; `None` for whichever runs. It stops no other one.
        turn: Option<TurnId>,
    },
    /// Somebody answers the open question about a call.
    Answer {
        /// Id of the call.
        call: CallId,
        /// Scope of the caller.
        scope: Scope,
        /// Digest of the arguments that the answer is about.
        arguments: Digest,
        /// Answer to the question.
        answer: ApprovalAnswer,
    },
    /// The process lets the session go once it is at rest.
    Close,
    /// A new process took the session over: nothing that was running runs any more.
    Recover,
    /// Time has passed; see [`crate::deadline`].
    Tick,
    /// The sampling effect says something.
    SampleEvent {
        /// Identifies the run.
        key: EffectKey,
        /// Event of the sample.
        event: SampleEvent,
    },
    /// A tool's run has ended.
    CallEnded {
        /// Identifies the run.
        key: EffectKey,
        /// Result of the call.
        observation: Observation,
    },
    /// An agent's run has ended.
    AgentEnded {
        /// Identifies the run.
        key: EffectKey,
        /// Result of the call.
        observation: Observation,
        /// Usage of its grant, over all that it opened.
        usage: BudgetUsage,
    },
    /// A program has gone on: it calls tools, or has ended.
    ProgramEvent {
        /// Identifies the run.
        key: EffectKey,
        /// Event of the program.
        event: ProgramEvent,
    },
    /// A hook's run has ended.
    HookReplied {
        /// Identifies the run.
        key: EffectKey,
        /// Reply of the hook.
        reply: HookReply,
    },
    /// The approver's run has ended.
    ApproverAnswered {
        /// Identifies the run.
        key: EffectKey,
        /// Scope of the answer; the system if nobody could be asked.
        scope: Scope,
        /// Answer to the question.
        answer: ApprovalAnswer,
    },
    /// A tool has said what became of a call; `None` when it does not know.
    CallReconciled {
        /// Identifies the run.
        key: EffectKey,
        /// Result of the call.
        observation: Option<Observation>,
    },
    /// A compaction's run has ended.
    CompactionEnded {
        /// Identifies the run.
        key: EffectKey,
        /// Result of the compaction, or the reason why there is none.
        compaction: Result<CompactionResult, String>,
    },
    /// An effect that was owed was never begun, and will not be.
    NeverStarted {
        /// Identifies the run.
        key: EffectKey,
    },
}

/// Event of a sampling effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampleEvent {
    /// An item of the answer is whole.
    Item(Item),
    /// The answer is whole.
    Ended {
        /// Stop reason of the model.
        stop: StopReason,
        /// Usage, if the provider reported it.
        usage: Option<Usage>,
        /// The provider's id of the response.
        response_id: Option<String>,
        /// Record of the request, if its adapter made one.
        request: Option<Box<RequestRecord>>,
        /// Violation of the output schema by the answer, if there is one. Dropped for an answer
        /// that cannot be a turn's last one.
        fault: Option<String>,
    },
    /// It failed, or was told to stop.
    Failed {
        /// Failure of the request.
        failure: SampleFailure,
        /// Text that had streamed by then and belongs to no whole item.
        partial: String,
        /// Usage, as far as the provider reported it.
        usage: Option<Usage>,
        /// Record of the request, if its adapter made one.
        asked: Option<Box<RequestRecord>>,
    },
}

/// Event of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEvent {
    /// It waits for these calls, of which there is at least one.
    Calls(Vec<CallItem>),
    /// The program has ended.
    Ended {
        /// Outcome of the program.
        outcome: Box<ProgramOutcome>,
        /// Violation of the contract by its return value, if there is one.
        fault: Option<String>,
        /// Report for the model, see [`feedback`](crate::feedback).
        observation: Observation,
    },
}

/// True if settings may allow more than those before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Widening {
    /// They may not. Of the child of another session's call they may not have a tool either that it
    /// does not have by name.
    Forbidden,
    /// The caller intends it.
    Allowed,
}

/// A person's word on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ApprovalAnswer {
    /// The call may run.
    Allow {
        /// With these arguments instead.
        edit: Option<Edit>,
    },
    /// It may not run.
    Deny {
        /// Reason in words.
        reason: String,
    },
}

/// Result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionResult {
    /// Effect on the conversation.
    pub cut: CutPoint,
    /// Size of the conversation afterwards.
    pub visible: VisiblePart,
    /// Usage of the summary.
    pub usage: Option<Usage>,
    /// Reason for not using the model's own summary, if one was requested.
    pub fallback: Option<String>,
}
