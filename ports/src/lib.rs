//! Ports of Windlass: traits through which the engine reaches models, stores, tools, people and time.
//!
//! An adapter implements one of them for one technology. Each trait states its laws; suites in
//! `windlass-testkit` hold stores, blobs, leases, inboxes, live relays, tool executors, hooks,
//! approvers and clocks to them. Absent on purpose: a runtime, a socket, a file, an adapter. Every
//! port is object-safe, so an engine holds `Arc<dyn Port>` and has no type parameters. [`Wire`] is
//! the one that the engine does not ask: providers that speak HTTP do.

mod approver;
mod blobs;
mod cancel;
mod chain;
mod clock;
pub mod codec;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod glob;
mod hearing;
mod hooks;
mod inbox;
pub mod json;
mod leases;
mod live;
mod log;
mod news;
mod program;
mod programs;
mod provider;
mod socket;
mod store;
mod summary;
pub mod sync;
mod tools;
mod wire;

use std::sync::Arc;

pub use approver::{
    AnsweredElsewhere, Approval, ApprovalRequest, Approved, Approver, ApproverError,
    ApproverErrorKind, NobodyAsked,
};
pub use blobs::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobWriter, Blobs, KeptReader, NoBlobs,
    OutputKeeper, is_blob_name,
};
pub use cancel::{CancelSignal, CancelSource, Cancelled};
pub use chain::Link;
pub use clock::Clock;
pub use error::{ErrorKind, PortError};
pub use glob::glob;
pub use hearing::{Hearing, HearingSource};
pub use hooks::{
    HookCall, HookContext, HookError, HookErrorKind, HookSubject, Hooks, NoHooks, Redactor,
};
pub use inbox::{
    Inbox, InboxCapabilities, InboxError, InboxErrorKind, InvalidLetterId, Letter, LetterId,
};
pub use leases::{Holding, Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, Leases};
pub use live::{Heard, LiveCapabilities, LiveRelay};
pub use log::Log;
pub use news::{News, NewsSource};
pub use program::{
    PreparedProgram, ProgramAnswer, ProgramCall, ProgramDone, ProgramRuntime, ProgramStep,
    ProgramWorld, RunningProgram,
};
pub use programs::Programs;
pub use provider::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, ProviderErrorDetails,
    SampleRequest, SampleStream, Streaming,
};
pub use socket::{WireOpened, WireSocket};
pub use store::{
    Claimed, Durability, Fencing, LogStore, MAX_APPEND_BYTES, MAX_FACT_BYTES, Repair, Snapshot,
    StoreCapabilities, StoreError, StoreErrorKind, Verified,
};
pub use summary::{SessionFilter, SessionHead, Summary};
pub use tools::{
    NoProgress, Progress, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor,
};
pub use wire::{
    Segments, Wire, WireBody, WireError, WireErrorKind, WireHeader, WireHeaders, WireRequest,
    WireResponse,
};

/// The ports that an engine runs on.
#[derive(Clone)]
pub struct Ports {
    /// Provider of models.
    pub provider: Arc<dyn Provider>,
    /// Store of session logs.
    pub store: Arc<dyn LogStore>,
    /// Keeps outputs that are too long for a log.
    pub blobs: Arc<dyn Blobs>,
    /// Executor of tools.
    pub tools: Arc<dyn ToolExecutor>,
    /// Has the user's own say.
    pub hooks: Arc<dyn Hooks>,
    /// Approver of calls that need a person.
    pub approver: Arc<dyn Approver>,
    /// Source of time and entropy.
    pub clock: Arc<dyn Clock>,
    /// Runs the programs that models write.
    pub programs: Programs,
}
