//! Running a script in a simulated world, with all laws checked on the way.

use std::fmt::Write as _;

use windlass_core::machine::Transitions;

use super::driver::World;
use super::script::{Script, Step};
use crate::laws::{ALL, Broken, Evidence, Held, Law, LawMoment, Tally};

/// Runs a script and checks laws: some after each step, those over all prefixes of the log before
/// each crash and at the end. The kit's own are [`laws::ALL`](crate::laws::ALL).
///
/// The world counts how often users' laws applied ([`World::applied`]).
///
/// # Errors
/// [`Broken`] with the first law that does not hold.
pub fn check_all(transitions: Transitions, laws: &[Law], script: &Script) -> Result<World, Broken> {
    let mut world = World::open(transitions, &script.opening)?;
    for step in &script.steps {
        if let Step::Crash { .. } = step {
            world.check(laws, LawMoment::End)?;
        }
        world.step(step)?;
        world.check(laws, LawMoment::Step)?;
    }
    world.check(laws, LawMoment::End)?;
    Ok(world)
}

/// Runs a script until a law of the kit breaks, and answers with all laws that are broken at that moment; none
/// when all hold to the end.
#[must_use]
pub fn watch(transitions: Transitions, script: &Script) -> Vec<Broken> {
    let mut world = match World::open(transitions, &script.opening) {
        Ok(world) => world,
        Err(broken) => return vec![broken],
    };
    for step in &script.steps {
        if let Step::Crash { .. } = step {
            let broken = world.evidence().broken(ALL, LawMoment::End);
            if !broken.is_empty() {
                return broken;
            }
        }
        let mut broken: Vec<Broken> = world.step(step).err().into_iter().collect();
        // An input that should have been refused, or changed something all the same, leaves a whole
        // moment. A decision that does not fit leaves none: the world stands half way.
        if broken.iter().any(|broken| broken.number() != Some(14)) {
            return broken;
        }
        broken.extend(world.evidence().broken(ALL, LawMoment::Step));
        if !broken.is_empty() {
            broken.extend(world.evidence().broken(ALL, LawMoment::End));
            return broken;
        }
    }
    world.evidence().broken(ALL, LawMoment::End)
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
    check_all(Transitions::CORE, ALL, &script).map_err(|broken| broken.to_string())?;
    let world = run(Transitions::CORE, &script).map_err(|broken| broken.to_string())?;
    let mut told = String::new();
    for line in &world.transcript {
        writeln!(told, "{line}").map_err(|error| error.to_string())?;
    }
    Ok(told)
}

impl World {
    /// Evidence for the laws now.
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
            checked: 0,
        }
    }

    /// Checks those of the laws that belong to a moment.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check(&mut self, laws: &[Law], moment: LawMoment) -> Held {
        let mut applied = std::mem::take(&mut self.applied);
        let held = self.evidence().check(laws, moment, &mut applied);
        self.applied = applied;
        held
    }

    /// Returns how often users' laws applied so far.
    #[must_use]
    pub fn applied(&self) -> &Tally {
        &self.applied
    }
}
