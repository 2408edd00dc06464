//! The table of hook points: what an occurrence of each carries, and what hooks may do there.
//! Readers ask for properties; no other file lists the points.

use serde::{Deserialize, Serialize};

use super::generate::hook_points;
use super::{
    ContextUse, Denial, Editable, GateLevel, HookTopic, PointProperties, SessionStart, Trigger,
};
use crate::fact::Lasting;
use crate::id::{CallId, InputId, Seq};

hook_points! {
    /// Before the first turn of a session, and of a session that a new process goes on with.
    SessionStart {
        /// Start of the session.
        start: SessionStart,
    } => {
        topic: Nothing,
        gate: Turn,
        denial: BlocksInput,
        edits: Nothing,
        context: UnlessDenied,
        lasting: Session,
    }

    /// When a process lets a session go.
    SessionEnd => {
        topic: Nothing,
        gate: Session,
        denial: Ignored,
        edits: Nothing,
        context: Dropped,
        lasting: Turn,
    }

    /// Before an input is let in.
    PromptSubmitted {
        /// Id of the input.
        input: InputId,
    } => {
        topic: Prompt,
        gate: Turn,
        denial: BlocksInput,
        edits: Prompt,
        context: UnlessDenied,
        lasting: Turn,
    }

    /// Before the model is asked.
    BeforeSample {
        /// Number of the sample in the turn, from 1.
        sample: u32,
    } => {
        topic: Nothing,
        gate: Turn,
        denial: EndsTurn,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// When an answer of the model is whole, before its calls.
    AfterAnswer {
        /// The `SampleStarted` of the run.
        started: Seq,
    } => {
        topic: Answer,
        gate: Turn,
        denial: Answers,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// Before it is decided whether a call may run.
    BeforeTool {
        /// Id of the call.
        call: CallId,
    } => {
        topic: Call,
        gate: Call,
        denial: DeniesCall,
        edits: Arguments,
        context: Kept,
        lasting: Turn,
    }

    /// When a call has run.
    AfterTool {
        /// Id of the call.
        call: CallId,
    } => {
        topic: Result,
        gate: Call,
        denial: Answers,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// Before a person is asked about a call.
    PermissionRequest {
        /// Id of the call.
        call: CallId,
    } => {
        topic: Call,
        gate: Call,
        denial: DeniesCall,
        edits: Arguments,
        context: Kept,
        lasting: Turn,
    }

    /// Before a compaction.
    BeforeCompaction {
        /// Number of the compaction in the turn, from 1.
        compaction: u32,
        /// Trigger of the compaction.
        trigger: Trigger,
    } => {
        topic: Compaction,
        gate: Turn,
        denial: EndsTurn,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// After a compaction.
    AfterCompaction {
        /// Position of the `Compacted`.
        compacted: Seq,
        /// Trigger of the compaction.
        trigger: Trigger,
    } => {
        topic: Compaction,
        gate: Turn,
        denial: EndsTurn,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// When a turn is about to complete.
    Stop {
        /// The `SampleStarted` of the last answer.
        started: Seq,
        /// Number of continuations by hooks so far.
        continued: u32,
    } => {
        topic: Answer,
        gate: Turn,
        denial: Answers,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// Before the turn of a session that another session's turn started.
    SubTurnStart => {
        topic: Nothing,
        gate: Turn,
        denial: BlocksInput,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// When such a turn is about to complete.
    SubTurnStop {
        /// The `SampleStarted` of the last answer.
        started: Seq,
        /// Number of continuations by hooks so far.
        continued: u32,
    } => {
        topic: Answer,
        gate: Turn,
        denial: Answers,
        edits: Nothing,
        context: Kept,
        lasting: Turn,
    }

    /// When a turn was asked to stop.
    Interrupt => {
        topic: Ending,
        gate: Turn,
        denial: Ignored,
        edits: Nothing,
        context: Dropped,
        lasting: Turn,
    }
}
