//! The turn machine of Windlass, as data transitions.
//!
//! A *turn* is one cycle from a user's input to a settled outcome. This crate holds what is
//! true of turns and nothing else: which facts there are, which facts an input leads to
//! ([`decide`]), what a fact does to the state ([`evolve`]), what the world owes a state
//! ([`owed`]), when to look again ([`deadline`]), and what the model may see ([`History`],
//! [`render`]).
//!
//! Absent on purpose: I/O, async, threads, clocks, randomness, hash maps. Time and entropy come
//! in with the inputs, ids are log positions. The crate is `no_std`, so the compiler refuses
//! most of these.

#![no_std]

extern crate alloc;

mod agent;
mod asked;
mod assemble;
mod because;
mod budget;
mod call;
mod cause;
mod chain;
mod compact;
mod compaction;
mod context;
mod deadline;
mod decide;
mod digest;
mod effect;
mod error;
mod evolve;
mod fact;
mod failure;
mod folded;
mod fork;
mod gate;
mod goal;
mod history;
mod hook;
mod id;
mod image;
mod input;
mod item;
mod ledger;
mod limits;
pub mod machine;
mod nonempty;
mod options;
mod outcome;
mod owed;
mod program;
mod record;
mod render;
mod replay;
mod rule;
mod scope;
mod session;
mod settings;
mod snapshot;
mod stage;
mod stream;
mod time;
mod usage;
mod view;

pub use agent::{AgentSpec, Lent, Stranger, Took, WhenParentEnds, stranger};
pub use asked::{Asked, FailedAttempt, Lowered, LoweredBecause, LoweredPart, Lowering, Sent};
pub use assemble::{Assembled, Assembler, Caps, Overflow};
pub use because::Because;
pub use call::{Kept, Observation, ObservationStatus, Verdict};
pub use cause::{DecisionCause, InputKind};
pub use chain::{Chain, ChainIter};
pub use compact::{SUMMARY_INSTRUCTIONS, Sketch, fallback_summary, parse_summary, sketch};
pub use compaction::{Cut, Part, Shown, Strategy, Window};
pub use deadline::deadline;
pub use decide::{Decided, child, decide, decided, open};
pub use digest::Digest;
pub use effect::{Demand, EffectKey, Owed};
pub use error::{Misfit, Reject};
pub use evolve::{evolve, opened};
pub use fact::*;
pub use failure::{FailureKind, Retry, SampleFailure};
pub use folded::{FOLD_VERSION, Folded};
pub use fork::{Fork, NoFork};
pub use gate::{Asking, Gate, Gates, Passed, Word};
pub use goal::{GOAL_TOOL, Goal, GoalEnd, GoalState, Standing};
pub use history::{History, MadeCall};
pub use hook::{
    ContextUse, Denial, Edit, Editable, GateLevel, HookAt, HookOrder, HookPoint, HookReply,
    HookSpec, HookTopic, HookVerdict, OnFailure, PointProperties, SessionStart, Trigger,
};
pub use id::{CallId, Epoch, InputId, InvalidSessionId, Seq, SessionId, TurnId};
pub use image::{Image, ImageMedia};
pub use input::{
    Answer, Compaction, Input, OpenSession, ProgramNews, SampleNews, Stamped, Widening,
};
pub use item::{CallItem, Item, Opaque, ReasoningItem, StopReason};
pub use ledger::{CacheBreak, CacheEntry, CacheLedger};
pub use limits::Limits;
pub use nonempty::NonEmpty;
pub use options::{AnswerShape, RequestOptions, ToolChoice};
pub use outcome::{Interrupter, LimitKind, Outcome};
pub use owed::owed;
pub use program::{
    Fate, Made, PROGRAM_TOOL, ProgramEnd, ProgramFault, ProgramLimits, ProgramMode, ProgramOutcome,
    ProgramTransport, SampleKind, Telling, ToldCall, ToldCalls, feedback, program_tool,
};
pub use record::{DecodeKind, Draft, FACT_VERSION, Recorded};
pub use render::{Prompt, PromptItem, output, render, tool_choice};
pub use replay::{
    Decide, Divergence, Replacement, Replay, ReplayReport, RequestDivergence, UnverifiableDecision,
    UnverifiableReason, replay,
};
pub use rule::{ArgumentPattern, Rule, RuleVerdict};
pub use scope::Scope;
pub use session::{
    CallState, Delivery, Fitness, Hold, Measured, Pending, Phase, Progress, Question, Queued,
    QueuedPart, Session, Spent, Stop, Turn,
};
pub use settings::{Concurrency, EffectClass, Mode, Permissions, Settings, ToolSpec};
pub use snapshot::{Cycle, CycleCall, CycleMessages, TurnSnapshot, TurnSnapshots};
pub use stage::{
    AfterCalls, Backoff, Change, Changes, Compacting, Concluding, Executing, Opening, Ready, Said,
    Sampling, Stage, StageName, Then,
};
pub use stream::{Delta, StreamEvent};
pub use time::Timestamp;
pub use usage::{Price, Usage};
pub use view::{
    CallEntry, CallSource, CallStage, CallView, CompactionEntry, ContentPart, Entry, HookEntry,
    InputEntry, OpenQuestion, SampleEnd, SampleEntry, SampleView, SessionEntry, TurnEnd, TurnEntry,
    TurnView, View,
};
