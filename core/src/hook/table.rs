//! The table of hook points: the fields of their occurrences, and the properties of each. Readers
//! ask for properties; no other file lists the points.

use serde::{Deserialize, Serialize};

use super::generate::hook_points;
use super::{
    AfterDenial, CompactionTrigger, ContextUse, DenialEffect, Editable, HookLevel,
    HookPointProperties, HookTopic, SessionStart,
};
use crate::fact::ContextLifetime;
use crate::id::{CallId, InputId, Seq};

hook_points! {
    /// Before the first turn of a session, and again after a new process resumes it.
    SessionStart {
        /// Start of the session.
        start: SessionStart,
    } => {
        topic: Nothing,
        level: Turn,
        denial: BlocksInput,
        after_denial: SkipOthers,
        edits: Nothing,
        context: UnlessDenied,
        lifetime: Session,
    }

    /// When a process releases a session.
    SessionEnd => {
        topic: Nothing,
        level: Session,
        denial: Ignored,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Dropped,
        lifetime: Turn,
    }

    /// Before an input is admitted.
    PromptSubmitted {
        /// Id of the input.
        input: InputId,
    } => {
        topic: Prompt,
        level: Turn,
        denial: BlocksInput,
        after_denial: SkipOthers,
        edits: Prompt,
        context: UnlessDenied,
        lifetime: Turn,
    }

    /// Before the model is asked.
    BeforeSample {
        /// Number of the sample in the turn, from 1.
        sample: u32,
    } => {
        topic: Nothing,
        level: Turn,
        denial: EndsTurn,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// When an answer of the model is complete, before its calls.
    AfterAnswer {
        /// The `SampleStarted` of the run.
        started: Seq,
    } => {
        topic: Answer,
        level: Turn,
        denial: Answers,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// Before the decision on a call.
    BeforeTool {
        /// Id of the call.
        call: CallId,
    } => {
        topic: Call,
        level: Call,
        denial: DeniesCall,
        after_denial: SkipOthers,
        edits: Arguments,
        context: Always,
        lifetime: Turn,
    }

    /// When a call has run.
    AfterTool {
        /// Id of the call.
        call: CallId,
    } => {
        topic: Result,
        level: Call,
        denial: Answers,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// Before a person is asked about a call.
    PermissionRequest {
        /// Id of the call.
        call: CallId,
    } => {
        topic: Call,
        level: Call,
        denial: DeniesCall,
        after_denial: SkipOthers,
        edits: Arguments,
        context: Always,
        lifetime: Turn,
    }

    /// Before a compaction.
    BeforeCompaction {
        /// Number of the compaction in the turn, from 1.
        compaction: u32,
        /// Trigger of the compaction.
        trigger: CompactionTrigger,
    } => {
        topic: Compaction,
        level: Turn,
        denial: EndsTurn,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// After a compaction.
    AfterCompaction {
        /// Position of the `Compacted`.
        compacted: Seq,
        /// Trigger of the compaction.
        trigger: CompactionTrigger,
    } => {
        topic: Compaction,
        level: Turn,
        denial: EndsTurn,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// When a turn is about to complete.
    Stop {
        /// The `SampleStarted` of the last answer.
        started: Seq,
        /// Number of continuations by hooks so far.
        continued: u32,
    } => {
        topic: Answer,
        level: Turn,
        denial: Answers,
        after_denial: AskOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// Before the turn of a child session.
    SubTurnStart => {
        topic: Nothing,
        level: Turn,
        denial: BlocksInput,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// When the turn of a child session is about to complete.
    SubTurnStop {
        /// The `SampleStarted` of the last answer.
        started: Seq,
        /// Number of continuations by hooks so far.
        continued: u32,
    } => {
        topic: Answer,
        level: Turn,
        denial: Answers,
        after_denial: AskOthers,
        edits: Nothing,
        context: Always,
        lifetime: Turn,
    }

    /// When a turn was asked to stop.
    Interrupt => {
        topic: Ending,
        level: Turn,
        denial: Ignored,
        after_denial: SkipOthers,
        edits: Nothing,
        context: Dropped,
        lifetime: Turn,
    }
}
