//! What kills a wrong program: one that goes on while its calls are out, calls that belong to no program
//! that runs, results that were rejected and count, and limits of programs that do not hold (laws 3, 5, 8,
//! 9 and 15).

use std::sync::Arc;

use windlass_core::{
    CallId, CallProgress, Decider, Demand, DesiredEffect, EffectKey, Fact, Limits, SampleKind, Seq,
    Session, Verdict, desired_effects,
};
use windlass_testkit::laws::{
    law_05_one_observation_a_call, law_08_no_sample_without_reason, law_09_limits_hold,
    law_15_denied_calls_never_start,
};
use windlass_testkit::world::Transitions;

use super::{find, kills, kills_log};

const CALLS: &str = "open program=5\nsend hello\ncall run_program {}\nend stop\n\
                     program 0 calls write {} & read {}";

const RETURNS: &str = "open program=5 samples=6 shape=1\nsend hello\ncall run_program {}\nend stop\n\
                       program 0 return fault=odd 1\ncall run_program {}\nend stop\n\
                       program 0 return 2";

#[test]
fn law_03_kills_a_program_that_goes_on_while_its_calls_are_out() {
    fn hasty(session: &Session) -> Vec<DesiredEffect> {
        let turn = session.turn();
        let calls = turn.into_iter().flat_map(|turn| turn.calls());
        let programs = calls.filter(|call| call.is_program()).filter_map(|call| {
            let CallProgress::Running { started, .. } = call.progress else {
                return None;
            };
            let call = call.id;
            Some(DesiredEffect {
                key: EffectKey::Call { call, started },
                demand: Demand::Run,
                requires_durable: Seq::ZERO,
            })
        });
        let all = desired_effects(session);
        let known = all.clone();
        let new = programs.filter(|one| known.iter().all(|other| other.key != one.key));
        all.into_iter().chain(new).collect()
    }
    let mutant = Transitions { desired_effects: hasty, ..Transitions::CORE };
    kills(3, mutant, CALLS);
}

#[test]
fn law_03_kills_a_program_that_never_goes_on() {
    fn still(session: &Session) -> Vec<DesiredEffect> {
        let turn = session.turn();
        let is_program = |key: EffectKey| {
            let EffectKey::Call { call, .. } = key else {
                return false;
            };
            let mut calls = turn.into_iter().flat_map(|turn| turn.calls());
            calls.any(|one| one.id == call && one.is_program())
        };
        let all = desired_effects(session).into_iter();
        all.filter(|one| !is_program(one.key)).collect()
    }
    let mutant = Transitions { desired_effects: still, ..Transitions::CORE };
    kills(3, mutant, "open program=5\nsend hello\ncall run_program {}\nend stop");
}

#[test]
fn law_05_kills_a_call_of_a_program_that_does_not_run() {
    let law = law_05_one_observation_a_call::check;
    kills_log(CALLS, law, |log| {
        let at = find(log, "ProgramCalled", 0);
        if let Fact::ProgramCalled(fact) = &mut log[at].fact {
            fact.program = CallId(2);
        }
    });
}

#[test]
fn law_05_kills_a_turn_that_settles_over_a_call_of_a_program() {
    let law = law_05_one_observation_a_call::check;
    let script = format!("{CALLS}\ninterrupt person\naborted 0 x\naborted 0 x");
    kills_log(&script, law, |log| {
        let at = find(log, "CallObserved", 0);
        log[at].fact = log[at - 1].fact.clone();
    });
}

#[test]
fn law_08_kills_a_return_that_is_asked_for_again_and_was_not_rejected() {
    let law = law_08_no_sample_without_reason::check;
    kills_log(RETURNS, law, |log| {
        let at = find(log, "ProgramRun", 0);
        if let Fact::ProgramRun(fact) = &mut log[at].fact {
            fact.fault = None;
        }
    });
}

#[test]
fn law_09_kills_a_last_sample_for_work_that_does_not_say_so() {
    let law =
        |log: &[windlass_core::RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    let script = "open program=5 samples=1\nsend hello\ncall run_program {}\nend stop";
    kills_log(script, law, |log| {
        let at = find(log, "SampleStarted", 0);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.kind = SampleKind::Normal;
        }
    });
}

#[test]
fn law_09_kills_a_last_program_without_a_result_that_is_not_rejected() {
    let law =
        |log: &[windlass_core::RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    let script =
        "open program=5 samples=1\nsend hello\ncall run_program {}\nend stop\nprogram 0 value null";
    kills_log(script, law, |log| {
        let at = find(log, "ProgramRun", 0);
        if let Fact::ProgramRun(fact) = &mut log[at].fact {
            fact.fault = None;
        }
        log.truncate(at + 1);
    });
}

#[test]
fn law_09_kills_a_result_that_was_rejected_and_counts() {
    let law =
        |log: &[windlass_core::RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    kills_log(RETURNS, law, |log| {
        let at = find(log, "ProgramRun", 1);
        if let Fact::ProgramRun(fact) = &mut log[at].fact {
            fact.fault = Some(String::from("odd"));
        }
    });
}

#[test]
fn law_15_kills_a_denied_call_of_a_program_that_starts() {
    let law = law_15_denied_calls_never_start::check;
    kills_log(CALLS, law, |log| {
        let at = find(log, "CallDecided", 1);
        if let Fact::CallDecided(fact) = &mut log[at].fact {
            (fact.verdict, fact.by) = (Verdict::Deny, Decider::Rule);
        }
    });
    kills_log(CALLS, law, |log| {
        let at = find(log, "ProgramCalled", 0);
        if let Fact::ProgramCalled(fact) = &mut log[at].fact {
            Arc::make_mut(&mut fact.item).name = String::from("absent");
        }
    });
}
