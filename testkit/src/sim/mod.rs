//! The simulation: many sessions, several processes and one faulty log, from one number.
//!
//! Processes drive sessions as the engine does, over a store that keeps bytes: appends are written,
//! then synced, and may be torn, lost, repeated or late; power and processes fail at any step, and a
//! crash keeps any part of what was not synced. Clocks jump, models are hostile, tools finish in any
//! order or never, users speak at any time, and a second process claims what a first one drives.
//!
//! While the faults last, each session is held to the laws after each step, and the whole to the
//! [`Promise`]s, by a witness outside of every process. Then the faults stop, and everything must
//! come to rest with nothing lost.
//!
//! Synchronous, and the same for the same seed to the byte. Absent: threads, timers, real files.

mod answers;
mod breach;
mod dice;
mod disk;
mod doings;
mod driver;
mod faults;
mod flaw;
mod frame;
mod happening;
mod lives;
mod models;
mod people;
mod replies;
mod request;
mod settle;
mod simulation;
mod starting;
mod store;
mod witness;

pub use breach::{Breach, Failure, Promise};
pub use flaw::Flaw;
pub use happening::{Covered, Happening};

use crate::world::Transitions;

/// What is simulated.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// The core that is driven.
    pub transitions: Transitions,
    /// What is wrong with the store or the drivers, on purpose.
    pub flaw: Option<Flaw>,
}

/// A run that found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What happened in it, and how often.
    pub covered: Covered,
    /// The transcript of each session.
    pub lines: Vec<Vec<String>>,
}

/// Runs one simulation.
///
/// # Errors
/// [`Failure`] with the first law or promise that does not hold.
pub fn simulate(plan: Plan, seed: u64) -> Result<Ran, Box<Failure>> {
    let failed =
        |breach| Box::new(Failure { seed, breach, session: String::new(), tail: Vec::new() });
    simulation::Simulation::new(plan, seed).map_err(failed)?.run()
}
