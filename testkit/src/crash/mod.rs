//! Crashes: processes that die at each sync of a store, and a judge of what is left.
//!
//! Three parts for processes, each of use by itself:
//!
//! - [`CrashingStore`] is a layer over any log store. By its [`Plan`] it kills the process right
//!   before or right after the N-th thing that the store makes durable, or says that the disk
//!   failed there or was full. It belongs into test programs, never into one that is shipped.
//! - [`judge`] looks at what the processes of a turn have left (the log, what was acknowledged to
//!   the user, the requests that the model saw, the effects that tools had) and names what is wrong.
//! - [`sweep`](fn@sweep) has a [`Subject`] live through every fault at every sync of an undisturbed
//!   run, and through second faults while it recovers, and judges each life.
//!
//! [`at_each_append`] needs no processes: it runs an engine in the test, and drops its runtime at each
//! append.
//!
//! A subject is your program, started as a process: its `live` runs it under the plans that it is
//! given, one a process, then without one until the turn has settled, and gathers what is left.

mod deaths;
mod judge;
mod plan;
mod requests;
mod store;
mod sweep;

pub use deaths::{Death, DeathFailure, Deaths, ScenarioLife, at_each_append};
pub use judge::{Effect, Invariant, Scene, Violation, judge};
pub use plan::{Fault, Plan, PlanError};
pub use store::CrashingStore;
pub(crate) use store::die;
pub use sweep::{Extent, Life, NotDurable, Report, Subject, Wrong, sweep};
