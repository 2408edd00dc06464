//! Ports of Windlass: traits through which the engine reaches models, stores, tools, people and
//! time.
//!
//! An adapter implements one of them for one technology. Each trait states its laws. Suites in
//! `windlass-testkit` check them for stores, blobs, leases, mailboxes, live buses, tool executors,
//! hooks, approvers, clocks and sandboxes. Absent on purpose: a runtime, a socket, a file, an adapter. Every
//! port is object-safe, so an engine holds `Arc<dyn Port>` and has no type parameters. [`Wire`] is
//! the only port that the engine does not call: providers that use HTTP do.

mod approver;
mod blobs;
mod cancel;
mod chain;
mod clock;
pub mod codec;
mod error;
mod fences;
mod file_restorer;
#[doc(hidden)]
pub mod fuzzing;
mod glob;
mod grants;
mod guide;
mod hooks;
mod images;
pub mod json;
mod leases;
mod live_bus;
mod live_channel;
mod log_reader;
mod log_signal;
mod mailbox;
mod other_language;
mod path;
mod preview;
mod program;
mod program_runtimes;
mod provider;
mod question;
mod sandbox;
mod shell;
mod socket;
mod store;
mod summary;
pub mod sync;
mod tools;
mod wire;

use std::sync::Arc;

pub use approver::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, ApproverErrorKind,
    ExternalApprover, GrantOffer, NoApprover, arguments_digest, arguments_sha256,
};
pub use blobs::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobReader, BlobStore, BlobWriter, NoBlobStore,
    OutputStore, is_blob_name,
};
pub use cancel::{CancelFuture, CancelSignal, CancelSource};
pub use chain::ChainLink;
pub use clock::Clock;
pub use error::{ErrorKind, PortError};
pub use fences::{FenceRules, FencedBlock, fenced_blocks};
pub use file_restorer::{FileRestorer, FileToRestore, RestoreResult};
pub use glob::glob;
pub use grants::{Grant, GrantedCalls, Grants, GrantsError, GrantsErrorKind, NewGrant};
pub use guide::{GuideSyntax, ProgramGuide};
pub use hooks::{
    HookCall, HookContext, HookError, HookErrorKind, HookSubject, Hooks, NoHooks, Redactor,
    TurnCall, TurnCallStatus, TurnCalls,
};
pub use images::{image_media, store_image};
pub use leases::{Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, LeaseStatus, Leases};
pub use live_bus::{LiveBus, LiveBusCapabilities, LiveItem};
pub use live_channel::{LiveReceiver, LiveSender};
pub use log_reader::LogReader;
pub use log_signal::{LogSignal, LogSignalSource};
pub use mailbox::{
    InvalidMailboxCommandId, Mailbox, MailboxCapabilities, MailboxCommand, MailboxCommandId,
    MailboxError, MailboxErrorKind,
};
pub use other_language::other_language;
pub use path::normal_path;
pub use preview::json_definition;
pub use program::{
    PreparedProgram, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult, ProgramRuntime,
    ProgramStep, RunningProgram, TEXT_TOOLS, text_output,
};
pub use program_runtimes::ProgramRuntimes;
pub use provider::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, ProviderErrorDetails,
    SampleRequest, SampleStream, StreamState, WebSearchSupport,
};
pub use question::{change_lines, outside_lines, question_lines, unified_diff};
pub use sandbox::{
    ConfinedLaunch, NetworkAccess, NoSandbox, ProcessLaunch, ProcessLimits, Sandbox, SandboxError,
    SandboxErrorKind, SandboxProfile, SandboxStrength,
};
pub use shell::{
    Certainty, CommandLine, CommandPattern, NoPrefix, command_prefix, is_command_prefix,
};
pub use socket::{WireOpenOutcome, WireSocket};
pub use store::{
    Durability, Fencing, LogStore, LogVerification, MAX_APPEND_BYTES, MAX_FACT_BYTES,
    MAX_STORED_FACT_BYTES, SessionClaim, StoreCapabilities, StoreError, StoreErrorKind,
    StoredCheckpoint, TailRepair, VerifiedLog, counted_bytes,
};
pub use summary::{SessionFilter, SessionListing, SessionSummary, Tenants};
pub use tools::{
    ArgumentPath, FileChange, NoProgress, ProgressSink, ToolCall, ToolContext, ToolEnd, ToolError,
    ToolErrorKind, ToolExecutor, ToolProcess, ToolProcessState,
};
pub use wire::{
    Segments, Wire, WireBody, WireError, WireErrorKind, WireHeader, WireHeaders, WireRequest,
    WireResponse,
};

/// Ports that an engine runs on.
#[derive(Clone)]
pub struct Ports {
    /// Provider of models.
    pub provider: Arc<dyn Provider>,
    /// Store of session logs.
    pub store: Arc<dyn LogStore>,
    /// Store of outputs that are too long for a log.
    pub blobs: Arc<dyn BlobStore>,
    /// Executor of tools.
    pub tools: Arc<dyn ToolExecutor>,
    /// The user's own decisions in a turn.
    pub hooks: Arc<dyn Hooks>,
    /// Approver of calls that need a person.
    pub approver: Arc<dyn Approver>,
    /// Source of time and entropy.
    pub clock: Arc<dyn Clock>,
    /// Runtimes of the programs that models write.
    pub programs: ProgramRuntimes,
}
