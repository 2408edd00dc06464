//! What kills a wrong word: of users who are not heard, hooks that are overheard, people whose answer
//! is taken for another, and compactions that take too much (laws 3, 5, 7, 8, 9, 10, 11, 14 and 16).

use std::sync::Arc;

use windlass_core::{
    Compacted, CompactionStrategy, Demand, DesiredEffect, Fact, Goal, HookVerdict, Incoming, Input,
    InterruptRequested, InterruptSource, Limits, Reason, RecordedFact, Retained, Scope, Seq,
    Session, StopTiming, TurnId, TurnOutcome, Usage, decide, desired_effects, plan_compaction,
    render,
};
use windlass_testkit::laws::law_01_live_equals_fold::fold;
use windlass_testkit::laws::{
    law_05_one_observation_a_call, law_07_nothing_said_is_lost, law_08_no_sample_without_reason,
    law_09_limits_hold, law_10_prompts_extend, law_11_finishing_order_does_not_matter,
    law_16_effectful_starts_once,
};
use windlass_testkit::world::{Posture, Transitions};

use super::{Decided, find, kills, kills_log, log};

const STEER: &str = "send hello\nsteer more\nyielded once\ntext hi\nend stop";

const STOP_HOOK: &str = "open hooks=stop\nsend hello\ntext a\nend stop\nhook 0 deny go on\n";

const OVERFLOW: &str = "send x*1600\ntext y*1600\nend stop\nsend now\n\
                        fail context_overflow never\ncompacted";

const GOAL: &str = "goal turns=1 be done\nsend hello\ntext a\nend stop";

#[test]
fn law_03_kills_an_owed_that_forgets_a_hook_or_a_question() {
    fn runs(session: &Session) -> Vec<DesiredEffect> {
        let asked = |one: &DesiredEffect| {
            matches!(
                one.key,
                windlass_core::EffectKey::Hook { .. } | windlass_core::EffectKey::Approval { .. }
            )
        };
        desired_effects(session).into_iter().filter(|one| !asked(one)).collect()
    }
    let mutant = Transitions { desired_effects: runs, ..Transitions::CORE };
    kills(3, mutant, "open hooks=before_sample\nsend hello");
    kills(3, mutant, "open permissions=ask\nsend hello\ncall write");
}

#[test]
fn law_03_kills_a_sample_that_does_not_yield() {
    fn deaf(session: &Session) -> Vec<DesiredEffect> {
        let run = |one: DesiredEffect| match one.demand {
            Demand::Run | Demand::Yield => DesiredEffect { demand: Demand::Run, ..one },
            Demand::Cancel => one,
        };
        desired_effects(session).into_iter().map(run).collect()
    }
    let mutant = Transitions { desired_effects: deaf, ..Transitions::CORE };
    kills(3, mutant, "send hello\nsteer more");
}

#[test]
fn law_05_kills_a_cut_that_forgets_a_call_that_runs() {
    let law = law_05_one_observation_a_call::check;
    kills_log("send hello\ncall write\nfail truncated soon", law, |log| {
        let at = find(log, "SampleCut", 0);
        if let Fact::SampleCut(fact) = &mut log[at].fact {
            fact.retained = Retained::Nothing;
        }
    });
}

#[test]
fn law_07_kills_an_input_that_is_lost() {
    let log = log("send hello\nsteer more");
    let (mut session, _) = fold(&log).unwrap();
    law_07_nothing_said_is_lost::check(&log, &session).unwrap();
    session.queue.clear();
    law_07_nothing_said_is_lost::check(&log, &session).unwrap_err();
}

/// What the law says of the log of a script, and of what `tamper` makes of it.
#[track_caller]
fn kills_words(script: &str, tamper: fn(&mut Vec<RecordedFact>)) {
    let mut log = log(script);
    let (session, _) = fold(&log).unwrap();
    law_07_nothing_said_is_lost::check(&log, &session).unwrap();
    tamper(&mut log);
    law_07_nothing_said_is_lost::check(&log, &session).unwrap_err();
}

#[test]
fn law_07_kills_an_input_that_is_heard_twice_or_settled_over() {
    kills_words(STEER, |log| {
        let at = find(log, "InputAccepted", 1);
        log.insert(at, log[at].clone());
    });
    let interrupted = "send hello\nsteer more\ninterrupt person\nfail cancelled never";
    kills_words(interrupted, |log| {
        let at = find(log, "TurnSettled", 0);
        if let Fact::TurnSettled(fact) = &mut log[at].fact {
            fact.waiting.clear();
        }
    });
    kills_words(interrupted, |log| {
        let at = find(log, "TurnSettled", 0);
        if let Fact::TurnSettled(fact) = &mut log[at].fact {
            fact.outcome = TurnOutcome::Completed;
        }
    });
}

#[test]
fn law_07_kills_an_input_that_nobody_blocked() {
    let script = "open hooks=prompt_submitted\nsend hello\nhook 0 deny no";
    kills_words(script, |log| {
        let at = find(log, "HookDecided", 0);
        if let Fact::HookDecided(fact) = &mut log[at].fact {
            fact.verdict = HookVerdict::Pass;
        }
    });
}

#[test]
fn law_08_kills_reasons_that_lack_their_evidence() {
    let law = law_08_no_sample_without_reason::check;
    kills_log(STEER, law, |log| {
        log.remove(find(log, "InputAccepted", 1));
    });
    kills_log(STOP_HOOK, law, |log| {
        log.remove(find(log, "ContextInjected", 0));
    });
    kills_log(STOP_HOOK, law, |log| {
        let at = find(log, "HookDecided", 0);
        if let Fact::HookDecided(fact) = &mut log[at].fact {
            fact.verdict = HookVerdict::Pass;
        }
    });
    kills_log(OVERFLOW, law, |log| {
        log.remove(find(log, "Compacted", 0));
    });
    kills_log(GOAL, law, |log| {
        log.remove(find(log, "ContextInjected", 0));
    });
    kills_log(GOAL, law, |log| {
        log.remove(find(log, "GoalSet", 0));
    });
    let eager = "send hello\ncall read\nfail truncated soon\ndone 0 ok\nwait 500";
    kills_log(eager, law, |log| {
        log.remove(find(log, "CallObserved", 0));
    });
    kills_log(eager, law, |log| {
        let at = find(log, "SampleStarted", 1);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.reason = Reason::Retry;
        }
    });
}

#[test]
fn law_09_kills_turns_answers_and_samples_past_their_bound() {
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    kills_log(GOAL, law, |log| {
        let at = find(log, "GoalSet", 0);
        if let Fact::GoalSet(fact) = &mut log[at].fact {
            let text = "be done".into();
            fact.goal = Some(Arc::new(Goal { text, turns: 0 }));
        }
    });
    let asked = "open permissions=ask\nsend hello\ncall write\nend stop\nanswer 0 allow";
    kills_log(asked, law, |log| {
        let at = find(log, "ApprovalAsked", 0);
        if let Fact::ApprovalAsked(fact) = &mut log[at].fact {
            fact.deadline = None;
        }
    });
    kills_log(asked, law, |log| {
        let at = find(log, "ApprovalAnswered", 0);
        log[at].ts = log[at].ts.plus_ms(Limits::default().approval_ms);
    });
    kills_log("send hello\ncall read\nend stop\ndone 0 ok", law, |log| {
        let at = find(log, "SampleStarted", 1);
        let mut pause = log[at].clone();
        pause.fact = Fact::InterruptRequested(InterruptRequested {
            by: InterruptSource::Person,
            scope: Arc::new(Scope::local("somebody")),
            reason: String::new(),
            when: StopTiming::AfterStep,
            key: None,
        });
        log.insert(at, pause);
    });
}

#[test]
fn law_09_kills_a_sample_that_its_budget_leaves_no_room_for() {
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    for tokens in [0, 384, 501] {
        // The request takes 115 of them, and the answer up to the rest.
        let mut log = log("open tokens=500\nsend hello");
        law(&log).unwrap();
        let at = find(&log, "SampleStarted", 0);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.reserved.tokens = tokens;
        }
        law(&log).unwrap_err();
    }
}

#[test]
fn law_09_kills_a_call_that_starts_where_nothing_is_left() {
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    // The answer may take up to the rest of the tokens, so its call waits for what it takes.
    let script = "open tokens=600\nsend hello\ncall put {}\nend stop tokens=300";
    let mut log = log(script);
    law(&log).unwrap();
    let ended = find(&log, "SampleEnded", 0);
    let started = find(&log, "CallStarted", 0);
    assert!(ended < started);
    let mut early = log.clone();
    early.swap(ended, started);
    law(&early).unwrap_err();
    if let Fact::SampleEnded(fact) = &mut log[ended].fact {
        fact.usage = Some(Usage { input: Some(600), ..Usage::default() });
    }
    law(&log).unwrap_err();
}

#[test]
fn law_09_kills_a_turn_that_completes_over_its_tokens() {
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    let mut log = log("open tokens=600\nsend hello\ntext hi\nend stop tokens=601");
    law(&log).unwrap();
    let at = find(&log, "TurnSettled", 0);
    if let Fact::TurnSettled(fact) = &mut log[at].fact {
        fact.outcome = TurnOutcome::Completed;
    }
    law(&log).unwrap_err();
}

#[test]
fn law_09_kills_a_call_beyond_the_most_of_an_answer_that_is_not_surplus() {
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    for nth in [0, 1] {
        let mut log = log("open calls_per_sample=1\nsend hello\ncall read {}\ncall read {}");
        law(&log).unwrap();
        let at = find(&log, "ItemAdded", nth);
        if let Fact::ItemAdded(fact) = &mut log[at].fact {
            fact.surplus = !fact.surplus;
        }
        law(&log).unwrap_err();
    }
}

#[test]
fn law_09_kills_an_attempt_that_costs_nothing() {
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    let mut log = log("send hello\nfail truncated soon");
    law(&log).unwrap();
    let at = find(&log, "SampleCut", 0);
    if let Fact::SampleCut(fact) = &mut log[at].fact {
        fact.estimate = None;
    }
    law(&log).unwrap_err();
}

#[test]
fn law_10_kills_a_history_that_shows_what_was_blocked() {
    fn lets_in(
        history: &mut windlass_core::History,
        recorded: &RecordedFact,
    ) -> Result<(), windlass_core::InvalidFact> {
        let mut recorded = recorded.clone();
        if let Fact::InputBlocked(fact) = &recorded.fact {
            let input = fact.input;
            recorded.fact = Fact::InputAccepted(windlass_core::InputAccepted { input, call: None });
        }
        history.apply(&recorded)
    }
    let log = log("open hooks=prompt_submitted\nsend hello\nhook 0 deny no");
    law_10_prompts_extend::check(windlass_core::History::apply, &log).unwrap();
    law_10_prompts_extend::check(lets_in, &log).unwrap_err();
}

/// A compaction that pins another turn's request is applied as it says, and the next request lacks
/// what its own turn is about.
#[test]
fn law_10_kills_a_compaction_that_takes_the_request_away() {
    let script = "open window=1500 strategy=slide\nsend x*800\ncall read\nend stop\n\
                  done 0 a*1500\ncall read\nend stop\ndone 0 b*1500\ncall read\nend stop\n\
                  done 0 c*1500\ncompacted";
    let mut log = log(script);
    law_10_prompts_extend::check(windlass_core::History::apply, &log).unwrap();
    let at = find(&log, "Compacted", 0);
    let (_, mut history) = fold(&log[..at]).unwrap();
    let (settings, other) = (Arc::new(Posture::default().settings()), TurnId(1));
    let sketch = plan_compaction(&history, &settings, other, CompactionStrategy::Slide, 0);
    let compaction = sketch.finish(&history, other, None);
    log[at].turn = Some(other);
    log[at].fact = Fact::Compacted(Compacted {
        started: Seq(0),
        cut: compaction.cut,
        visible: compaction.visible,
        usage: None,
        unmeasured: None,
        fallback: None,
    });
    history.apply(&log[at]).unwrap();
    let next = find(&log, "SampleStarted", 3);
    if let Fact::SampleStarted(fact) = &mut log[next].fact {
        fact.digest = render(&history, &settings, &std::collections::BTreeSet::new()).digest();
    }
    let broken = law_10_prompts_extend::check(windlass_core::History::apply, &log).unwrap_err();
    assert!(broken.what.contains("does not hold"), "{broken}");
}

#[test]
fn law_11_kills_words_of_hooks_in_the_order_in_which_they_came() {
    let mut log = log("open hooks=after_tool\nsend hello\ncall read\ncall read\nend stop\n\
                       done 1\nhook 0 pass context=b\ndone 0\nhook 0 pass context=a");
    let blind = Transitions {
        evolve: |session, _| Ok(session),
        remember: |_, _| Ok(()),
        ..Transitions::CORE
    };
    law_11_finishing_order_does_not_matter::check(&blind, &log).unwrap();
    let at = find(&log, "ContextInjected", 0);
    log.swap(at, at + 1);
    law_11_finishing_order_does_not_matter::check(&blind, &log).unwrap_err();
}

#[test]
fn law_14_kills_an_answer_about_other_arguments() {
    fn takes_any(session: &Session, limits: &Limits, mut input: Incoming<Input>) -> Decided {
        if let Input::Answer { arguments, .. } = &mut input.input {
            let calls = session.turn().map_or(&[][..], |turn| turn.calls());
            *arguments = calls.first().map_or(*arguments, |call| call.arguments_digest());
        }
        decide(session, limits, input)
    }
    let script = "open permissions=ask\nsend hello\ncall write\nanswer 0 about=other allow";
    kills(14, Transitions { decide: takes_any, ..Transitions::CORE }, script);
}

#[test]
fn law_14_kills_a_goal_that_is_none() {
    fn takes_any(session: &Session, limits: &Limits, mut input: Incoming<Input>) -> Decided {
        if let Input::SetGoal { goal, .. } = &mut input.input {
            *goal = None;
        }
        decide(session, limits, input)
    }
    let decide = takes_any;
    kills(14, Transitions { decide, ..Transitions::CORE }, "goal turns=0 be done");
}

#[test]
fn law_16_kills_a_question_about_a_run_that_never_was() {
    let law = |log: &[RecordedFact]| law_16_effectful_starts_once::check(log, &[]);
    kills_log("send hello\ncall deploy\nend stop\ncrash", law, |log| {
        let at = find(log, "CallStarted", 0);
        if let Fact::CallStarted(fact) = &mut log[at].fact {
            fact.idempotency_key.push('x');
        }
    });
}
