//! Random worlds of a user: how they begin, which tools there are, what happens how often, and a run
//! over many of them.

use std::cell::RefCell;
use std::fmt;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use windlass_core::machine::Transitions;

use super::super::posture::Posture;
use super::super::script::{Opening, Script, Step};
use super::super::simulate::check_all;
use super::super::tool::WorldTool;
use super::{phrase, settings, step};
use crate::laws::{Law, NeverApplied, Tally};

/// Describes random worlds.
///
/// The guide, `docs/adapters.md`, shows a policy that is checked in them.
#[derive(Debug, Clone)]
pub struct Worlds {
    steps: usize,
    seed: u64,
    opening: Option<Opening>,
    pub(super) tools: Vec<WorldTool>,
    pub(super) weights: Weights,
}

/// Weights of the kinds of steps. A kind with 0 never happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// Steps of users, and time that passes.
    pub user: u32,
    /// Steps of models: texts, calls, ends, failures.
    pub model: u32,
    /// Answers of tools, hooks, approvers, programs and compactions.
    pub answers: u32,
    /// Crashes, late answers, and facts that become durable.
    pub process: u32,
    /// Phrases: short scenes that random steps rarely make.
    pub phrases: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { user: 26, model: 33, answers: 28, process: 17, phrases: 12 }
    }
}

impl Default for Worlds {
    fn default() -> Self {
        Self { steps: 30, seed: 0, opening: None, tools: Vec::new(), weights: Weights::default() }
    }
}

/// A law that does not hold in a random world, or that never applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldsFailure {
    /// A law is broken.
    Broken {
        /// The law and the evidence against it.
        why: String,
        /// Smallest script found that breaks it.
        script: Box<Script>,
    },
    /// A law of a user never applied.
    NeverApplied(NeverApplied),
    /// No script could be made: all weights are 0, for example.
    NoWorlds(String),
}

impl std::error::Error for WorldsFailure {}

impl fmt::Display for WorldsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { why, script } => write!(f, "{why}\nin the world:\n{script}"),
            Self::NeverApplied(never) => never.fmt(f),
            Self::NoWorlds(why) => write!(f, "cannot make a random world: {why}"),
        }
    }
}

impl Worlds {
    /// Creates worlds of some 30 steps with random settings and the tools of the kit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of steps.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps.max(1);
        self
    }

    /// Sets the seed. The same seed makes the same worlds.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Opens each session as a line of a script says, for example `open rules=deny:pay`. No user
    /// changes the settings then.
    ///
    /// # Errors
    /// A description of the first word that cannot be read.
    pub fn opening(mut self, line: &str) -> Result<Self, String> {
        let script: Script = line.parse()?;
        if !script.steps.is_empty() {
            return Err(format!("{line} does not only open the session: leave its steps out"));
        }
        self.opening = Some(script.opening);
        Ok(self)
    }

    /// Adds a tool that models call.
    #[must_use]
    pub fn tool(mut self, tool: WorldTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets how often the kinds of steps happen.
    #[must_use]
    pub fn weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// Returns a strategy for their scripts, for use in `proptest!`.
    pub fn script(&self) -> impl Strategy<Value = Script> + use<> {
        let Weights { user, model, answers, process, phrases } = self.weights;
        let alone = step(self).prop_map(|step| vec![step]);
        let all = user + model + answers + process;
        // A weight of 0 is refused by the union.
        let mut kinds: Vec<(u32, BoxedStrategy<Vec<Step>>)> = Vec::new();
        kinds.extend((all > 0).then(|| (all.max(1), alone.boxed())));
        kinds.extend((phrases > 0).then(|| (phrases, phrase::phrase().boxed())));
        let some = match kinds.is_empty() {
            true => Just(Vec::new()).boxed(),
            false => proptest::strategy::Union::new_weighted(kinds).boxed(),
        };
        let steps = prop::collection::vec(some, 1..=self.steps);
        let opening = match &self.opening {
            Some(opening) => Just(opening.clone()).boxed(),
            None => settings::opening().boxed(),
        };
        let worlds = self.clone();
        (opening, steps).prop_map(move |(opening, steps)| worlds.assemble(opening, steps))
    }

    /// Runs `count` worlds with the laws checked, and requires that each law of a user applied.
    ///
    /// # Errors
    /// [`WorldsFailure`] with the law and the smallest script found that breaks it, or with the law
    /// that never applied.
    pub fn check(
        &self,
        transitions: Transitions,
        laws: &[Law],
        count: u32,
    ) -> Result<Tally, WorldsFailure> {
        let config = Config { cases: count, failure_persistence: None, ..Config::default() };
        let mut seed = [0; 32];
        for (at, byte) in seed.iter_mut().zip(self.seed.to_le_bytes()) {
            *at = byte;
        }
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let tally = RefCell::new(Tally::default());
        let ran = TestRunner::new_with_rng(config, random).run(&self.script(), |script| {
            let world = check_all(transitions, laws, &script);
            let world = world.map_err(|broken| TestCaseError::fail(broken.to_string()))?;
            tally.borrow_mut().add(world.applied());
            Ok(())
        });
        match ran {
            Ok(()) => {}
            Err(TestError::Fail(why, script)) => {
                let (why, script) = (why.to_string(), Box::new(script));
                return Err(WorldsFailure::Broken { why, script });
            }
            Err(TestError::Abort(why)) => return Err(WorldsFailure::NoWorlds(why.to_string())),
        }
        let tally = tally.into_inner();
        let required = tally.require(laws, u64::from(count));
        required.map(|()| tally).map_err(WorldsFailure::NeverApplied)
    }

    /// Puts a script together: its tools are in all of its settings.
    fn assemble(&self, mut opening: Opening, steps: Vec<Vec<Step>>) -> Script {
        self.equip(&mut opening.posture);
        // Most of a script means nothing while nobody has said anything.
        let first = [Step::send("hello")];
        let steps = first.into_iter().chain(steps.into_iter().flatten());
        let may = |step: &Step| self.opening.is_none() || !configures(step);
        let mut steps: Vec<Step> = steps.filter(may).collect();
        steps.iter_mut().for_each(|step| self.equip_step(step));
        Script { opening, steps }
    }

    fn equip_step(&self, step: &mut Step) {
        if let Step::Configure { posture, .. } = step {
            self.equip(posture);
        } else if let Step::Ceiling(posture) = step {
            self.equip(posture);
        } else if let Step::Keyed { step, .. } = step {
            self.equip_step(step);
        }
    }

    fn equip(&self, posture: &mut Posture) {
        for tool in &self.tools {
            if !posture.tools.contains(tool.declared()) {
                posture.tools.push(tool.declared().clone());
            }
        }
    }
}

fn configures(step: &Step) -> bool {
    let step = if let Step::Keyed { step, .. } = step { step } else { step };
    matches!(step, Step::Configure { .. })
}
