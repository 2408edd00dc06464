//! The ports of Windlass: what the engine asks of the world, as traits.
//!
//! An adapter implements one of them for one technology. Each trait states its laws; suites in
//! `windlass-testkit` hold stores, tool executors and clocks to them. [`Hooks`] and [`Approver`]
//! are declared and not asked yet: the engine has no place for them in [`Ports`]. Absent on purpose: a runtime, a socket, a file,
//! an adapter. Every port is object-safe, so an engine holds `Arc<dyn Port>` and has no type
//! parameters.

mod approver;
mod cancel;
mod clock;
pub mod codec;
mod hooks;
mod provider;
mod store;
mod tools;

use std::sync::Arc;

pub use approver::{Approval, ApprovalRequest, Approver, ApproverError};
pub use cancel::{CancelSignal, CancelSource, Cancelled};
pub use clock::Clock;
pub use hooks::{HookContext, HookError, HookPoint, HookVerdict, Hooks};
pub use provider::{Provider, ProviderError, SampleRequest, SampleStream, Streaming};
pub use store::{
    Claimed, Durability, LogStore, Repair, SessionHead, StoreCapabilities, StoreError,
    StoreErrorKind, StoreRetry, Verified,
};
pub use tools::{NoProgress, Progress, ToolCall, ToolContext, ToolError, ToolExecutor};

/// The ports that an engine runs on.
#[derive(Clone)]
pub struct Ports {
    /// Asks models.
    pub provider: Arc<dyn Provider>,
    /// Keeps logs.
    pub store: Arc<dyn LogStore>,
    /// Runs tools.
    pub tools: Arc<dyn ToolExecutor>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}
