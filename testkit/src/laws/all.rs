//! The laws of the kit over a moment, as constant lists that users extend.

use super::LawMoment::{End, Step};
use super::{
    Law, law_01_live_equals_fold, law_02_every_prefix_settles, law_03_running_equals_owed,
    law_04_no_key_starts_twice, law_05_one_observation_a_call, law_07_nothing_said_is_lost,
    law_08_no_sample_without_reason, law_09_limits_hold, law_10_prompts_extend,
    law_11_finishing_order_does_not_matter, law_15_denied_calls_never_start,
    law_16_effectful_starts_once, law_17_forks_repeat_nothing, law_18_results_are_shown,
    law_19_the_ceiling_holds, law_20_denied_context_is_dropped, law_21_the_last_turn_is_the_last,
    law_22_interrupts_are_told, law_23_hooks_see_what_enters, law_24_results_enter_once,
    law_25_rewinds_restore, law_26_effects_of_failed_programs, law_27_clients_run_their_calls,
    law_28_suspended_calls_wait, law_29_commands_are_of_users,
};

/// The laws of the kit that have a moment. Laws 6 and 12 to 14 are checked where streams, facts and
/// decisions are.
///
/// Add laws of your own with `[laws::ALL, &[MINE]].concat()`.
pub const ALL: &[Law] = &[
    LIVE, DEADLINE, RUNNING, KEYS, OBSERVED, SAID, REASONS, LIMITS, DENIED, ONCE, CEILING, CONTEXT,
    LAST_TURN, EDITS, RESULTS, EFFECTS, CLIENTS, SUSPENDED, COMMANDS, SETTLES, PROMPTS, ORDER,
    FORKS, SHOWN, TOLD, REWINDS, READ,
];

/// The laws that a search checks in each of its states: [`ALL`] without 17, 18 and 25, which compare
/// each prefix of a log with others.
pub const SEARCHED: &[Law] = &[
    LIVE, DEADLINE, RUNNING, KEYS, OBSERVED, SAID, REASONS, LIMITS, DENIED, ONCE, CEILING, CONTEXT,
    LAST_TURN, EDITS, RESULTS, EFFECTS, CLIENTS, SUSPENDED, COMMANDS, SETTLES, PROMPTS, ORDER,
    TOLD, READ,
];

const LIVE: Law = Law::kit(1, Step, "the live state equals the fold of the log", |it| {
    law_01_live_equals_fold::check(it.log, it.session, it.history)
});

const DEADLINE: Law = Law::kit(2, Step, "the deadline is exact", |it| {
    law_02_every_prefix_settles::check_deadline(it.transitions, it.ceiling, it.session)
});

const SETTLES: Law = Law::kit(2, End, "every prefix settles in a fair world", |it| {
    law_02_every_prefix_settles::check_from(*it.transitions, it.ceiling, it.log, it.checked)
});

const RUNNING: Law = Law::kit(3, Step, "the running effects equal the desired effects", |it| {
    let owed = (it.transitions.desired_effects)(it.session);
    law_03_running_equals_owed::check(it.log, it.durable, &owed, it.running)
});

const KEYS: Law = Law::kit(4, Step, "no effect key starts twice", |it| {
    law_04_no_key_starts_twice::check(it.begun, it.losses)
});

const OBSERVED: Law = Law::kit(5, Step, "each retained call has one observation", |it| {
    law_05_one_observation_a_call::check(it.log)
});

const SAID: Law = Law::kit(7, Step, "no acknowledged input is lost", |it| {
    law_07_nothing_said_is_lost::check(it.log, it.session)
});

const REASONS: Law = Law::kit(8, Step, "each sample has a reason", |it| {
    law_08_no_sample_without_reason::check(it.log)
});

const LIMITS: Law =
    Law::kit(9, Step, "limits hold", |it| law_09_limits_hold::check(it.log, it.ceiling));

const PROMPTS: Law = Law::kit(10, End, "each request extends the one before", |it| {
    law_10_prompts_extend::check(it.transitions.remember, it.log)
});

const ORDER: Law = Law::kit(11, End, "the order in which tools end has no effect", |it| {
    law_11_finishing_order_does_not_matter::check(it.transitions, it.log)
});

const DENIED: Law = Law::kit(15, Step, "a denied call never starts", |it| {
    law_15_denied_calls_never_start::check(it.log)
});

const ONCE: Law = Law::kit(16, Step, "an effectful call starts at most once", |it| {
    law_16_effectful_starts_once::check(it.log, it.begun)
});

const FORKS: Law = Law::kit(17, End, "a fork repeats nothing and shares its past", |it| {
    law_17_forks_repeat_nothing::check(it.transitions, it.ceiling, it.log)
});

const SHOWN: Law = Law::kit(18, End, "an observation is shown before it leaves", |it| {
    law_18_results_are_shown::check(it.transitions.remember, it.log)
});

const CEILING: Law = Law::kit(19, Step, "nothing starts that the process refuses", |it| {
    law_19_the_ceiling_holds::check(it.log, it.ceilings, it.losses)
});

const CONTEXT: Law = Law::kit(20, Step, "context of a denial never reaches the model", |it| {
    law_20_denied_context_is_dropped::check(it.log)
});

const LAST_TURN: Law = Law::kit(21, Step, "the turn that ends a goal is its last", |it| {
    law_21_the_last_turn_is_the_last::check(it.log)
});

const TOLD: Law = Law::kit(22, End, "the model is told of an interrupt", |it| {
    law_22_interrupts_are_told::check(it.transitions.remember, it.log)
});

const EDITS: Law = Law::kit(23, Step, "an input enters as its hooks let it in", |it| {
    law_23_hooks_see_what_enters::check(it.log)
});

const RESULTS: Law = Law::kit(24, Step, "the result of a detached child enters once", |it| {
    law_24_results_enter_once::check(it.log, it.session)
});

const REWINDS: Law = Law::kit(25, End, "a rewind restores its position", |it| {
    law_25_rewinds_restore::check(it.transitions, it.log)
});

const EFFECTS: Law = Law::kit(26, Step, "effects of a failed program are not repeated", |it| {
    law_26_effects_of_failed_programs::check(it.log)
});

const CLIENTS: Law = Law::kit(27, Step, "a call of a client's tool starts no run here", |it| {
    law_27_clients_run_their_calls::check(it.log, it.begun)
});

const SUSPENDED: Law = Law::kit(28, Step, "a suspended call waits for its answer", |it| {
    law_28_suspended_calls_wait::check(it.log)
});

const COMMANDS: Law = Law::kit(29, Step, "a user's command runs where it was sent", |it| {
    law_29_commands_are_of_users::check(it.log, it.losses)
});

const READ: Law = Law::kit(29, End, "the model reads a user's command", |it| {
    law_29_commands_are_of_users::check_requests(it.transitions.remember, it.log)
});
