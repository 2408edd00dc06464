//! The search itself: breadth first, so that the first script that reaches a state is a shortest
//! one. A state is kept as the step that leads to it; its world is made again when its turn comes.

use std::collections::HashMap;
use std::fmt;

use super::bounded::Bounded;
use super::coverage::Coverage;
use super::key::{Key, Keys};
use crate::laws::{Broken, Evidence, Held, Law, LawMoment, NeverApplied, Tally};
use crate::world::{Script, Step, Taken, Transitions, World};

/// Bounds of a search, and the extent of its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// States at most.
    pub states: usize,
    /// Steps from the beginning at most.
    pub steps: usize,
    /// True if the laws over all prefixes of a log are checked at each new state, and not only
    /// those of what stands now at each transition.
    pub prefixes: bool,
    /// Of worlds that are taken for a known state, each how manieth is put to the test: all that
    /// may happen has to go on alike in both. 0 for none.
    pub audit: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Self { states: 100_000, steps: usize::MAX, prefixes: true, audit: 100 }
    }
}

/// Coverage of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Covered {
    /// States that were found.
    pub states: usize,
    /// States of which all that may happen was tried.
    pub tried: usize,
    /// Steps that were taken.
    pub transitions: usize,
    /// Merges that were put to the test.
    pub audits: usize,
    /// Steps from the beginning to the farthest state.
    pub steps: usize,
    /// True if nothing was left out: each state was tried.
    pub whole: bool,
    /// Counts of users' laws; each transition counts as a world.
    pub applied: Tally,
}

/// Reason for which a search stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "always boxed, and one a search")]
pub enum Failure {
    /// A law is broken.
    Law {
        /// Which, and where.
        broken: Broken,
        /// What leads there.
        script: Script,
    },
    /// Two worlds were taken for the same and do not go on alike.
    Unlike {
        /// The first world, up to the step that tells them apart.
        one: Script,
        /// The second one.
        other: Script,
        /// What is different.
        what: String,
    },
    /// A law of a user never applied.
    NeverApplied(NeverApplied),
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Law { broken, script } => write!(
                f,
                "{broken}\nin the world, which belongs into testkit/tests/turns:\n{script}"
            ),
            Self::NeverApplied(never) => never.fmt(f),
            Self::Unlike { one, other, what } => write!(
                f,
                "two worlds count as one state and go on differently ({what}): say in \
                 testkit/src/explore/key.rs what tells them apart\none:\n{one}\nthe other:\n{other}"
            ),
        }
    }
}

/// A state: the step that led to it first.
#[derive(Debug)]
struct Node {
    parent: usize,
    step: Option<Step>,
    depth: usize,
}

/// A search through one bounded world.
#[derive(Debug)]
struct Search<'a> {
    transitions: Transitions,
    laws: &'a [Law],
    bounded: &'a Bounded,
    extent: Extent,
    keys: Keys,
    nodes: Vec<Node>,
    known: HashMap<Key, usize>,
    merges: usize,
    covered: Covered,
}

/// Explores a bounded world: breadth first, each state once. Laws of a step are checked after each
/// transition, those over prefixes at each new state. What is taken on the way goes to `coverage`.
///
/// `transitions` is the core, or a policy of your own around it. The kit's laws for a search are
/// [`laws::SEARCHED`](crate::laws::SEARCHED).
///
/// # Errors
/// [`Failure`] with the law that is broken and the script that breaks it.
pub fn explore(
    transitions: Transitions,
    laws: &[Law],
    bounded: &Bounded,
    extent: Extent,
    coverage: &mut Coverage,
) -> Result<Covered, Box<Failure>> {
    let mut search = Search {
        transitions,
        laws,
        bounded,
        extent,
        keys: Keys::new(bounded.counts()),
        nodes: Vec::new(),
        known: HashMap::new(),
        merges: 0,
        covered: Covered::default(),
    };
    search.run(coverage)?;
    Ok(search.covered)
}

/// Explores several bounded worlds, and requires that each law of a user applied in one of them.
///
/// # Errors
/// As [`explore`]; [`Failure::NeverApplied`] with a law that never applied.
pub fn explore_all(
    transitions: Transitions,
    laws: &[Law],
    worlds: &[Bounded],
    extent: Extent,
    coverage: &mut Coverage,
) -> Result<Covered, Box<Failure>> {
    let mut all = Covered { whole: true, ..Covered::default() };
    for bounded in worlds {
        all.add(&explore(transitions, laws, bounded, extent, coverage)?);
    }
    let required = all.applied.require(laws, u64::try_from(worlds.len()).unwrap_or(u64::MAX));
    required.map_err(|never| Box::new(Failure::NeverApplied(never)))?;
    Ok(all)
}

impl Covered {
    /// Adds what a search of another world covered.
    pub fn add(&mut self, other: &Self) {
        self.states += other.states;
        self.tried += other.tried;
        self.transitions += other.transitions;
        self.audits += other.audits;
        self.steps = self.steps.max(other.steps);
        self.whole &= other.whole;
        self.applied.add(&other.applied);
    }
}

/// The world as it is before anything may happen.
pub(super) fn begin(transitions: Transitions, bounded: &Bounded) -> Result<World, Broken> {
    let mut world = World::open(transitions, &bounded.opening)?;
    for step in &bounded.given {
        world.step(step)?;
    }
    Ok(world)
}

impl Search<'_> {
    fn run(&mut self, coverage: &mut Coverage) -> Result<(), Box<Failure>> {
        let root = begin(self.transitions, self.bounded);
        let root = root.map_err(|broken| self.law(broken, 0, None))?;
        self.now(&root).map_err(|broken| self.law(broken, 0, None))?;
        coverage.note(root.taken(), || self.script(0, None));
        self.find(&root, 0, None);
        let mut cut = false;
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            if node.depth >= self.extent.steps {
                cut = true;
                break;
            }
            cut |= self.visit(at, coverage)?;
            at += 1;
        }
        self.covered.tried = at;
        self.covered.states = self.nodes.len();
        self.covered.steps = self.nodes.last().map_or(0, |node| node.depth);
        self.covered.whole = !cut;
        Ok(())
    }

    /// Tries all that may happen in a state. Answers whether a new state was left out.
    fn visit(&mut self, at: usize, coverage: &mut Coverage) -> Result<bool, Box<Failure>> {
        let world = self.world(at).map_err(|broken| self.law(broken, at, None))?;
        let mut cut = false;
        for step in self.bounded.steps(&world) {
            let mut next = world.clone();
            self.covered.transitions += 1;
            let held = next.step(&step).and_then(|()| self.now(&next));
            held.map_err(|broken| self.law(broken, at, Some(&step)))?;
            let taken = news(&world, &next);
            coverage.note(taken, || self.script(at, Some(&step)));
            let key = self.keys.of(&next);
            match self.known.get(&key) {
                Some(known) => self.merge(*known, &next, at, &step)?,
                None if self.nodes.len() >= self.extent.states => cut = true,
                None => {
                    let held = self.prefixes(&world, &next);
                    held.map_err(|broken| self.law(broken, at, Some(&step)))?;
                    self.find(&next, at, Some(step));
                }
            }
        }
        Ok(cut)
    }

    fn find(&mut self, world: &World, parent: usize, step: Option<Step>) {
        let depth = match step {
            Some(_) => self.nodes.get(parent).map_or(0, |node| node.depth + 1),
            None => 0,
        };
        let key = self.keys.of(world);
        self.known.insert(key, self.nodes.len());
        self.nodes.push(Node { parent, step, depth });
    }

    /// Checks the laws of a step, and counts how often users' laws applied.
    fn now(&mut self, world: &World) -> Held {
        let mut applied = Tally::default();
        world.evidence().check(self.laws, LawMoment::Step, &mut applied)?;
        self.covered.applied.add(&applied);
        Ok(())
    }

    /// The laws over the prefixes of a log. Those that the state before has in common were checked
    /// there.
    fn prefixes(&mut self, before: &World, world: &World) -> Held {
        if !self.extent.prefixes {
            return Ok(());
        }
        let (old, new) = (before.evidence(), world.evidence());
        let same = old.log.iter().zip(new.log).take_while(|(a, b)| a == b);
        let new = Evidence { checked: same.count(), ..new };
        let mut applied = Tally::default();
        new.check(self.laws, LawMoment::End, &mut applied)?;
        self.covered.applied.add(&applied);
        Ok(())
    }

    /// A world is taken for a known state; now and then that is put to the test.
    fn merge(
        &mut self,
        known: usize,
        world: &World,
        at: usize,
        step: &Step,
    ) -> Result<(), Box<Failure>> {
        self.merges += 1;
        let due = self.merges.checked_rem(self.extent.audit) == Some(0);
        if due {
            self.covered.audits += 1;
            self.audit(known, world, at, step)?;
        }
        Ok(())
    }

    /// Tries all that may happen in two worlds that count as one: it has to go on alike in both.
    fn audit(
        &mut self,
        known: usize,
        world: &World,
        at: usize,
        last: &Step,
    ) -> Result<(), Box<Failure>> {
        let first = self.world(known);
        let first = first.map_err(|broken| self.law(broken, known, None))?;
        let both = self.bounded.steps(&first);
        let others = self.bounded.steps(world);
        let unlike = |search: &Self, step: Option<&Step>, what: String| {
            let mut other = search.script(at, Some(last));
            other.steps.extend(step.cloned());
            Box::new(Failure::Unlike { one: search.script(known, step), other, what })
        };
        if both.len() != others.len() {
            let what = format!("{} steps may follow, and {}", both.len(), others.len());
            return Err(unlike(self, None, what));
        }
        for (step, other) in both.iter().zip(&others) {
            let (mut one, mut two) = (first.clone(), world.clone());
            let held = one.step(step).and_then(|()| two.step(other));
            held.map_err(|broken| self.law(broken, known, Some(step)))?;
            if news(&first, &one) != news(world, &two) {
                let what = format!("{:?} and {:?}", news(&first, &one), news(world, &two));
                return Err(unlike(self, Some(step), what));
            }
            if self.keys.of(&one) != self.keys.of(&two) {
                let what = self.keys.text(&one).to_owned();
                let what = format!("{what}\nand\n{}", self.keys.text(&two));
                return Err(unlike(self, Some(step), what));
            }
        }
        Ok(())
    }

    /// The world of a state.
    fn world(&self, at: usize) -> Result<World, Broken> {
        let mut world = begin(self.transitions, self.bounded)?;
        for step in self.path(at) {
            world.step(step)?;
        }
        Ok(world)
    }

    /// The steps that lead to a state.
    fn path(&self, at: usize) -> Vec<&Step> {
        let mut path = Vec::new();
        let mut at = at;
        while let Some(Node { parent, step: Some(step), .. }) = self.nodes.get(at) {
            path.push(step);
            at = *parent;
        }
        path.reverse();
        path
    }

    fn script(&self, at: usize, last: Option<&Step>) -> Script {
        let steps = self.bounded.given.iter().chain(self.path(at)).chain(last);
        Script { opening: self.bounded.opening.clone(), steps: steps.cloned().collect() }
    }

    fn law(&self, broken: Broken, at: usize, last: Option<&Step>) -> Box<Failure> {
        Box::new(Failure::Law { broken, script: self.script(at, last) })
    }
}

/// What was decided since.
fn news<'a>(before: &World, after: &'a World) -> &'a [Taken] {
    after.taken().get(before.taken().len()..).unwrap_or_default()
}
