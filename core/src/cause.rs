//! Cause: the input that led to a decision, as the log records it.
//!
//! The log holds facts, not inputs. The first fact of each decision names the kind of its input and
//! the number of facts, so that a replay rebuilds that one input and compares.

use serde::{Deserialize, Serialize};

use crate::input::Input;

/// Cause of a decision, recorded with the first of its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionCause {
    /// Kind of the input.
    pub input: InputKind,
    /// Number of the decision's facts. Fewer are in the log if the process ended between two appends.
    pub facts: u32,
    /// Number drawn from the input's entropy, if the decision drew one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<u64>,
}

/// Kind of an input. A keyed input has the kind of the command under the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// New settings.
    Configure,
    /// A new goal, or none.
    SetGoal,
    /// Request to compact the conversation.
    Compact,
    /// An input of a user.
    Send,
    /// A command of a user.
    RunCommand,
    /// Result of a detached child.
    ChildEnded,
    /// New text of a waiting input.
    EditInput,
    /// New place of a waiting input.
    MoveInput,
    /// Withdrawal of a waiting input.
    WithdrawInput,
    /// New name of the session, or none.
    Rename,
    /// Return to an earlier point of the conversation.
    Rewind,
    /// Report that a turn's changes of files were undone.
    FilesRestored,
    /// Request to continue with the inputs that wait.
    Continue,
    /// Request to stop the turn.
    Interrupt,
    /// Answer of a user to an approval question.
    Answer,
    /// Result of a call that a client ran.
    SubmitResult,
    /// Release of the session by its process.
    Close,
    /// Recovery by a new process.
    Recover,
    /// The process permits less than the session.
    Narrow,
    /// Time passed.
    Tick,
    /// Event of a sample.
    SampleEvent,
    /// End of a tool's run.
    CallEnded,
    /// End of a tool's run without a result.
    CallSuspended,
    /// End of an agent's run.
    AgentEnded,
    /// End of an agent's run whose child continues.
    AgentDetached,
    /// Event of a program.
    ProgramEvent,
    /// Reply of a hook.
    HookReplied,
    /// Answer of the approver.
    ApproverAnswered,
    /// A tool knew the result of an interrupted call.
    CallReconciled,
    /// A tool did not know the result of an interrupted call.
    CallUnreconciled,
    /// End of a compaction.
    CompactionEnded,
    /// An effect was cancelled before it started.
    NeverStarted,
}

impl InputKind {
    /// Returns the kind of an input.
    #[must_use]
    pub fn of(input: &Input) -> Self {
        match input {
            Input::Keyed { input, .. } => Self::of(input),
            Input::Configure { .. } => Self::Configure,
            Input::SetGoal { .. } => Self::SetGoal,
            Input::Compact { .. } => Self::Compact,
            Input::Send { .. } => Self::Send,
            Input::RunCommand { .. } => Self::RunCommand,
            Input::ChildEnded { .. } => Self::ChildEnded,
            Input::EditInput { .. } => Self::EditInput,
            Input::MoveInput { .. } => Self::MoveInput,
            Input::WithdrawInput { .. } => Self::WithdrawInput,
            Input::Rename { .. } => Self::Rename,
            Input::Rewind { .. } => Self::Rewind,
            Input::FilesRestored { .. } => Self::FilesRestored,
            Input::Continue => Self::Continue,
            Input::Interrupt { .. } => Self::Interrupt,
            Input::Answer { .. } => Self::Answer,
            Input::SubmitResult { .. } => Self::SubmitResult,
            Input::Close => Self::Close,
            Input::Recover => Self::Recover,
            Input::Narrow { .. } => Self::Narrow,
            Input::Tick => Self::Tick,
            Input::SampleEvent { .. } => Self::SampleEvent,
            Input::CallEnded { .. } => Self::CallEnded,
            Input::CallSuspended { .. } => Self::CallSuspended,
            Input::AgentEnded { .. } => Self::AgentEnded,
            Input::AgentDetached { .. } => Self::AgentDetached,
            Input::ProgramEvent { .. } => Self::ProgramEvent,
            Input::HookReplied { .. } => Self::HookReplied,
            Input::ApproverAnswered { .. } => Self::ApproverAnswered,
            Input::CallReconciled { observation: Some(_), .. } => Self::CallReconciled,
            Input::CallReconciled { observation: None, .. } => Self::CallUnreconciled,
            Input::CompactionEnded { .. } => Self::CompactionEnded,
            Input::NeverStarted { .. } => Self::NeverStarted,
        }
    }
}
