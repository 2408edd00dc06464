//! Faults: the N-th call of a store fails, or the process dies at it. The judge of a sweep counts what
//! became of it.
//!
//! - [`FaultingStore`] is a layer over any log store. By its [`CallPlan`] it fails or kills at the
//!   N-th call of one method of the port, or fails at random calls ([`RandomFaults`]). It belongs into test programs, never into one that is
//!   shipped. [`crash`](crate::crash) does the same at everything durable, for one turn of a
//!   command.
//! - [`ShortLibrary`] has reads and writes of a whole program move fewer bytes than asked, below the
//!   store: the program is run with it.
//! - [`FaultTally`] counts, for a class of faults, what was acknowledged and what became of it.

mod plan;
mod short;
mod store;
mod tally;

pub use plan::{CallFault, CallPlan, CallPlanError, RandomFaults, StoreCall};
pub use short::{NoShortLibrary, ShortCalls, ShortLibrary, ShortPart, ShortPlan};
pub use store::FaultingStore;
pub use tally::{FaultTally, LifeEnd};
