//! A simulated world: one session, its log, the processes that drive it one after the other, and
//! a provider, tools, users and a clock that do what a script says.
//!
//! Pure and synchronous, so that thousands of worlds run in a second. Absent: real time, threads,
//! randomness; a script and a seed say all.

mod driver;
mod machine;
mod parse;
mod posture;
mod script;
mod simulate;
mod transcript;
mod words;

pub mod facts;
pub mod fair;
pub mod random;

pub use driver::World;
pub use machine::{Decide, Machine};
pub use posture::{Posture, TOOLS};
pub use script::{Durability, Opening, Script, Step};
pub use simulate::{check_all, run, transcript};
pub use transcript::{effect, line, outcome};
