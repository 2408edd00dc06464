//! Wrong stores, wrong drivers and wrong cores: each is found, and by what it breaks.

use windlass_core::{DesiredEffect, Input, Seq, Session, desired_effects};
use windlass_testkit::laws;
use windlass_testkit::sim::{Breach, Flaw, Plan, Promise, simulate};
use windlass_testkit::world::Transitions;

/// Seeds within which each must be found.
const SEEDS: u64 = 150;

/// The first thing that a plan breaks, in words that a test can compare: the law or the promise.
#[track_caller]
fn found(plan: Plan) -> Breach {
    let mut failures = (0..SEEDS).filter_map(|seed| simulate(&plan, laws::ALL, seed).err());
    let failure = failures.next().unwrap();
    let told = failure.to_string();
    let again = format!("cargo xtask sim --from {} --seeds 1", failure.seed);
    assert!(told.contains(&again), "{told}");
    assert!(!failure.tail.is_empty(), "{told}");
    let repeated = simulate(&plan, laws::ALL, failure.seed).unwrap_err();
    assert_eq!(repeated.to_string(), told, "the seed repeats it");
    failure.breach
}

#[track_caller]
fn breaks(flaw: Flaw, promises: &[Promise]) {
    let flaw = Some(flaw);
    let breach = found(Plan { flaw, ..Plan::default() });
    match &breach {
        Breach::Promise { promise, .. } => assert!(promises.contains(promise), "{breach}"),
        Breach::Law(_) | Breach::NeverApplied(_) | Breach::Simulation(_) => panic!("{breach}"),
    }
}

#[track_caller]
fn breaks_law(flaw: Flaw, law: u8) {
    let flaw = Some(flaw);
    let breach = found(Plan { flaw, ..Plan::default() });
    assert_eq!(number(&breach), Some(law), "{breach}");
}

#[track_caller]
fn kills(transitions: Transitions, law: u8) {
    let breach = found(Plan { transitions, ..Plan::default() });
    assert_eq!(number(&breach), Some(law), "{breach}");
}

fn number(breach: &Breach) -> Option<u8> {
    match breach {
        Breach::Law(broken) => broken.number(),
        Breach::Promise { .. } | Breach::NeverApplied(_) | Breach::Simulation(_) => None,
    }
}

#[test]
fn a_store_that_answers_before_it_syncs() {
    breaks(Flaw::AnswersBeforeSync, &[Promise::Kept]);
}

#[test]
fn a_store_that_takes_a_torn_tail_for_whole() {
    breaks(Flaw::TakesTornForWhole, &[Promise::Whole]);
}

#[test]
fn a_store_that_trusts_its_cache_after_a_failed_sync() {
    breaks(Flaw::TrustsTheCache, &[Promise::Kept]);
}

#[test]
fn a_store_that_takes_appends_of_old_claims() {
    breaks(Flaw::KeepsOldClaims, &[Promise::OneWriter]);
}

#[test]
fn a_store_that_does_not_look_where_an_append_belongs() {
    breaks(Flaw::AppendsAnywhere, &[Promise::Kept, Promise::Whole]);
}

#[test]
fn a_driver_that_starts_effects_early() {
    breaks(Flaw::StartsEarly, &[Promise::Once]);
}

#[test]
fn a_driver_that_acknowledges_early() {
    breaks(Flaw::AcknowledgesEarly, &[Promise::Kept, Promise::Published]);
}

#[test]
fn a_driver_that_ignores_that_it_is_superseded() {
    breaks(Flaw::IgnoresSupersession, &[Promise::OneWriter]);
}

#[test]
fn a_driver_that_goes_on_after_an_error() {
    breaks(Flaw::GoesOnAfterError, &[Promise::Published, Promise::Kept]);
}

#[test]
fn a_driver_that_forgets_the_recovery() {
    breaks_law(Flaw::ForgetsRecovery, 4);
}

#[test]
fn a_driver_that_drops_what_was_decided_meanwhile() {
    let flaw = Some(Flaw::DropsTheBacklog);
    let breach = found(Plan { flaw, ..Plan::default() });
    // An input among what was dropped is acknowledged, as the machine believes that it was appended.
    match &breach {
        Breach::Promise { promise, .. } => assert_eq!(*promise, Promise::Kept, "{breach}"),
        Breach::Law(broken) => assert_eq!(broken.law, 1, "{breach}"),
        Breach::NeverApplied(_) | Breach::Simulation(_) => panic!("{breach}"),
    }
}

#[test]
fn a_core_whose_effects_need_nothing() {
    fn needs_nothing(session: &Session) -> Vec<DesiredEffect> {
        let need = |one| DesiredEffect { requires_durable: Seq::ZERO, ..one };
        desired_effects(session).into_iter().map(need).collect()
    }
    let transitions = Transitions { desired_effects: needs_nothing, ..Transitions::CORE };
    let breach = found(Plan { transitions, ..Plan::default() });
    match &breach {
        Breach::Promise { promise, .. } => assert_eq!(*promise, Promise::Once, "{breach}"),
        Breach::Law(broken) => assert_eq!(broken.law, 3, "{breach}"),
        Breach::NeverApplied(_) | Breach::Simulation(_) => panic!("{breach}"),
    }
}

#[test]
fn a_core_that_recovers_nothing() {
    let transitions = Transitions {
        decide: |session, limits, mut stamped| {
            if stamped.input == Input::Recover {
                stamped.input = Input::Tick;
            }
            windlass_core::decide(session, limits, stamped)
        },
        ..Transitions::CORE
    };
    kills(transitions, 4);
}

#[test]
fn a_core_that_takes_stale_answers_for_granted() {
    let transitions = Transitions {
        decide: |session, limits, stamped| {
            let decided = windlass_core::decide(session, limits, stamped);
            match decided {
                Err(windlass_core::Reject::Stale(_)) => Ok(Vec::new()),
                Ok(_) | Err(_) => decided,
            }
        },
        ..Transitions::CORE
    };
    kills(transitions, 14);
}

#[test]
fn a_core_without_a_deadline() {
    let transitions = Transitions { deadline: |_| None, ..Transitions::CORE };
    kills(transitions, 2);
}

#[test]
fn a_core_that_forgets_how_much_is_shown_when_it_evolves() {
    let transitions = Transitions {
        evolve: |session, recorded| {
            let mut session = windlass_core::evolve(session, recorded)?;
            if let windlass_core::Fact::TurnSettled(_) = &recorded.fact {
                session.visible.bytes = 0;
            }
            Ok(session)
        },
        ..Transitions::CORE
    };
    kills(transitions, 1);
}
