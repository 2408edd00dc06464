//! A simulated world: one session, its log, the processes that drive it one after the other, and
//! a provider, tools, hooks, people and a clock that do what a script says.
//!
//! Pure and synchronous, so that thousands of worlds run in a second. Absent: real time, threads,
//! randomness; a script and a seed say all.

mod amounts;
mod clients;
mod declared;
mod driver;
mod events;
#[cfg_attr(not(feature = "suites"), expect(dead_code, unreachable_pub, reason = "for the suites"))]
pub(crate) mod fixed;
mod happen;
mod parse;
mod posture;
mod programs;
mod proposed;
mod script;
mod simulate;
mod spelled;
mod taken;
mod tool;
mod transcript;
mod words;

pub mod facts;
pub mod fair;
pub mod random;

pub(crate) use clients::awaited;
pub use declared::{hook, rules_met};
pub use driver::World;
pub(crate) use events::{defect, event};
pub(crate) use posture::AGENT;
pub use posture::{Posture, RECONCILES, TOOLS};
pub use programs::{ProgramEndWord, ProgramWord, ended, is_program};
pub use random::{Weights, Worlds, WorldsFailure};
pub use script::{Compacted, Cost, Durability, Kin, Opening, Script, Step, Word, picture};
pub use simulate::{check_all, run, transcript, watch};
pub use taken::{Course, Place, Room, Taken, Then, Told};
pub use tool::{DeclaredTool, WorldTool};
pub use transcript::{effect, line, outcome};
pub use windlass_core::machine::Transitions;
