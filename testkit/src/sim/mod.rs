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

use std::ops::Range;

use crate::laws::{Law, Tally};
use crate::world::{Posture, Transitions, WorldTool};

/// Core, faults, settings and tools of a simulation.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The core that is driven.
    pub transitions: Transitions,
    /// Planted fault of the store or the drivers.
    pub flaw: Option<Flaw>,
    /// The settings of all sessions; random ones if there are none.
    pub posture: Option<Posture>,
    /// Tools that models call in addition to the kit's own.
    pub tools: Vec<WorldTool>,
}

impl Plan {
    /// The settings of a session for which random ones were drawn.
    fn settle(&self, drawn: Posture) -> Posture {
        let mut posture = self.posture.clone().unwrap_or(drawn);
        for tool in &self.tools {
            if !posture.tools.contains(tool.declared()) {
                posture.tools.push(tool.declared().clone());
            }
        }
        posture
    }
}

/// A run that found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Counts of what happened in it.
    pub covered: Covered,
    /// The transcript of each session.
    pub lines: Vec<Vec<String>>,
    /// Counts of users' laws; each session counts as a world.
    pub applied: Tally,
}

/// Runs one simulation. The kit's own laws are [`laws::ALL`](crate::laws::ALL).
///
/// # Errors
/// [`Failure`] with the first law or promise that does not hold.
pub fn simulate(plan: &Plan, laws: &[Law], seed: u64) -> Result<Ran, Box<Failure>> {
    let failed = |breach| Failure::before_the_start(seed, breach);
    simulation::Simulation::new(plan.clone(), laws, seed).map_err(failed)?.run()
}

/// Runs the simulations of several seeds, and requires that each law of a user applied in one of them.
///
/// # Errors
/// As [`simulate`]; [`Breach::NeverApplied`] with a law that never applied.
pub fn simulate_all(
    plan: &Plan,
    laws: &[Law],
    seeds: Range<u64>,
) -> Result<(Covered, Tally), Box<Failure>> {
    let (mut covered, mut applied) = (Covered::default(), Tally::default());
    let (from, count) = (seeds.start, seeds.end.saturating_sub(seeds.start));
    for seed in seeds {
        let ran = simulate(plan, laws, seed)?;
        covered.add(&ran.covered);
        applied.add(&ran.applied);
    }
    let required = applied.require(laws, count).map_err(Breach::NeverApplied);
    required.map_err(|breach| Failure::before_the_start(from, breach))?;
    Ok((covered, applied))
}
