//! Bounded worlds: how a world begins and what may happen in it, as text.

use std::str::FromStr;

use windlass_core::{CallProgress, Demand, EffectKey, Fact, Session};

use super::key::{Counts, Loss, kind};
use super::search::Extent;
use crate::world::{Durability, Opening, Script, Step, World, awaited, is_program};

/// A bounded world.
///
/// It is text in the words of a script: `world NAME`, then `open ..` as a script has it, then
/// `items N` and `states N` for its bounds, `given STEP` for what has happened already, and one line for each step that may
/// happen. A line that says which of several is meant (`done 0 ok`) stands for each of them;
/// `late 0` stands for one late answer of each kind of effect, `never 0` for each effect that is
/// owed and has not begun. `due` is the passing of time until exactly the session's deadline, and
/// `early` until a millisecond before it. A step that means nothing where a world stands is not
/// taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// Its name.
    pub name: String,
    /// How it begins.
    pub opening: Opening,
    /// What has happened already.
    pub given: Vec<Step>,
    /// Items that an answer of the model has at most.
    pub items: usize,
    /// States at most, where nobody says otherwise.
    pub states: usize,
    /// What may happen.
    pub moves: Vec<Move>,
}

/// What may happen in a bounded world.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a few for each world")]
pub enum Move {
    /// A step, with each number that means something.
    Step(Step),
    /// Time passes until the session's deadline.
    Due,
    /// Time passes until a millisecond before it.
    Early,
}

/// A crash that loses so many facts loses all that are not durable.
const ALL: usize = 1_000;

/// The bounded worlds of the kit, as text.
const WORLDS: &str = include_str!("../../explore/worlds.txt");

impl Bounded {
    /// The bounded worlds that the kit holds the core to.
    ///
    /// # Errors
    /// What is wrong with their text.
    pub fn all() -> Result<Vec<Self>, String> {
        Self::read(WORLDS)
    }

    /// Reads bounded worlds.
    ///
    /// # Errors
    /// The line that cannot be read, and why.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let mut worlds: Vec<Self> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = match (line.strip_prefix("world "), worlds.last_mut()) {
                (Some(name), _) => {
                    worlds.push(Self::new(name));
                    Ok(())
                }
                (None, Some(world)) => world.line(line),
                (None, None) => Err(String::from("a world begins with world NAME")),
            };
            read.map_err(|error| format!("line {}, {line:?}: {error}", at + 1))?;
        }
        Ok(worlds)
    }

    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            opening: Opening::default(),
            given: Vec::new(),
            items: 2,
            states: Extent::default().states,
            moves: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "open" => self.opening = Script::from_str(line)?.opening,
            "items" => self.items = rest.parse().map_err(|error| format!("{error}"))?,
            "states" => self.states = rest.parse().map_err(|error| format!("{error}"))?,
            "given" => self.given.push(step(rest)?),
            "due" => self.moves.push(Move::Due),
            "early" => self.moves.push(Move::Early),
            "rewind" => {
                return Err(String::from("the key of a state leaves out where it can rewind to"));
            }
            _ => self.moves.push(Move::Step(step(line)?)),
        }
        Ok(())
    }

    /// What tells its worlds apart besides what always does.
    pub(super) fn counts(&self) -> Counts {
        let losses = self.moves.iter().filter_map(|one| match one {
            Move::Step(Step::Crash { lose, .. }) if *lose > 0 => Some(*lose),
            Move::Step(_) | Move::Due | Move::Early => None,
        });
        Counts {
            size: self.weighs(),
            loss: match losses.min() {
                None => Loss::Nothing,
                Some(ALL..) => Loss::All,
                Some(_) => Loss::Some,
            },
        }
    }

    /// Returns true if anything in it depends on how large the conversation is.
    fn weighs(&self) -> bool {
        let postures = self.moves.iter().filter_map(|one| match one {
            Move::Step(Step::Configure { posture, .. }) => Some(posture),
            Move::Step(_) | Move::Due | Move::Early => None,
        });
        let mut postures = postures.chain([&self.opening.posture]);
        let sized = postures.any(|posture| {
            let limits = posture.limits.within(&self.opening.ceiling);
            posture.window.tokens > 0 || limits.tokens > 0 || limits.cost_micros > 0
        });
        let refused = self.moves.iter().any(|one| match one {
            Move::Step(Step::Fail { kind, .. }) => {
                *kind == windlass_core::FailureKind::ContextOverflow
            }
            Move::Step(_) | Move::Due | Move::Early => false,
        });
        sized || refused
    }

    /// The steps that mean something where a world stands.
    #[must_use]
    pub fn steps(&self, world: &World) -> Vec<Step> {
        let mut steps = Vec::new();
        for one in &self.moves {
            match one {
                Move::Step(step) => self.each(world, step, &mut steps),
                Move::Due => steps.extend(until(world, 0)),
                Move::Early => steps.extend(until(world, 1)),
            }
        }
        steps
    }

    /// A step with each number that means something.
    fn each(&self, world: &World, step: &Step, steps: &mut Vec<Step>) {
        let running = world.evidence().running;
        let count =
            |wanted: fn(&EffectKey) -> bool| running.keys().filter(|key| wanted(key)).count();
        let samples = count(|key| matches!(key, EffectKey::Sample { .. }));
        match step {
            Step::Edit { text, .. } => {
                let texts = |nth| Step::Edit { nth, text: text.clone() };
                steps.extend((0..inputs(world)).map(texts));
            }
            Step::Move { before, .. } => {
                let all = inputs(world);
                let before = before.map(|_| 0..all);
                let befores: Vec<Option<usize>> = match before {
                    Some(all) => all.map(Some).collect(),
                    None => vec![None],
                };
                let each = |nth| befores.iter().map(move |before| (nth, *before));
                let moves = (0..all).flat_map(each);
                steps.extend(moves.map(|(nth, before)| Step::Move { nth, before }));
            }
            Step::Withdraw(_) => steps.extend((0..inputs(world)).map(Step::Withdraw)),
            Step::Send { .. }
            | Step::Goal(_)
            | Step::Continue
            | Step::Rename(_)
            | Step::Rewind(_)
            | Step::Restored { .. }
            | Step::Ceiling(_)
            | Step::Compact(_)
            | Step::Command { .. }
            | Step::Keyed { .. }
            | Step::Interrupt { .. }
            | Step::Configure { .. }
            | Step::Close
            | Step::Wait(_)
            | Step::Back(_) => steps.push(step.clone()),
            Step::Text(_)
            | Step::Refusal(_)
            | Step::Reasoning(_)
            | Step::Call { .. }
            | Step::Spoken(_) => {
                if samples > 0 && items(world.session()) < self.items {
                    steps.push(step.clone());
                }
            }
            Step::End { .. } | Step::Fail { .. } => {
                steps.extend((samples > 0).then(|| step.clone()))
            }
            Step::Yielded(_) => {
                let told = running.values().any(|demand| *demand == Demand::Yield);
                steps.extend(told.then(|| step.clone()));
            }
            Step::Finish { status, took, output, .. } => {
                let all = count(|key| matches!(key, EffectKey::Call { .. }));
                steps.extend((0..all).map(|nth| Step::Finish {
                    status: *status,
                    nth,
                    took: *took,
                    output: output.clone(),
                }));
            }
            Step::Suspend { asks, repeatable, .. } => {
                let all = count(|key| matches!(key, EffectKey::Call { .. }));
                steps.extend((0..all).map(|nth| Step::Suspend {
                    nth,
                    asks: *asks,
                    repeatable: *repeatable,
                }));
            }
            Step::Detach { output, .. } => {
                let all = count(|key| matches!(key, EffectKey::Call { .. }));
                steps.extend((0..all).map(|nth| Step::Detach { nth, output: output.clone() }));
            }
            Step::ChildEnded { text, .. } => {
                let all = world.session().detached.len();
                steps.extend((0..all).map(|nth| Step::ChildEnded { nth, text: text.clone() }));
            }
            Step::Program { word, .. } => {
                let session = world.session();
                let programs = running.keys().filter(|key| is_program(session, **key));
                steps.extend(
                    (0..programs.count()).map(|nth| Step::Program { nth, word: word.clone() }),
                );
            }
            Step::Hook { .. } => {
                let all = count(|key| matches!(key, EffectKey::Hook { .. }));
                steps.extend((0..all).map(|nth| hook(step, nth)));
            }
            Step::Answer { about, word, .. } => {
                steps.extend((0..answerable(world)).map(|nth| Step::Answer {
                    nth,
                    about: about.clone(),
                    word: word.clone(),
                }));
            }
            Step::Asked { word, .. } => {
                let all = count(|key| matches!(key, EffectKey::Approval { .. }));
                steps.extend((0..all).map(|nth| Step::Asked { nth, word: word.clone() }));
            }
            Step::Reconciled { status, output, .. } => {
                let all = count(|key| matches!(key, EffectKey::Reconcile { .. }));
                steps.extend((0..all).map(|nth| Step::Reconciled {
                    nth,
                    status: *status,
                    output: output.clone(),
                }));
            }
            Step::Submit { status, output, .. } => {
                steps.extend((0..awaited(world.session()).len()).map(|nth| Step::Submit {
                    nth,
                    status: *status,
                    output: output.clone(),
                }));
            }
            Step::Compacted(_) => {
                let all = count(|key| matches!(key, EffectKey::Compact { .. }));
                steps.extend((all > 0).then(|| step.clone()));
            }
            Step::Late(_) => {
                let past = world.past();
                let latest = |wanted: usize| past.iter().rposition(|key| kind(key) == wanted);
                steps.extend((0..6).filter_map(latest).map(Step::Late));
            }
            Step::Never(_) => {
                let owed = world.owed();
                let waits = owed.iter().filter(|one| !running.contains_key(&one.key));
                steps.extend((0..waits.count()).map(Step::Never));
            }
            Step::Sync => {
                if self.opening.durability == Durability::Lazy && lag(world) > 0 {
                    steps.push(Step::Sync);
                }
            }
            Step::Crash { lose, .. } => {
                if *lose == 0 || lag(world) > 0 {
                    steps.push(step.clone());
                }
            }
        }
    }
}

fn step(line: &str) -> Result<Step, String> {
    let mut script: Script = line.parse()?;
    script.steps.pop().ok_or_else(|| String::from("it is no step"))
}

/// Time passes until this long before the session's deadline, if that is still to come.
fn until(world: &World, before_ms: u64) -> Option<Step> {
    let evidence = world.evidence();
    let at = (evidence.transitions.deadline)(evidence.session)?;
    let wait = at.since_ms(world.now());
    match before_ms {
        0 => Some(Step::Wait(wait)),
        _ => (wait > before_ms).then(|| Step::Wait(wait - before_ms)),
    }
}

/// Inputs that somebody can change: those that wait, or the latest that was sent.
fn inputs(world: &World) -> usize {
    let sent = world.log().iter().any(|one| matches!(one.fact, Fact::InputQueued(_)));
    world.session().queue.len().max(usize::from(sent))
}

/// Items of the answer that streams.
fn items(session: &Session) -> usize {
    let sampling = session.turn().and_then(|turn| turn.stage.sampling());
    sampling.map_or(0, |sampling| sampling.items.len())
}

/// Calls that somebody can say a word about: those that are asked about, or one that is not.
fn answerable(world: &World) -> usize {
    let Some(turn) = world.session().turn() else {
        return usize::from(world.past().iter().any(|key| kind(key) == 3));
    };
    let asking = turn.calls().iter().filter(|call| match &call.progress {
        CallProgress::AwaitingApproval { question } => question.is_some(),
        CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => false,
    });
    asking.count().max(usize::from(!turn.calls().is_empty()))
}

/// Facts that are not durable.
fn lag(world: &World) -> u64 {
    world.last().0.saturating_sub(world.evidence().durable.0)
}

fn hook(step: &Step, which: usize) -> Step {
    let mut step = step.clone();
    if let Step::Hook { nth, .. } = &mut step {
        *nth = which;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worlds_of_the_kit_are_read() {
        let worlds = Bounded::all().unwrap();
        assert!(worlds.len() > 5);
        for world in worlds {
            assert!(!world.moves.is_empty(), "{}", world.name);
            assert_eq!(world.opening.seed, 0, "{}: entropy keeps worlds apart", world.name);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let error = Bounded::read("world a\nsend hi\nfly away").unwrap_err();
        assert!(error.contains("line 3") && error.contains("fly away"), "{error}");
        assert!(Bounded::read("send hi").unwrap_err().contains("world NAME"));
    }

    #[test]
    fn a_step_is_taken_for_each_number_that_means_something() {
        let text = "world a\nopen lazy\ngiven send hi\ngiven call read {}\ngiven call read {}\n\
                    done 0 ok\nlate 0\nsync\nend stop\nhook 0 pass\ntext a\nitems 2";
        let world = Bounded::read(text).unwrap().remove(0);
        let begun = super::super::search::begin(crate::world::Transitions::CORE, &world).unwrap();
        let steps: Vec<String> = world.steps(&begun).iter().map(Step::to_string).collect();
        assert_eq!(steps, ["done 0 ok", "done 1 ok", "sync", "end stop"]);
    }
}
