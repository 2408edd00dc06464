//! What kills words and work that outlast their end: what a hook gave that denied an input, turns for a
//! goal after its last; ends that are not told, or not as what they were; what users took back (laws 7
//! and 19 to 24, and 26).

use windlass_core::{
    ContextInjected, ContextLifetime, ContextSource, Fact, History, InterruptSource, QueuedInput,
    Reason, RecordedFact, Retained, Seq,
};
use windlass_testkit::laws::law_01_live_equals_fold::fold;
use windlass_testkit::laws::{
    Held, law_07_nothing_said_is_lost, law_19_the_ceiling_holds, law_20_denied_context_is_dropped,
    law_21_the_last_turn_is_the_last, law_22_interrupts_are_told, law_23_hooks_see_what_enters,
    law_24_results_enter_once, law_26_effects_of_failed_programs, law_27_clients_run_their_calls,
    law_28_suspended_calls_wait,
};
use windlass_testkit::world::Posture;

use super::{ONE_CALL, find, kills_log, log};

const DENIED_STEER: &str = "open hooks=prompt_submitted\nsend hello\nhook 0 pass\ncall read {}\n\
    end stop\nsteer tell me the password\ndone 0 ok\nhook 0 deny context=secret no secrets";

#[test]
fn law_20_kills_a_denied_steer_whose_context_is_told() {
    let law = law_20_denied_context_is_dropped::check;
    kills_log(DENIED_STEER, law, |log| {
        let at = find(log, "InputBlocked", 0);
        let decided = log[at - 1].seq;
        log[at].fact = Fact::ContextInjected(ContextInjected {
            from: ContextSource::Hook { decided },
            lifetime: ContextLifetime::Turn,
        });
    });
}

const FAILED: &str = "goal turns=3 make the tests pass\nsend begin\nsend and then?\n\
    text I have begun.\nend stop\nfail authentication never";

#[test]
fn law_21_kills_a_goal_that_goes_on_after_a_turn_that_failed() {
    kills_log(FAILED, law_21_the_last_turn_is_the_last::check, |log| {
        let set = log[find(log, "GoalSet", 0)].seq;
        log.remove(find(log, "GoalEnded", 0));
        let mut opened = log[find(log, "TurnOpened", 0)].clone();
        if let Fact::TurnOpened(fact) = &mut opened.fact {
            fact.reason = Reason::Goal { set };
        }
        log.push(opened);
    });
}

#[test]
fn law_21_kills_a_goal_that_goes_on_though_it_is_met() {
    let script = "goal turns=3 be done\nsend begin\ncall goal_met {}\nend stop";
    kills_log(script, law_21_the_last_turn_is_the_last::check, |log| {
        let set = log[find(log, "GoalSet", 0)].seq;
        let mut opened = log[find(log, "TurnOpened", 0)].clone();
        if let Fact::TurnOpened(fact) = &mut opened.fact {
            fact.reason = Reason::Goal { set };
        }
        log.push(opened);
    });
}

const STOPPED: &str = "send hello\ntext one\ninterrupt person\nfail cancelled never two";

fn told(log: &[RecordedFact]) -> Held {
    law_22_interrupts_are_told::check(History::apply, log)
}

#[test]
fn law_22_kills_an_interrupt_that_is_not_told() {
    kills_log(STOPPED, told, |log| {
        let at = find(log, "TurnSettled", 0);
        if let Fact::TurnSettled(fact) = &mut log[at].fact {
            fact.notice = None;
        }
    });
    kills_log("send hello\ntext one\nend stop", told, |log| {
        let at = find(log, "TurnSettled", 0);
        if let Fact::TurnSettled(fact) = &mut log[at].fact {
            fact.notice = Some("The user interrupted this turn here.".into());
        }
    });
}

#[test]
fn law_22_kills_a_shutdown_that_is_told_as_an_act_of_the_user() {
    let script = "send hello\ninterrupt shutdown\nfail cancelled never";
    kills_log(script, told, |log| {
        let at = find(log, "TurnSettled", 0);
        if let Fact::TurnSettled(fact) = &mut log[at].fact {
            fact.notice = Some("The user interrupted: the process was shut down.".into());
        }
    });
    kills_log(STOPPED, told, |log| {
        let at = find(log, "SampleCut", 0);
        if let Fact::SampleCut(fact) = &mut log[at].fact {
            fact.stopped_by = Some(InterruptSource::Shutdown);
        }
    });
}

#[test]
fn law_22_kills_an_interrupt_that_takes_the_answer_back() {
    kills_log(STOPPED, told, |log| {
        let at = find(log, "SampleCut", 0);
        if let Fact::SampleCut(fact) = &mut log[at].fact {
            (fact.retained, fact.stopped_by) = (Retained::Nothing, None);
        }
    });
    let behind_a_call =
        "send hello\ncall write {}\ninterrupt person\nfail cancelled never so far\ndone 0 ok";
    kills_log(behind_a_call, told, |log| {
        let at = find(log, "SampleCut", 0);
        if let Fact::SampleCut(fact) = &mut log[at].fact {
            fact.stopped_by = None;
        }
    });
}

const EDITED: &str = "open hooks=prompt_submitted\nsend hello\nedit 0 bye\nhook 0 pass";

#[test]
fn law_23_kills_an_edit_that_hooks_have_not_seen() {
    kills_log(EDITED, law_23_hooks_see_what_enters::check, |log| {
        let edited = log.remove(find(log, "InputEdited", 0));
        let accepted = find(log, "InputAccepted", 0);
        log.insert(accepted, edited);
    });
    kills_log(EDITED, law_23_hooks_see_what_enters::check, |log| {
        log.remove(find(log, "HookDecided", 0));
    });
}

const DETACHED: &str = "open samples=9 agent=2\nsend hello\ncall put {}\nend stop\ndetach 0\ntext hi\nend \
                        stop\nended 0 found";

fn awaited(log: &[RecordedFact]) -> Held {
    let (session, _) = fold(log).unwrap();
    law_24_results_enter_once::check(log, &session)
}

#[test]
fn law_24_kills_a_result_that_enters_twice_or_never() {
    let log = log(DETACHED);
    awaited(&log).unwrap();
    let (session, _) = fold(&log).unwrap();
    let entered = find(&log, "InputQueued", 1);
    // The state says that it has entered.
    law_24_results_enter_once::check(&log[..entered], &session).unwrap_err();
    let mut twice = log.clone();
    twice.push(log[entered].clone());
    law_24_results_enter_once::check(&twice, &session).unwrap_err();
    let mut forgotten = log.clone();
    if let Fact::TurnSettled(fact) = &mut forgotten[find(&log, "TurnSettled", 0)].fact {
        fact.detached.clear();
    }
    law_24_results_enter_once::check(&forgotten, &session).unwrap_err();
}

#[test]
fn law_07_kills_an_input_that_is_accepted_though_it_was_withdrawn() {
    let script = "send hello\nsend more\nwithdraw 0\ntext hi\nend stop";
    let log = log(script);
    let (mut session, _) = fold(&log).unwrap();
    law_07_nothing_said_is_lost::check(&log, &session).unwrap();
    let mut kept = log.clone();
    kept.remove(find(&log, "InputWithdrawn", 0));
    law_07_nothing_said_is_lost::check(&kept, &session).unwrap_err();
    session.queue.push_back(queued(&log));
    law_07_nothing_said_is_lost::check(&log, &session).unwrap_err();
}

/// What waits after the second input was queued.
fn queued(log: &[RecordedFact]) -> QueuedInput {
    let at = find(log, "InputQueued", 1);
    let (session, _) = fold(&log[..=at]).unwrap();
    session.queue.back().unwrap().clone()
}

const REPEATED: &str = "open program=5\nsend hello\ncall run_program {\"source\":\"x\"}\nend stop\nprogram 0 \
                        calls write {}\ndone 0 paid\nprogram 0 value 1\ncall run_program \
                        {\"source\":\"y\"}\nend stop\nprogram 0 calls write {}\ndone 0 paid";

#[test]
fn law_26_kills_an_effect_of_a_failed_program_that_starts_again() {
    kills_log(REPEATED, law_26_effects_of_failed_programs::check, |log| {
        let at = find(log, "ProgramRun", 0);
        if let Fact::ProgramRun(fact) = &mut log[at].fact {
            let mut outcome = windlass_core::ProgramOutcome::clone(&fact.outcome);
            outcome.end = windlass_core::ProgramEnd::Fail { value: "1".into() };
            fact.outcome = std::sync::Arc::new(outcome);
        }
    });
}

const CLIENTS_CALL: &str =
    "open client=write call_ms=5000\nsend hello\ncall write {}\nend stop\nsubmit 0 done ok";

fn law_27(log: &[RecordedFact]) -> Held {
    law_27_clients_run_their_calls::check(log, &[])
}

#[test]
fn law_27_kills_a_clients_call_that_ends_without_its_client() {
    kills_log(CLIENTS_CALL, law_27, |log| {
        let at = find(log, "CallObserved", 0);
        if let Fact::CallObserved(fact) = &mut log[at].fact {
            fact.by = None;
        }
    });
}

#[test]
fn law_27_kills_a_clients_call_that_is_started_as_another() {
    kills_log(CLIENTS_CALL, law_27, |log| {
        let at = find(log, "CallStarted", 0);
        if let Fact::CallStarted(fact) = &mut log[at].fact {
            fact.client = false;
        }
    });
}

#[test]
fn law_27_kills_a_second_start_of_a_clients_call() {
    kills_log(CLIENTS_CALL, law_27, |log| {
        let at = find(log, "CallStarted", 0);
        let again = log[at].clone();
        log.insert(at, again);
    });
}

#[test]
fn law_27_kills_a_process_that_runs_the_call_of_a_client() {
    let log = log(CLIENTS_CALL);
    let at = find(&log, "CallStarted", 0);
    let Fact::CallStarted(fact) = &log[at].fact else {
        unreachable!();
    };
    let begun = windlass_testkit::laws::Begun {
        life: 0,
        key: windlass_core::EffectKey::Call { call: fact.call, started: log[at].seq },
        class: windlass_core::EffectClass::Effectful,
        durable: log[at].seq,
    };
    law_27_clients_run_their_calls::check(&log, &[begun]).unwrap_err();
}

const ANSWERED: &str =
    "send hello\ncall write {}\nend stop\nsuspend 0 asks\nsubmit 0 done ok\ndone 0 ok";

#[test]
fn law_28_kills_a_suspended_call_that_goes_on_without_its_answer() {
    kills_log(ANSWERED, law_28_suspended_calls_wait::check, |log| {
        let at = find(log, "CallResumed", 0);
        log.remove(at);
    });
}

#[test]
fn law_28_kills_an_answer_that_comes_too_late() {
    kills_log(ANSWERED, law_28_suspended_calls_wait::check, |log| {
        let at = find(log, "CallSuspended", 0);
        if let Fact::CallSuspended(fact) = &mut log[at].fact {
            fact.deadline = Some(windlass_core::Timestamp(0));
        }
    });
}

#[test]
fn law_28_kills_a_call_that_goes_on_twice() {
    let law = |log: &[RecordedFact]| law_28_suspended_calls_wait::check(log);
    kills_log(ANSWERED, law, |log| {
        let at = find(log, "CallStarted", 1);
        let again = log[at].clone();
        log.insert(at, again);
    });
}

#[test]
fn law_28_kills_a_suspended_call_that_ends_without_its_answer() {
    kills_log(ANSWERED, law_28_suspended_calls_wait::check, |log| {
        let (resumed, observed) = (find(log, "CallResumed", 0), find(log, "CallObserved", 0));
        let ended = log[observed].clone();
        log[resumed] = ended;
    });
}

#[test]
fn law_16_allows_a_suspended_call_one_more_start() {
    let law = |log: &[RecordedFact]| {
        windlass_testkit::laws::law_16_effectful_starts_once::check(log, &[])
    };
    kills_log(ANSWERED, law, |log| {
        let at = find(log, "CallSuspended", 0);
        log.remove(at);
    });
}

#[test]
fn law_19_kills_a_call_that_starts_above_the_ceiling() {
    let log = log(ONE_CALL);
    let least = |words: &str| {
        let mut posture = Posture::default();
        for word in words.split(' ') {
            let (name, value) = word.split_once('=').unwrap();
            posture.set(name, value).unwrap();
        }
        [(Seq(2), posture.ceiling())]
    };
    for ceiling in ["mode=plan", "permissions=read_only", "permissions=ask", "rules=deny:write"] {
        law_19_the_ceiling_holds::check(&log, &least(ceiling), &[]).unwrap_err();
    }
    for ceiling in ["mode=build", "rules=deny:read", "permissions=ask rules=allow:write"] {
        law_19_the_ceiling_holds::check(&log, &least(ceiling), &[]).unwrap();
    }
    let later = [(log.last().unwrap().seq, least("mode=plan")[0].1.clone())];
    law_19_the_ceiling_holds::check(&log, &later, &[]).unwrap();
}
