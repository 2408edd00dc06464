//! The laws of a turn, one file each: what it promises, and a pure check of it.
//!
//! A check takes what it needs (a log, a state, the effects that were begun) and answers with the
//! first thing that breaks the law. Where it can, it works its expectation out from the log alone
//! and never asks the core, so that a defect of the core cannot agree with itself.
//!
//! The numbers are those of `docs/laws.md`.

pub mod law_01_live_equals_fold;
pub mod law_02_every_prefix_settles;
pub mod law_03_running_equals_owed;
pub mod law_04_no_key_starts_twice;
pub mod law_05_one_observation_a_call;
pub mod law_06_chunking_does_not_matter;
pub mod law_07_nothing_said_is_lost;
pub mod law_08_no_sample_without_reason;
pub mod law_09_limits_hold;
pub mod law_10_prompts_extend;
pub mod law_11_finishing_order_does_not_matter;
pub mod law_12_facts_round_trip;
pub mod law_13_decisions_fit;
pub mod law_14_rejects_change_nothing;
pub mod law_15_denied_calls_never_start;
pub mod law_16_effectful_starts_once;
pub mod law_17_forks_repeat_nothing;
pub mod law_18_results_are_shown;
pub mod law_19_the_ceiling_holds;
pub mod law_20_denied_context_is_dropped;
pub mod law_21_the_last_turn_is_the_last;
pub mod law_22_interrupts_are_told;
pub mod law_23_hooks_see_what_enters;
pub mod law_24_results_enter_once;
pub mod law_25_rewinds_restore;
pub mod law_26_effects_of_failed_programs;
pub mod law_27_clients_run_their_calls;
pub mod law_28_suspended_calls_wait;
pub mod law_29_commands_are_of_users;

mod all;
mod begun;
mod call_record;
mod evidence;
mod law;
mod reading;
mod tally;

pub use all::{ALL, SEARCHED};
pub use begun::{Begun, Loss};
pub use call_record::CallRecord;
pub use evidence::Evidence;
pub use law::{Law, LawId, LawMoment, OwnCheck};
pub use tally::{NeverApplied, Tally};

/// A law that does not hold, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("law {law} is broken: {what}")]
pub struct Broken {
    /// The law's number or name.
    pub law: LawId,
    /// What breaks it.
    pub what: String,
}

impl Broken {
    /// Returns the number of a law of the kit.
    #[must_use]
    pub fn number(&self) -> Option<u8> {
        match self.law {
            LawId::Kit(number) => Some(number),
            LawId::Own(_) => None,
        }
    }
}

/// Result of checking a law.
pub type Held = Result<(), Broken>;

/// Builds the answer of a law that does not hold.
pub(crate) fn broken(law: u8, what: impl Into<String>) -> Broken {
    Broken { law: LawId::Kit(law), what: what.into() }
}

/// Checks that something holds.
pub(crate) fn hold(law: u8, holds: bool, what: impl FnOnce() -> String) -> Held {
    if holds { Ok(()) } else { Err(broken(law, what())) }
}
