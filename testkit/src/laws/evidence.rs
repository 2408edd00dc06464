//! What a moment of a session shows, and the laws it is held to.

use std::collections::BTreeMap;

use windlass_core::{Ceiling, Demand, EffectKey, History, Limits, RecordedFact, Seq, Session};

use super::{
    Begun, Broken, Held, Loss, law_01_live_equals_fold, law_02_every_prefix_settles,
    law_03_running_equals_owed, law_04_no_key_starts_twice, law_05_one_observation_a_call,
    law_07_nothing_said_is_lost, law_08_no_sample_without_reason, law_09_limits_hold,
    law_10_prompts_extend, law_11_finishing_order_does_not_matter, law_15_denied_calls_never_start,
    law_16_effectful_starts_once, law_17_forks_repeat_nothing, law_18_results_are_shown,
    law_19_the_ceiling_holds, law_20_denied_context_is_dropped, law_21_the_last_turn_is_the_last,
    law_22_interrupts_are_told, law_23_hooks_see_what_enters, law_24_results_enter_once,
    law_25_rewinds_restore, law_26_effects_of_failed_programs, law_27_clients_run_their_calls,
};
use crate::world::Transitions;

/// A session at one moment, with what its driver has done so far.
///
/// Whatever drives sessions (a script, a search, a simulation, the engine) is held to the same
/// laws by handing this over after each step. Laws 6 and 12 speak of streams and of texts, laws 13
/// and 14 of single decisions: they have no moment, and are checked where those are.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The core that is driven.
    pub transitions: &'a Transitions,
    /// What the process allows at most.
    pub ceiling: &'a Limits,
    /// Calls that the process permits at most, each from after a position on.
    pub ceilings: &'a [(Seq, Ceiling)],
    /// The log, as it comes back from its text form.
    pub log: &'a [RecordedFact],
    /// How far it is durable.
    pub durable: Seq,
    /// The live state.
    pub session: &'a Session,
    /// The live history.
    pub history: &'a History,
    /// What runs, and what was last demanded of it.
    pub running: &'a BTreeMap<EffectKey, Demand>,
    /// What was ever begun, in all processes.
    pub begun: &'a [Begun],
    /// The deaths of processes so far.
    pub losses: &'a [Loss],
}

/// A law over a moment.
type Check = for<'a> fn(&Evidence<'a>) -> Held;

/// What is cheap enough to be checked after each step.
const NOW: &[Check] = &[
    |it| law_01_live_equals_fold::check(it.log, it.session, it.history),
    |it| law_02_every_prefix_settles::check_deadline(it.transitions, it.ceiling, it.session),
    |it| {
        let owed = (it.transitions.desired_effects)(it.session);
        law_03_running_equals_owed::check(it.log, it.durable, &owed, it.running)
    },
    |it| law_04_no_key_starts_twice::check(it.begun, it.losses),
    |it| law_05_one_observation_a_call::check(it.log),
    |it| law_07_nothing_said_is_lost::check(it.log, it.session),
    |it| law_08_no_sample_without_reason::check(it.log),
    |it| law_09_limits_hold::check(it.log, it.ceiling),
    |it| law_15_denied_calls_never_start::check(it.log),
    |it| law_16_effectful_starts_once::check(it.log, it.begun),
    |it| law_19_the_ceiling_holds::check(it.log, it.ceilings, it.losses),
    |it| law_20_denied_context_is_dropped::check(it.log),
    |it| law_21_the_last_turn_is_the_last::check(it.log),
    |it| law_23_hooks_see_what_enters::check(it.log),
    |it| law_24_results_enter_once::check(it.log, it.session),
    |it| law_26_effects_of_failed_programs::check(it.log),
    |it| law_27_clients_run_their_calls::check(it.log, it.begun),
];

/// What looks at all prefixes of the log: its cost grows with the square of it, or worse.
const PREFIXES: &[Check] = &[
    |it| law_02_every_prefix_settles::check(*it.transitions, it.ceiling, it.log),
    |it| law_10_prompts_extend::check(it.transitions.remember, it.log),
    |it| law_11_finishing_order_does_not_matter::check(it.transitions, it.log),
    |it| law_17_forks_repeat_nothing::check(it.transitions, it.ceiling, it.log),
    |it| law_18_results_are_shown::check(it.transitions.remember, it.log),
    |it| law_22_interrupts_are_told::check(it.transitions.remember, it.log),
    |it| law_25_rewinds_restore::check(it.transitions, it.log),
];

impl Evidence<'_> {
    /// Checks the laws of what stands now.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check_now(&self) -> Held {
        NOW.iter().try_for_each(|check| check(self))
    }

    /// Checks the laws that speak of all prefixes of the log.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check_prefixes(&self) -> Held {
        PREFIXES.iter().try_for_each(|check| check(self))
    }

    /// All laws of what stands now that do not hold, not only the first.
    #[must_use]
    pub fn broken_now(&self) -> Vec<Broken> {
        NOW.iter().filter_map(|check| check(self).err()).collect()
    }

    /// All laws over the prefixes of the log that do not hold.
    #[must_use]
    pub fn broken_prefixes(&self) -> Vec<Broken> {
        let broken = PREFIXES.iter().filter_map(|check| check(self).err());
        broken.collect()
    }
}
