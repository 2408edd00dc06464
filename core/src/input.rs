//! Inputs: commands, reports and ticks for a session.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::BudgetUsage;
use crate::approval::ApprovalGrant;
use crate::arguments_digest::ArgumentsDigest;
use crate::call::{Observation, Suspension};
use crate::compaction::{CutPoint, VisiblePart};
use crate::effect::EffectKey;
use crate::fact::{ContextPart, Lineage, PermissionsNarrowed, StopTiming};
use crate::failure::SampleFailure;
use crate::goal::Goal;
use crate::hook::{Edit, HookReply};
use crate::id::{CallId, InputId, Seq, TurnId};
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

/// An input with its time and a random number, which the core cannot produce itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming<T> {
    /// Time of the input.
    pub at: Timestamp,
    /// Entropy for the decision, which may spread a backoff.
    pub entropy: u64,
    /// The input.
    pub input: T,
}

/// Request to open a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// Owner of the session.
    pub owner: Scope,
    /// Folder that the tools work in, if there is one.
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
    /// A command with a key, so that it takes effect once even if it is sent again. A caller may
    /// not know the outcome, or a new process may repeat it.
    ///
    /// The fact that records the command carries the key. The session remembers the keys of the
    /// latest [`Session::MAX_KEYS`](crate::Session::MAX_KEYS) such facts. A command with a
    /// remembered key is rejected as [`Reject::Duplicate`](crate::Reject::Duplicate), with the
    /// position of the fact. A command that leads to no fact leaves no key: a rejected one,
    /// unchanged settings, or a `Continue` while a turn runs.
    ///
    /// A `Send` also has its own key, and a remembered one of either rejects it. All keys of a
    /// session share one namespace, so callers must not use one key for two inputs.
    Keyed {
        /// Key of the command.
        key: String,
        /// Command under the key: a `Configure`, `SetGoal`, `Compact`, `Send`, `RunCommand`,
        /// `ChildEnded`, `EditInput`, `MoveInput`, `WithdrawInput`, `Rename`, `Rewind`, `FilesRestored`,
        /// `Continue`, `Interrupt`, `Answer` or `SubmitResult`.
        /// Any other input is rejected as [`Reject::KeyNotAllowed`](crate::Reject::KeyNotAllowed).
        input: Box<Self>,
    },
    /// A user changes the settings, for turns that open from now on.
    Configure {
        /// Scope of the caller.
        scope: Scope,
        /// All of the settings.
        settings: Settings,
        /// Permission to allow more than the session's settings.
        widening: Widening,
    },
    /// A user sets the session's goal, or removes it.
    SetGoal {
        /// Scope of the caller.
        scope: Scope,
        /// The new goal, if any.
        goal: Option<Goal>,
    },
    /// A user asks to compact the conversation: now, or else once the running turn has settled. A
    /// later request replaces one that waits.
    Compact {
        /// Scope of the caller.
        scope: Scope,
        /// What the summary should say most about, in the user's words.
        focus: Option<String>,
    },
    /// A user sends an input.
    Send {
        /// Scope of the caller.
        scope: Scope,
        /// Text of the input.
        text: String,
        /// When the model should receive it.
        delivery: Delivery,
        /// Additional context from the presenter.
        context: Vec<ContextPart>,
        /// Images of the input, in order. Their bytes are already stored.
        images: Vec<Image>,
        /// The caller's own key: sending the same key again has no effect.
        key: Option<String>,
        /// True if the turn only plans the effects of its tools.
        dry_run: bool,
        /// Running turn that the input is meant for; `None` for any. Rejected if it is over.
        turn: Option<TurnId>,
    },
    /// A user runs a command in the session, in a turn of its own that asks no model. The model sees
    /// the command and its result with the next request.
    RunCommand {
        /// Scope of the caller, who approves the call with it.
        scope: Scope,
        /// Command line, as the user wrote it.
        text: String,
        /// Call that runs it; `None` if no tool of the session takes a command line.
        call: Option<Arc<CallItem>>,
    },
    /// The turn of a detached child has ended: its result enters as an input, once. Its key is made
    /// of the call's, so a repeated one is rejected as
    /// [`Reject::Duplicate`](crate::Reject::Duplicate).
    ChildEnded {
        /// Scope of the caller.
        scope: Scope,
        /// Call of the child.
        call: CallId,
        /// Text of the input, see [`child_result`](crate::child_result).
        text: String,
    },
    /// A user replaces the text of an input that was not accepted yet. Hooks that replied to the old
    /// text are asked again.
    EditInput {
        /// Scope of the caller.
        scope: Scope,
        /// Id of the input.
        input: InputId,
        /// New text.
        text: String,
    },
    /// A user moves a waiting input to another place in the queue. Inputs for the running turn and
    /// follow-ups still precede those with turns of their own.
    MoveInput {
        /// Scope of the caller.
        scope: Scope,
        /// Id of the input.
        input: InputId,
        /// Waiting input that it is to precede; `None` to make it the last.
        before: Option<InputId>,
    },
    /// A user withdraws a waiting input.
    WithdrawInput {
        /// Scope of the caller.
        scope: Scope,
        /// Id of the input.
        input: InputId,
    },
    /// A user names the session, or removes its name.
    Rename {
        /// Scope of the caller.
        scope: Scope,
        /// New name; `None` for none.
        title: Option<String>,
    },
    /// A user returns the session to an earlier point of its conversation. Only while no turn runs.
    /// Everything outside of the conversation stays: files, settings, the queue, the goal, keys,
    /// usage. Waiting inputs are held.
    Rewind {
        /// Scope of the caller.
        scope: Scope,
        /// Position whose conversation continues: one at which the session can be forked.
        to: Seq,
    },
    /// What a turn changed in files was undone, while no turn runs. The model learns of it with its next
    /// request.
    FilesRestored {
        /// Scope of the caller.
        scope: Scope,
        /// Turn whose changes were undone.
        of: TurnId,
        /// Paths of the files that have their earlier content again.
        paths: Vec<String>,
        /// Number of further files.
        more: u32,
    },
    /// A user asks to continue with the waiting inputs. Rejected while a turn stops that will leave
    /// a hold. Does not wait for pending hooks on the session's end: the session does not end yet,
    /// and they run again when it does.
    Continue,
    /// A person or the process asks the running turn to stop.
    Interrupt {
        /// Source of the interruption.
        by: InterruptSource,
        /// Scope that it acts for.
        scope: Scope,
        /// Reason in words.
        reason: String,
        /// When the turn should stop.
        when: StopTiming,
        /// Turn to stop; `None` for any running turn. No other turn is stopped.
        turn: Option<TurnId>,
    },
    /// A user answers the open question about a call.
    Answer {
        /// Id of the call.
        call: CallId,
        /// Scope of the caller.
        scope: Scope,
        /// Digest of the arguments that the answer is about.
        arguments: ArgumentsDigest,
        /// Answer to the question.
        answer: ApprovalAnswer,
    },
    /// A client returns the result of a call that it ran, or the answer for a suspended call.
    SubmitResult {
        /// Id of the call.
        call: CallId,
        /// Scope of the client.
        scope: Scope,
        /// Result of the call: done or failed. For a suspended call its output is the answer, and
        /// failed means that nobody answers.
        observation: Observation,
    },
    /// The process releases the session once it is idle.
    Close,
    /// A new process claimed the session: effects of earlier processes no longer run.
    Recover,
    /// The process permits less than the session's settings: see [`crate::Ceiling`]. Nothing else
    /// follows from it at once; the next input is decided under the narrower settings.
    Narrow {
        /// The narrower permissions.
        to: PermissionsNarrowed,
    },
    /// Time has passed; see [`crate::deadline`].
    Tick,
    /// A sampling effect reports an event.
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
    /// A tool's run has ended without a result: it goes on in another run.
    CallSuspended {
        /// Identifies the run.
        key: EffectKey,
        /// State and question that the run left.
        suspension: Suspension,
    },
    /// An agent's run has ended.
    AgentEnded {
        /// Identifies the run.
        key: EffectKey,
        /// Result of the call.
        observation: Observation,
        /// Usage of its grant, over all sessions that it opened.
        usage: BudgetUsage,
    },
    /// An agent's run has ended, and its child session continues, detached. All of the grant counts
    /// as used.
    AgentDetached {
        /// Identifies the run.
        key: EffectKey,
        /// Result of the call.
        observation: Observation,
    },
    /// A program's run reports: it calls tools, or has ended.
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
    /// A tool reported the outcome of a call; `None` if it is unknown.
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
    /// A cancelled effect never started, and will not.
    NeverStarted {
        /// Identifies the run.
        key: EffectKey,
    },
}

/// Event of a sampling effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampleEvent {
    /// An item of the answer is complete.
    Item(Item),
    /// The answer is complete.
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
    /// The sample failed or was cancelled.
    Failed {
        /// Failure of the request.
        failure: SampleFailure,
        /// Text that had streamed and belongs to no complete item.
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
    /// The program waits for these calls; the list is not empty.
    Calls(Vec<CallItem>),
    /// The program has ended.
    Ended {
        /// Outcome of the program.
        outcome: Box<ProgramOutcome>,
        /// Violation of the output schema by its return value, if there is one.
        fault: Option<String>,
        /// Report for the model, see [`feedback`](crate::feedback).
        observation: Observation,
    },
}

/// Permission for settings to allow more than those before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Widening {
    /// The settings may not allow more. In a child session of a call they may not add a tool
    /// either.
    Forbidden,
    /// The caller intends it.
    Allowed,
}

/// A person's answer about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ApprovalAnswer {
    /// The call may run.
    Allow {
        /// Edited arguments to run with.
        edit: Option<Edit>,
    },
    /// The call may run, and calls like it need no question: an approval grant covers them.
    Granted {
        /// The grant, which is given with this answer or covers the call.
        grant: ApprovalGrant,
    },
    /// The call may not run.
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
    /// Usage of the summary: the sum over its requests, as far as the provider reported it.
    pub usage: Option<Usage>,
    /// Number of requests for the summary with unknown usage; `None` if none was requested.
    pub unmeasured: Option<u32>,
    /// Reason for not using the model's own summary, or only a part of it, if one was requested.
    pub fallback: Option<String>,
}
