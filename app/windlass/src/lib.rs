#![doc = include_str!("../README.md")]

/// The programs of the guide are run as tests.
#[cfg(all(
    doctest,
    feature = "demo",
    feature = "file",
    feature = "memory",
    feature = "replay",
    feature = "typed"
))]
#[doc = include_str!("../../../docs/embedding.md")]
mod guide {}

mod answer;
mod builder;
mod closures;
#[cfg(all(test, feature = "typed"))]
mod conformance;
mod conversation;
mod error;
#[doc(hidden)]
pub mod provider;
#[cfg(feature = "typed")]
mod schema;
pub mod store;
#[cfg(feature = "typed")]
mod tool;
mod turn;
mod windlass;

pub use answer::Answer;
pub use builder::Builder;
pub use conversation::Conversation;
pub use error::{BoxError, Error, Result, TurnFailure};
#[cfg(feature = "typed")]
pub use tool::{Tool, tool};
pub use turn::Turn;
pub use windlass::Windlass;

pub use windlass_engine::core::{
    AgentSpec, Concurrency, Delta, EditTools, EffectClass, Fact, HookPoint, HookReply, Limits,
    Mode, Permissions, Scope, SessionId, Settings, TurnOutcome,
};
pub use windlass_engine::ports::{
    ApprovalDecision, ApprovalRequest, ExternalApprover, HookCall, HookContext, HookSubject,
    Tenants, ToolContext,
};
pub use windlass_engine::{
    AwaitError, AwaitedTurn, Config, DriverEnd, Engine, Event, EventStream, ForkError, ForkReport,
    HandOff, LiveBatch, LiveEvent, LiveKind, NewInput, PendingApproval, PrefixReport,
    PublishedFact, RecoveryReport, SendError, SessionCommand, SessionHandle, SessionInfo, Start,
    StartError, StoreStatus, TurnReport, TurnStream, UserInput, WaitingInput,
};

/// Vocabulary of turns: facts, settings, outcomes and the views over them. It performs no I/O.
pub use windlass_engine::core;
/// Traits that adapters implement, with their promises.
pub use windlass_engine::ports;

#[cfg(feature = "anthropic")]
pub use windlass_anthropic as anthropic;
pub use windlass_clock as clock;
#[cfg(feature = "demo")]
pub use windlass_demo as demo;
#[cfg(feature = "encrypted")]
pub use windlass_encrypted as encrypted;
#[cfg(feature = "file")]
pub use windlass_file as file;
#[cfg(feature = "gemini")]
pub use windlass_gemini as gemini;
#[cfg(feature = "hooks")]
pub use windlass_hooks as hooks;
#[cfg(feature = "http")]
pub use windlass_http as http;
#[cfg(feature = "interaction")]
pub use windlass_interaction as interaction;
#[cfg(feature = "javascript")]
pub use windlass_javascript as javascript;
#[cfg(feature = "localfs")]
pub use windlass_localfs as localfs;
#[cfg(feature = "mcp")]
pub use windlass_mcp as mcp;
#[cfg(feature = "memory")]
pub use windlass_memory as memory;
#[cfg(feature = "nats")]
pub use windlass_nats as nats;
#[cfg(feature = "openai")]
pub use windlass_openai as openai;
#[cfg(feature = "postgres")]
pub use windlass_postgres as postgres;
#[cfg(feature = "ptclisp")]
pub use windlass_ptclisp as ptclisp;
#[cfg(feature = "replay")]
pub use windlass_replay as replay;
#[cfg(feature = "route")]
pub use windlass_route as route;
#[cfg(feature = "sled")]
pub use windlass_sled as sled;
#[cfg(feature = "sqlite")]
pub use windlass_sqlite as sqlite;
#[cfg(feature = "web")]
pub use windlass_web as web;

/// Starts to build a runtime for a model: `PROVIDER/MODEL`, for example `openai/gpt-5` or
/// `anthropic/claude-sonnet-4-5`, or `demo`, which needs no key.
///
/// Keys and addresses come from the usual environment variables, for example `OPENAI_API_KEY` and
/// `OPENAI_BASE_URL`. Every other part has a default.
pub fn builder(model: impl Into<String>) -> Builder {
    Builder::new(model)
}

/// The examples of the test kit's README are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../testkit/README.md")]
mod testkit {}
