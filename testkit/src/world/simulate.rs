//! Running a script in a simulated world, with all laws checked on the way.

use std::fmt::Write as _;

use super::driver::World;
use super::machine::Machine;
use super::script::{Script, Step};
use crate::laws::{
    Broken, Held, law_01_live_equals_fold, law_02_every_prefix_settles, law_03_running_equals_owed,
    law_04_no_key_starts_twice, law_05_one_observation_a_call, law_07_nothing_said_is_lost,
    law_08_no_sample_without_reason, law_09_limits_hold, law_10_prompts_extend,
    law_11_finishing_order_does_not_matter, law_15_denied_calls_never_start,
    law_16_effectful_starts_once,
};

/// Runs a script, checks the laws of a log after each step, and those of all its prefixes before
/// each crash and at the end.
///
/// # Errors
/// [`Broken`] with the first law that does not hold.
pub fn check_all(machine: Machine, script: &Script) -> Result<World, Broken> {
    let mut world = World::open(machine, &script.opening)?;
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

/// Runs a script and checks only what a world checks by itself: laws 12, 13 and 14.
///
/// # Errors
/// [`Broken`] with the first law that does not hold.
pub fn run(machine: Machine, script: &Script) -> Result<World, Broken> {
    let mut world = World::open(machine, &script.opening)?;
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
    check_all(Machine::CORE, &script).map_err(|broken| broken.to_string())?;
    let world = run(Machine::CORE, &script).map_err(|broken| broken.to_string())?;
    let mut told = String::new();
    for line in &world.transcript {
        writeln!(told, "{line}").map_err(|error| error.to_string())?;
    }
    Ok(told)
}

impl World {
    /// Checks the laws of what stands now.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check_now(&self) -> Held {
        law_01_live_equals_fold::check(&self.log, &self.session, &self.history)?;
        law_02_every_prefix_settles::check_deadline(&self.machine, &self.ceiling, &self.session)?;
        law_03_running_equals_owed::check(&self.log, self.durable, &self.owed(), &self.running)?;
        law_04_no_key_starts_twice::check(&self.begun, &self.losses)?;
        law_05_one_observation_a_call::check(&self.log)?;
        law_07_nothing_said_is_lost::check(&self.log, &self.session)?;
        law_08_no_sample_without_reason::check(&self.log)?;
        law_09_limits_hold::check(&self.log, &self.ceiling)?;
        law_15_denied_calls_never_start::check(&self.log)?;
        law_16_effectful_starts_once::check(&self.log, &self.begun)
    }

    /// Checks the laws that speak of all prefixes of the log.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check_prefixes(&self) -> Held {
        law_02_every_prefix_settles::check(self.machine, &self.ceiling, &self.log)?;
        law_10_prompts_extend::check(self.machine.remember, &self.log)?;
        law_11_finishing_order_does_not_matter::check(&self.machine, &self.log)
    }
}
