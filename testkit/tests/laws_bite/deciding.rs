//! What kills a wrong decision: laws 9 and 13 to 16.

use std::sync::Arc;

use windlass_core::{
    ArgumentsDigest, Digest, Fact, HookVerdict, Incoming, Input, Item, Limits, Mode,
    ObservationStatus, Permissions, Phase, RecordedFact, Session, Verdict, decide, desired_effects,
};
use windlass_testkit::laws::law_14_rejects_change_nothing::{self as law_14, Standing};
use windlass_testkit::laws::{
    self, law_09_limits_hold, law_15_denied_calls_never_start, law_16_effectful_starts_once,
};
use windlass_testkit::world::{Script, Transitions, World, check_all, run};

use super::{Decided, ONE_CALL, find, kills, kills_log, needs_nothing};

fn turning(session: &Session, change: impl FnOnce(&mut windlass_core::Turn)) -> Session {
    let mut session = session.clone();
    if let Phase::InTurn(turn) = &mut session.phase {
        change(turn);
    }
    session
}

/// A decision that looks at no limit of the turn or of the process.
fn limitless(session: &Session, _: &Limits, input: Incoming<Input>) -> Decided {
    let wide = Limits::default().with(|it| {
        it.samples = u32::MAX;
        it.attempts = u32::MAX;
        it.restarts = u32::MAX;
        it.parallel_calls = u32::MAX;
        it.queue = u32::MAX;
        it.backoff_max_ms = u64::MAX;
        it.retry_after_ms = u64::MAX;
        it.continuations = u32::MAX;
        it.empty_answers = u32::MAX;
        it.compactions = u32::MAX;
        it.context_bytes = u64::MAX;
    });
    let mut session = turning(session, |turn| turn.limits = wide);
    Arc::make_mut(&mut session.settings).limits = wide;
    decide(&session, &wide, input)
}

#[test]
fn law_09_kills_a_decision_that_looks_at_no_limit() {
    for script in [
        "open samples=1\nsend hello\ncall read {}\nend stop\ndone 0 ok",
        "open attempts=1\nsend hello\nfail server soon\nwait 500",
        "open restarts=0\nsend hello\ncrash",
        "open restarts=0\nsend hello\ncall read {}\nend stop\ncrash",
        "open parallel_calls=1\nsend hello\ncall read {}\ncall read {}\nend stop",
        "open tokens=5\nsend hello\ncall read {}\nend stop tokens=6\ndone 0 ok",
        "open turn_ms=9\nsend hello\nwait 9\nfail server soon\nwait 500",
        "open backoff_max_ms=9 retry_after_ms=9\nsend hello\nfail rate_limit after=10",
        "open ceiling.samples=1\nsend hello\nend stop\nsend hello",
        "open empty_answers=0\nsend hello\nend stop",
        "send hello\nend stop\nend stop",
        "open continuations=0 hooks=stop\nsend hello\ntext a\nend stop\nhook 0 deny",
        "open compactions=0 window=1500\nsend x*1600\ntext y*2000\nend stop\nsend more",
        "open context_bytes=9 hooks=before_sample\nsend hello\nhook 0 pass context=ten-or-more",
        "open context_bytes=9\nsend ctx=notes:ten-or-more hello",
        "open cost_micros=150 price=1000000/0/0\nsend hello\ncall read\nend stop tokens=150\ndone 0",
    ] {
        let mutant = Transitions { decide: limitless, ..Transitions::CORE };
        let script: Script = script.parse().unwrap();
        check_all(Transitions::CORE, laws::ALL, &script).unwrap();
        let killer = law_of(mutant, &script);
        assert_eq!(killer, Some(9), "{script}");
    }
}

/// The law by whose check of the log a mutant dies, when nothing but the log is looked at.
fn law_of(mutant: Transitions, script: &Script) -> Option<u8> {
    let world = run(mutant, script).unwrap();
    let verdict = law_09_limits_hold::check(world.log(), &script.opening.ceiling);
    verdict.err().and_then(|broken| broken.number())
}

#[test]
fn law_09_kills_an_exhaustion_that_is_none() {
    let script = "open samples=1\nsend hello\ncall read {}\nend stop\ndone 0 ok";
    let law = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    kills_log(script, law, |log| {
        let at = find(log, "TurnOpened", 0);
        if let Fact::TurnOpened(fact) = &mut log[at].fact {
            fact.limits.samples = 2;
        }
        let Fact::SessionOpened(fact) = &mut log[0].fact else {
            return;
        };
        Arc::make_mut(&mut fact.settings).limits.samples = 2;
    });
}

#[test]
fn law_13_kills_a_decision_that_says_a_thing_twice() {
    fn stutters(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        let mut drafts = decide(session, limits, input)?;
        drafts.extend(drafts.last().cloned());
        Ok(drafts)
    }
    kills(13, Transitions { decide: stutters, ..Transitions::CORE }, "send hello");
}

#[test]
fn law_14_kills_an_answer_that_is_taken_without_a_look_at_its_key() {
    fn takes_any(session: &Session, limits: &Limits, mut input: Incoming<Input>) -> Decided {
        if let Input::SampleEvent { key, .. } = &mut input.input {
            *key = desired_effects(session).first().map_or(*key, |one| one.key);
        }
        decide(session, limits, input)
    }
    let script = "send hello\ncall read {}\nend stop\ndone 0 ok\nlate 0";
    kills(14, Transitions { decide: takes_any, ..Transitions::CORE }, script);
}

#[test]
fn law_14_kills_a_key_that_is_forgotten() {
    fn forgets(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        let mut session = session.clone();
        session.keys = Arc::default();
        decide(&session, limits, input)
    }
    kills(14, Transitions { decide: forgets, ..Transitions::CORE }, "send key=k a\nsend key=k a");
}

#[test]
fn law_14_kills_a_reject_that_leaves_a_trace() {
    let world = |script: &str| -> World {
        let script: Script = script.parse().unwrap();
        run(Transitions::CORE, &script).unwrap()
    };
    let standing = |world: &World| Standing {
        last: world.last(),
        session: world.session().clone(),
        running: std::collections::BTreeMap::new(),
        begun: 0,
    };
    let (before, after) = (standing(&world("")), standing(&world("send hello")));
    law_14::check(&before, &[], &Input::Continue, true, &before).unwrap();
    law_14::check(&before, &[], &Input::Continue, true, &after).unwrap_err();
}

#[test]
fn law_15_kills_a_policy_that_allows_too_much() {
    fn lax(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        let session = turning(session, |turn| {
            let settings = Arc::make_mut(&mut turn.settings);
            settings.mode = Mode::Build;
            settings.permissions = Permissions::Auto;
            turn.dry_run = false;
        });
        decide(&session, limits, input)
    }
    let mutant = Transitions { decide: lax, ..Transitions::CORE };
    let call = "\ncall write {}\nend stop";
    kills(15, mutant, &format!("open mode=plan\nsend hello{call}"));
    kills(15, mutant, &format!("open permissions=read_only\nsend hello{call}"));
    kills(15, mutant, &format!("open permissions=ask\nsend hello{call}"));
}

#[test]
fn law_15_kills_a_deferred_tool_that_no_search_has_found() {
    let law = law_15_denied_calls_never_start::check;
    kills_log("send hello\ncall write {}\nend stop", law, |log| {
        let at = find(log, "SessionOpened", 0);
        if let Fact::SessionOpened(fact) = &mut log[at].fact {
            let tools = &mut Arc::make_mut(&mut fact.settings).tools;
            tools.iter_mut().for_each(|tool| tool.deferred = true);
        }
    });
}

#[test]
fn law_15_kills_a_dry_run_that_is_none() {
    let law = law_15_denied_calls_never_start::check;
    kills_log("send dry hello\ncall write {}\nend stop", law, |log| {
        let at = find(log, "CallStarted", 0);
        if let Fact::CallStarted(fact) = &mut log[at].fact {
            fact.plan = false;
        }
    });
}

#[test]
fn law_15_kills_a_denial_that_is_overheard() {
    let law = law_15_denied_calls_never_start::check;
    let script = "open permissions=ask hooks=before_tool\nsend hello\ncall write {}\nhook 0 pass";
    let script = format!("{script}\nanswer 0 allow\nend stop");
    kills_log(&script, law, |log| {
        let at = find(log, "HookDecided", 0);
        if let Fact::HookDecided(fact) = &mut log[at].fact {
            fact.verdict = HookVerdict::Deny;
        }
    });
    kills_log(&script, law, |log| {
        let at = find(log, "HookDecided", 0);
        if let Fact::HookDecided(fact) = &mut log[at].fact {
            fact.verdict = HookVerdict::Failed;
        }
    });
    kills_log(&script, law, |log| {
        let at = find(log, "ApprovalAnswered", 0);
        if let Fact::ApprovalAnswered(fact) = &mut log[at].fact {
            fact.verdict = Verdict::Deny;
        }
    });
    kills_log(&script, law, |log| {
        log.remove(find(log, "ApprovalAnswered", 0));
    });
    // The policy did not ask.
    kills_log(&script, law, |log| {
        let at = find(log, "CallDecided", 0);
        if let Fact::CallDecided(fact) = &mut log[at].fact {
            fact.verdict = Verdict::Allow;
        }
        log.remove(find(log, "ApprovalAnswered", 0));
    });
}

#[test]
fn law_15_kills_arguments_that_nobody_looked_at() {
    let law = law_15_denied_calls_never_start::check;
    let script = "open permissions=ask hooks=before_tool\nsend hello\ncall write {}";
    let script = format!("{script}\nhook 0 pass edit={{\"a\":1}}\nanswer 0 allow\nend stop");
    kills_log(&script, law, |log| {
        let at = find(log, "HookDecided", 0);
        if let Fact::HookDecided(fact) = &mut log[at].fact {
            fact.edit = None;
        }
    });
    let rules = "open rules=deny:write(a=2)\nsend hello\ncall write {\"a\":1}\nend stop";
    kills_log(rules, law, |log| {
        let at = find(log, "ItemAdded", 0);
        if let Fact::ItemAdded(fact) = &mut log[at].fact
            && let Item::Call(call) = &mut fact.item
        {
            Arc::make_mut(call).rules = vec![0];
        }
    });
}

#[test]
fn law_15_kills_a_start_without_a_decision_about_these_arguments() {
    let law = law_15_denied_calls_never_start::check;
    kills_log(ONE_CALL, law, |log| {
        log.remove(find(log, "CallDecided", 0));
    });
    kills_log(ONE_CALL, law, |log| {
        let at = find(log, "CallDecided", 0);
        if let Fact::CallDecided(fact) = &mut log[at].fact {
            fact.arguments = ArgumentsDigest::Digest(Digest::EMPTY);
        }
    });
}

#[test]
fn law_16_kills_an_effect_that_runs_ahead_of_the_log() {
    let mutant = Transitions { desired_effects: needs_nothing, ..Transitions::CORE };
    kills(16, mutant, "open lazy\nsend hello\ncall write {}\nend stop");
}

#[test]
fn law_16_kills_a_second_start() {
    let law = |log: &[RecordedFact]| law_16_effectful_starts_once::check(log, &[]);
    kills_log(ONE_CALL, law, |log| {
        let at = find(log, "CallStarted", 0);
        let mut again = log[at].clone();
        if let Fact::CallStarted(fact) = &mut again.fact {
            fact.attempt = 2;
        }
        log.insert(at + 1, again);
    });
}

#[test]
fn law_16_kills_another_idempotency_key_for_a_repeat() {
    let law = |log: &[RecordedFact]| law_16_effectful_starts_once::check(log, &[]);
    let script = "send hello\ncall put {}\nend stop\ncrash";
    kills_log(script, law, |log| {
        let at = find(log, "CallStarted", 1);
        if let Fact::CallStarted(fact) = &mut log[at].fact {
            fact.idempotency_key.push('x');
        }
    });
}

#[test]
fn law_16_kills_a_comfortable_lie() {
    fn denies(session: &Session, limits: &Limits, mut input: Incoming<Input>) -> Decided {
        if let Input::CallEnded { observation, .. } = &mut input.input {
            observation.status = ObservationStatus::NotStarted;
        }
        decide(session, limits, input)
    }
    kills(16, Transitions { decide: denies, ..Transitions::CORE }, ONE_CALL);
}

#[test]
fn law_15_kills_an_answer_that_calls_what_its_own_search_found() {
    let law = law_15_denied_calls_never_start::check;
    let search = "send hello\ncall search_tools {}\ndone 0 ok";
    let script = format!("open defers=write\n{search}\nend stop\ncall write {{}}\nend stop");
    kills_log(&script, law, |log| {
        // The answer with the call began before the search had ended.
        let (observed, second) = (find(log, "CallObserved", 0), find(log, "SampleStarted", 1));
        let found = log[observed].fact.clone();
        log[observed].fact = log[second].fact.clone();
        log[second].fact = found;
    });
}
