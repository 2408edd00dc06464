//! The turn machine of Windlass, as data transitions.
//!
//! A *turn* is one cycle from a user's input to a settled outcome. This crate defines turns and
//! nothing else. It defines the facts, the facts that an input leads to ([`decide`]), and the
//! effect of a fact on the state ([`evolve`]). It also derives the effects that a state requires
//! ([`desired_effects`]), the time of the next tick ([`deadline`]), and the model's view
//! ([`History`], [`render`]).
//!
//! Absent on purpose: I/O, async, threads, clocks, randomness, hash maps. Time and entropy arrive
//! with the inputs; ids are log positions. The crate is `no_std`, so the compiler rejects most of
//! these.

#![no_std]

extern crate alloc;

mod agent;
mod append_list;
mod approval;
mod arguments_digest;
mod assemble;
mod background;
mod budget;
mod call;
mod cause;
mod ceiling;
mod changed_files;
mod checkpoint;
mod citation;
mod compact;
mod compaction;
mod context;
mod deadline;
mod decide;
mod deferred;
mod desired_effects;
mod detached;
mod digest;
mod edit_tools;
mod effect;
mod error;
mod evolve;
mod fact;
mod failure;
mod fork;
mod format;
mod goal;
mod history;
mod hook;
mod hook_rounds;
mod id;
mod image;
mod input;
mod item;
mod json_size;
mod ledger;
mod limits;
pub mod machine;
mod nonempty;
mod options;
mod outcome;
mod output;
mod program;
mod reason;
mod record;
mod render;
mod replay;
mod request_record;
mod rewind;
mod rule;
mod scope;
mod session;
mod settings;
mod shared;
mod snapshot;
mod stage;
mod stream;
mod temperature;
mod time;
mod title;
mod undo;
mod usage;
mod view;
mod window_usage;

pub use agent::{
    AgentSpec, BudgetGrant, BudgetUsage, DetachedEndPolicy, ParentEndPolicy, UnavailableTool,
    unavailable_tool,
};
pub use append_list::{AppendList, AppendListIter};
pub use approval::{ApprovalGrant, ApprovalReason, GrantLifetime};
pub use arguments_digest::{ArgumentsDigest, Sha256};
pub use assemble::{Assembler, AssemblerLimits, AssemblerOutput, AssemblerOverflow};
pub use background::{
    CLOSE_AGENT_TOOL, SEND_TO_AGENT_TOOL, WAIT_FOR_AGENT_TOOL, background_agent_tools,
    is_background_agent_tool,
};
pub use call::{
    ASK_USER_TOOL, Confinement, Observation, ObservationStatus, StoredOutput, SuspendedCall,
    Suspension, UserAnswer, UserQuestion, Verdict,
};
pub use cause::{DecisionCause, InputKind};
pub use ceiling::{CallsToMatch, Ceiling};
pub use changed_files::{ChangedFile, ChangedFiles, FileVersion, SessionChanges};
pub use checkpoint::{CHECKPOINT_VERSION, Checkpoint};
pub use citation::{Citation, SpanUnit, TextSpan};
pub use compact::{
    CompactionPlan, SUMMARY_INSTRUCTIONS, SummaryAnswer, SummaryRequests, SummaryStep,
    fallback_summary, parse_summary, plan_compaction,
};
pub use compaction::{
    CompactionRequest, CompactionStrategy, ContextWindow, CutPoint, ItemFingerprint,
    MIN_RESULT_BYTES, ResultForm, VisiblePart,
};
pub use deadline::deadline;
pub use decide::{Decision, decide, decide_and_evolve, decide_open, open_child};
pub use deferred::{MAX_FOUND_TOOLS, SEARCH_TOOLS_TOOL, search_tools_tool};
pub use desired_effects::desired_effects;
pub use detached::{DetachedChild, QueuedResult, child_result};
pub use digest::Digest;
pub use edit_tools::{EDIT_TOOL, EditTools, ModelTools, PATCH_TOOL, VIEW_IMAGE_TOOL};
pub use effect::{Demand, DesiredEffect, EffectKey};
pub use error::{InvalidFact, Reject};
pub use evolve::{evolve, evolve_first};
pub use fact::*;
pub use failure::{FailureKind, Retry, SampleFailure};
pub use fork::{Fork, InvalidFork};
pub use format::{
    BodyForm, BodyReader, BodyTree, FACT_MINOR, FACT_VERSION, FactFormat, FormatVersion,
    InvalidBody, SealedFact, Upcast,
};
pub use goal::{GOAL_TOOL, Goal, GoalEnd, GoalState, GoalStatus};
pub use history::{History, ProgramCallState};
pub use hook::{
    AfterDenial, CompactionTrigger, ContextUse, DenialEffect, Edit, Editable, HookFailurePolicy,
    HookLevel, HookOccurrence, HookOrder, HookPoint, HookPointProperties, HookReply, HookSpec,
    HookTopic, HookVerdict, SessionStart,
};
pub use hook_rounds::{CombinedVerdict, FinishedRound, HookRound, HookRounds, PendingHook};
pub use id::{CallId, Epoch, InputId, InvalidSessionId, Seq, SessionId, TurnId};
pub use image::{Image, ImageMedia};
pub use input::{
    ApprovalAnswer, CompactionResult, Incoming, Input, OpenSession, ProgramEvent, SampleEvent,
    Widening,
};
pub use item::{CallItem, Item, Opaque, ReasoningItem, StopReason};
pub use ledger::{CacheBreak, CacheEntry, CacheLedger};
pub use limits::Limits;
pub use nonempty::NonEmpty;
pub use options::{OfferedTools, OutputSchema, RequestOptions, ToolChoice, WebSearch};
pub use outcome::{InterruptSource, LimitKind, TurnOutcome};
pub use output::{
    OutputFinder, OutputLocation, OutputSearch, READ_OUTPUT_TOOL, ReadableOutput, read_output_call,
    read_output_tool,
};
pub use program::{
    CallOutcome, CallReport, Definition, LaterPrograms, PROGRAM_TOOL, ProgramCallRecord,
    ProgramEffects, ProgramEnd, ProgramFailure, ProgramFault, ProgramLimits, ProgramMode,
    ProgramOutcome, ProgramTransport, ReportLimits, ReportedCall, ReportedCalls, RetainedChange,
    RetainedMemory, SampleKind, feedback, program_seed, program_tool,
};
pub use reason::Reason;
pub use record::{Draft, EnvelopeHeader, RecordedFact};
pub use render::{
    Prompt, PromptItem, command_result_text, command_text, program_report_text, render,
    result_text, tool_choice,
};
pub use replay::{
    Decide, Divergence, Replacement, Replay, ReplayReport, RequestDivergence, UnverifiableDecision,
    UnverifiableReason, replay,
};
pub use request_record::{
    FailedAttempt, LoweredPart, LoweringAction, LoweringReason, LoweringRecord, RequestRecord,
    RequestRoute,
};
pub use rewind::RewindPoints;
pub use rule::{ArgumentPattern, Rule, RuleVerdict};
pub use scope::Scope;
pub use session::{
    ApprovalQuestion, CallProgress, CallState, CallValidity, Delivery, Hold, MeasuredRequest,
    OutsideSandbox, PendingContext, Phase, QueuedContext, QueuedInput, Session, SessionTotals,
    StopRequest, Turn, TurnUsage, UserCommand,
};
pub use settings::{Concurrency, EffectClass, Mode, Permissions, Settings, ToolGrammar, ToolSpec};
pub use snapshot::{Cycle, CycleCall, CycleMessages, TurnSnapshot, TurnSnapshots};
pub use stage::{
    AfterCalls, AfterCompacting, AnswerKind, Backoff, Compacting, Concluding, EffectfulCall,
    EffectfulCalls, Executing, Ready, Sampling, Stage, StageName, TurnOpening,
};
pub use stream::{Delta, StreamEvent};
pub use temperature::{InvalidTemperature, Temperature};
pub use time::Timestamp;
pub use title::{MAX_TITLE_CHARS, is_title};
pub use usage::{Price, Usage};
pub use view::{
    CallEntry, CallSource, CallStage, CallView, CompactionEntry, ContentPart, HookEntry,
    InputEntry, OpenQuestion, RewoundFacts, SampleEnd, SampleEntry, SampleView, SessionEntry,
    TimelineEntry, TurnEnd, TurnEntry, TurnView, View, diff_lines, is_hidden, shown_lines,
    spelled_out,
};
pub use window_usage::{WindowSource, WindowSourceKind, WindowUsage, window_usage};
