//! Running a script in a simulated world, with all laws checked on the way.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_core::{
    CallItem, Delivery, EffectKey, Input, Item, Observation, ReasoningItem, SampleFailure,
    SampleNews, Scope, Usage,
};

use super::driver::World;
use super::machine::Machine;
use super::script::{Durability, Script, Step};
use crate::laws::{
    Broken, Held, law_01_live_equals_fold, law_02_every_prefix_settles, law_03_running_equals_owed,
    law_04_no_key_starts_twice, law_05_one_observation_a_call, law_08_no_sample_without_reason,
    law_09_limits_hold, law_10_prompts_extend, law_11_finishing_order_does_not_matter,
    law_15_denied_calls_never_start, law_16_effectful_starts_once,
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
    /// Does what a step says.
    ///
    /// # Errors
    /// [`Broken`] when law 12, 13 or 14 does not hold.
    pub fn step(&mut self, step: &Step) -> Held {
        self.transcript.push(format!("> {step}"));
        self.happen(step)?;
        match self.durability {
            Durability::Prompt => self.sync(),
            Durability::Lazy => Ok(()),
        }
    }

    fn happen(&mut self, step: &Step) -> Held {
        match step {
            Step::Send { key, dry_run, text } => self.take(Input::Send {
                scope: Scope::local("somebody"),
                text: text.clone(),
                delivery: Delivery::Turn,
                key: key.clone(),
                dry_run: *dry_run,
            }),
            Step::Continue => self.take(Input::Continue),
            Step::Interrupt(by) => self.take(Input::Interrupt {
                by: *by,
                reason: String::from("enough"),
            }),
            Step::Configure(posture) => self.take(Input::Configure {
                settings: posture.settings(),
            }),
            Step::Wait(ms) => {
                self.now = self.now.plus_ms(*ms);
                self.take(Input::Tick)
            }
            Step::Back(ms) => {
                self.now.0 = self.now.0.saturating_sub(*ms);
                Ok(())
            }
            Step::Text(text) => self.item(Item::Text {
                text: text.as_str().into(),
            }),
            Step::Refusal(text) => self.item(Item::Refusal {
                text: text.as_str().into(),
            }),
            Step::Reasoning(text) => self.item(Item::Reasoning(Arc::new(ReasoningItem {
                text: text.clone(),
                opaque: None,
            }))),
            Step::Call {
                tool,
                id,
                fault,
                arguments,
            } => self.item(Item::Call(Arc::new(CallItem {
                provider_id: id.clone(),
                name: tool.clone(),
                arguments: arguments.clone(),
                fault: fault.clone(),
                opaque: None,
            }))),
            Step::End { stop, tokens } => self.news(SampleNews::Ended {
                stop: stop.clone(),
                usage: tokens.map(|tokens| Usage {
                    input: Some(tokens),
                    ..Usage::default()
                }),
                response_id: None,
            }),
            Step::Fail {
                kind,
                retry,
                partial,
            } => self.news(SampleNews::Failed {
                failure: SampleFailure::new(*kind, *retry, "the provider said so"),
                partial: partial.clone(),
            }),
            Step::Finish {
                status,
                nth,
                output,
            } => {
                let calls = self.running.keys().copied();
                let calls = calls.filter(|key| matches!(key, EffectKey::Call { .. }));
                let calls: Vec<EffectKey> = calls.collect();
                let Some(key) = pick(&calls, *nth) else {
                    return Ok(());
                };
                let observation = Observation::new(*status, output.clone());
                self.take(Input::Ran { key, observation })
            }
            Step::Late(nth) => self.late(*nth),
            Step::Never(nth) => {
                let mut owed = self.owed();
                owed.retain(|one| !self.running.contains_key(&one.key));
                let keys: Vec<EffectKey> = owed.iter().map(|one| one.key).collect();
                match pick(&keys, *nth) {
                    Some(key) => self.take(Input::NeverBegan { key }),
                    None => Ok(()),
                }
            }
            Step::Sync => self.sync(),
            Step::Crash { lose, away_ms } => self.crash(*lose, *away_ms),
        }
    }

    fn item(&mut self, item: Item) -> Held {
        self.news(SampleNews::Item(item))
    }

    /// The sample that runs says something; without one, nothing happens.
    fn news(&mut self, news: SampleNews) -> Held {
        let mut keys = self.running.keys().copied();
        match keys.find(|key| matches!(key, EffectKey::Sample { .. })) {
            Some(key) => self.take(Input::Sampled { key, news }),
            None => Ok(()),
        }
    }

    fn late(&mut self, nth: usize) -> Held {
        let Some(key) = pick(&self.past, nth) else {
            return Ok(());
        };
        let words = "late";
        self.take(match key {
            EffectKey::Sample { .. } => Input::Sampled {
                key,
                news: SampleNews::Item(Item::Text { text: words.into() }),
            },
            EffectKey::Call { .. } => Input::Ran {
                key,
                observation: Observation::new(windlass_core::ObservationStatus::Done, words),
            },
        })
    }

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

/// Of some keys the nth, counted around.
fn pick(keys: &[EffectKey], nth: usize) -> Option<EffectKey> {
    keys.get(nth.checked_rem(keys.len())?).copied()
}
