//! Running a script in a simulated world, with all laws checked on the way.

use std::fmt::Write as _;

use windlass_core::machine::Transitions;

use super::driver::World;
use super::script::{Script, Step};
use crate::laws::{Broken, Evidence, Held};

/// Runs a script, checks the laws of a log after each step, and those of all its prefixes before
/// each crash and at the end.
///
/// # Errors
/// [`Broken`] with the first law that does not hold.
pub fn check_all(transitions: Transitions, script: &Script) -> Result<World, Broken> {
    let mut world = World::open(transitions, &script.opening)?;
    for step in &script.steps {
        if let Step::Crash { .. } = step {
            world.check_prefixes()?;
        }
        world.step(step)?;
        world.check_now()?;
    }
    world.check_prefixes()?;
    Ok(world)
}

/// Runs a script until a law breaks, and answers with all laws that are broken at that moment; none
/// when all hold to the end.
#[must_use]
pub fn watch(transitions: Transitions, script: &Script) -> Vec<Broken> {
    let mut world = match World::open(transitions, &script.opening) {
        Ok(world) => world,
        Err(broken) => return vec![broken],
    };
    for step in &script.steps {
        if let Step::Crash { .. } = step {
            let broken = world.evidence().broken_prefixes();
            if !broken.is_empty() {
                return broken;
            }
        }
        let mut broken: Vec<Broken> = world.step(step).err().into_iter().collect();
        // An input that should have been refused, or changed something all the same, leaves a whole
        // moment. A decision that does not fit leaves none: the world stands half way.
        if broken.iter().any(|broken| broken.law != 14) {
            return broken;
        }
        broken.extend(world.evidence().broken_now());
        if !broken.is_empty() {
            broken.extend(world.evidence().broken_prefixes());
            return broken;
        }
    }
    world.evidence().broken_prefixes()
}

/// Runs a script and checks only what a world checks by itself: laws 12, 13 and 14.
///
/// # Errors
/// [`Broken`] with the first law that does not hold.
pub fn run(transitions: Transitions, script: &Script) -> Result<World, Broken> {
    let mut world = World::open(transitions, &script.opening)?;
    for step in &script.steps {
        world.step(step)?;
    }
    Ok(world)
}

/// Runs a script, with all laws checked, and tells what happened.
///
/// # Errors
/// What is wrong with the script, or the law that does not hold.
pub fn transcript(script: &str) -> Result<String, String> {
    let script: Script = script.parse()?;
    check_all(Transitions::CORE, &script).map_err(|broken| broken.to_string())?;
    let world = run(Transitions::CORE, &script).map_err(|broken| broken.to_string())?;
    let mut told = String::new();
    for line in &world.transcript {
        writeln!(told, "{line}").map_err(|error| error.to_string())?;
    }
    Ok(told)
}

impl World {
    /// What the laws are held against now.
    #[must_use]
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            transitions: &self.transitions,
            ceiling: &self.ceiling,
            ceilings: &self.ceilings,
            log: &self.log,
            durable: self.machine.durable(),
            session: self.machine.session(),
            history: self.machine.history(),
            running: self.machine.running(),
            begun: &self.begun,
            losses: &self.losses,
        }
    }

    /// Checks the laws of what stands now.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check_now(&self) -> Held {
        self.evidence().check_now()
    }

    /// Checks the laws that speak of all prefixes of the log.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check_prefixes(&self) -> Held {
        self.evidence().check_prefixes()
    }
}
