//! Agents: what a turn lends a call, and what it counts when the call ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use expect_test::expect;
use windlass_core::{BudgetGrant, Fact, evolve, evolve_first};
use windlass_testkit::world::{Script, Transitions, run};

use super::check;

#[test]
fn a_budget_of_three_is_three_over_the_whole_tree() {
    check(expect![[r#"
        > open samples=3 agent=9
        > send hello => first turn, sample@5
        > call put {"prompt":"look"} => permitted call 6 decided
        > call put {"prompt":"look there"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 6 attempt 1, lent 1 samples
          12 CallObserved call 8 not_started: Not run: too little of the turn's budget is left to lend it to an agent. Do the work yourself, or conclude.
             run call 6@11
        > done 0 took=1/40/0 found
          13 CallObserved call 6 done: found, took 1 samples, 40 tokens
          14 SampleStarted sample 2 attempt 1 because tool results => runs
        > end stop => sample ended at 15
          16 TurnSettled no answer
    "#]]);
}

#[test]
fn what_nobody_knows_of_is_taken_whole() {
    check(expect![[r#"
        > open samples=4 agent=2 restarts=0
        > send hello => first turn, sample@5
        > call put {"prompt":"look"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > crash => log ends at 9
          10 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it., took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > end stop => sample ended at 12
          13 TurnSettled no answer, detached: 6
    "#]]);
}

#[test]
fn a_call_that_is_taken_up_again_is_lent_the_same() {
    check(expect![[r#"
        > open samples=4 tokens=900 agent=2
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 900 tokens set aside, answer up to 785 => runs
        > call put {"prompt":"look"} => permitted call 6 decided
        > end stop tokens=100 out=20
           8 SampleEnded stop, 120 tokens
           9 CallStarted call 6 attempt 1, lent 2 samples, 302 tokens => runs
        > crash => log ends at 9
          10 CallStarted call 6 attempt 2, lent 2 samples, 302 tokens => runs
        > done 0 took=2/60/0 found
          11 CallObserved call 6 done: found, took 2 samples, 60 tokens
          12 SampleStarted sample 2 attempt 1 because tool results, 720 tokens set aside, answer up to 587 => runs
        > text done => item 13
        > end stop tokens=150 out=20
          14 SampleEnded stop, 170 tokens
          15 TurnSettled completed
    "#]]);
}

/// The agent takes all that it was lent, and says as much as it may.
#[test]
fn a_turn_can_say_what_its_agent_found_whatever_that_took() {
    check(expect![[r#"
        > open samples=4 tokens=900 agent=2
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 900 tokens set aside, answer up to 785 => runs
        > call put {"prompt":"look"} => permitted call 6 decided
        > end stop tokens=100 out=20
           8 SampleEnded stop, 120 tokens
           9 CallStarted call 6 attempt 1, lent 2 samples, 302 tokens => runs
        > done 0 took=2/504/0 x*189
          10 CallObserved call 6 done: x*189, took 2 samples, 504 tokens
          11 TurnSettled exhausted: tokens
        > text done
        > end stop tokens=190 out=20
    "#]]);
}

#[test]
fn the_last_program_has_the_tokens_that_it_needs() {
    check(expect![[r#"
        > open program=3 samples=3 tokens=1200 agent=2
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 1200 tokens set aside, answer up to 1101 => runs
        > call run_program {} => read-only call 6 decided
        > end stop tokens=100 out=20
           8 SampleEnded stop, 120 tokens
           9 CallStarted call 6 attempt 1 => runs
        > program 0 calls put {"prompt":"look"}
          10 ProgramCalled program 6: put {"prompt":"look"}
          11 CallDecided call 10 allow: the permissions allow it
          12 CallStarted call 10 attempt 1, lent 1 samples, 471 tokens => runs
        > done 0 took=1/698/0 x*261
          13 CallObserved call 10 done: x*261, took 1 samples, 698 tokens
             run call 6@13
        > program 0 value 1
          14 ProgramRun program 6 value 1
          15 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          16 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
          17 TurnSettled exhausted: tokens
        > call run_program {}
        > end stop tokens=200 out=20
        > program 0 return 1
    "#]]);
}

#[test]
fn of_agents_beside_each_other_each_leaves_room_for_both_results() {
    check(expect![[r#"
        > open samples=9 tokens=9000 agent=2
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 8307 tokens set aside => runs
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > end stop tokens=100 out=20
          10 SampleEnded stop, 120 tokens
          11 CallStarted call 6 attempt 1, lent 2 samples, 3714 tokens
          12 CallStarted call 8 attempt 1, lent 2 samples, 3715 tokens
             run call 6@11
             run call 8@12
        > done 0 took=2/9000/0 a
          13 CallObserved call 6 done: a, took 2 samples, 9000 tokens
        > done 0 took=2/900/0 b
          14 CallObserved call 8 done: b, took 2 samples, 900 tokens
          15 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn agents_that_run_beside_each_other_are_not_lent_the_same() {
    check(expect![[r#"
        > open samples=6 agent=3
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 6 attempt 1, lent 2 samples
          12 CallStarted call 8 attempt 1, lent 2 samples
             run call 6@11
             run call 8@12
        > done 1 took=1/0/0 b
          13 CallObserved call 8 done: b, took 1 samples
        > done 0 took=3/0/0 a
          14 CallObserved call 6 done: a, took 2 samples
          15 SampleStarted sample 2 attempt 1 because tool results => runs
        > call put {"prompt":"c"} => permitted call 16 decided
        > end stop => sample ended at 18
          19 CallObserved call 16 not_started: Not run: too little of the turn's budget is left to lend it to an agent. Do the work yourself, or conclude.
          20 SampleStarted sample 3 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_call_that_was_to_stop_before_it_began_took_nothing() {
    check(expect![[r#"
        > open lazy samples=6 agent=3
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 3 samples
        > interrupt person => request 10
             never call 6@9
          11 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began., took 0 samples
          12 TurnSettled interrupted by person
        > never 0
    "#]]);
}

#[test]
fn a_dry_run_lends_nothing() {
    check(expect![[r#"
        > open samples=6 agent=3
        > send dry hello => first dry turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, plan => runs
        > end stop => sample ended at 9
    "#]]);
}

#[test]
fn an_agent_is_lent_the_time_that_its_turn_has_left() {
    check(expect![[r#"
        > open samples=6 turn_ms=1000 agent=2
        > send hello => first turn, sample@5
        > wait 300
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples, 700 ms => runs
        > done 0 took=1/0/0
          10 CallObserved call 6 done: , took 1 samples
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > end stop => sample ended at 12
          13 ContextInjected empty answer 11
          14 SampleStarted sample 3 attempt 1 because empty answer 11 => runs
    "#]]);
}

/// What is wrong with a log whose fact of this kind was changed.
fn changed(kind: &str, change: impl Fn(&mut Fact)) -> Option<String> {
    let script = "open samples=5 tokens=900 turn_ms=900 agent=3\nsend hello\nwait 300\ncall put {}\n\
                  end stop tokens=9\ndone 0 took=2/9/0";
    let script: Script = script.parse().unwrap();
    let world = run(Transitions::CORE, &script).unwrap();
    let mut session = evolve_first(&world.log()[0]).unwrap();
    for recorded in &world.log()[1..] {
        let mut recorded = (*recorded).clone();
        if recorded.fact.kind() == kind {
            change(&mut recorded.fact);
        }
        match evolve(session, &recorded) {
            Ok(next) => session = next,
            Err(misfit) => return Some(misfit.reason),
        }
    }
    None
}

#[test]
fn what_is_lent_beyond_what_is_left_is_no_log() {
    let lend = |change: fn(&mut BudgetGrant)| {
        changed("CallStarted", |fact| {
            if let Fact::CallStarted(fact) = fact {
                change(fact.grant.as_mut().unwrap());
            }
        })
    };
    assert_eq!(lend(|_| ()), None);
    assert_eq!(lend(|lent| lent.samples = 1), Some("it took more samples than it was lent".into()));
    let more = Some("more is lent than the turn has left".into());
    assert_eq!(lend(|lent| lent.samples = 4), more);
    assert_eq!(lend(|lent| lent.samples = 0), more);
    assert_eq!(lend(|lent| lent.tokens = 901), more);
    assert_eq!(lend(|lent| lent.tokens = 0), more);
    assert_eq!(lend(|lent| lent.turn_ms = 601), more);
    assert_eq!(lend(|lent| lent.turn_ms = 600), None);
    // As an older engine wrote it.
    assert_eq!(lend(|lent| lent.turn_ms = 0), None);
    let nothing = changed("CallStarted", |fact| {
        if let Fact::CallStarted(fact) = fact {
            fact.grant = None;
        }
    });
    assert_eq!(nothing, Some("an agent is lent a budget, and nothing else is".into()));
    let kept = changed("CallObserved", |fact| {
        if let Fact::CallObserved(fact) = fact {
            fact.usage = None;
        }
    });
    assert_eq!(kept, Some("what is lent is taken or given back".into()));
}

#[test]
fn agents_of_one_answer_share_what_is_left_of_the_samples() {
    check(expect![[r#"
        > open samples=12 agent=9
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > call put {"prompt":"c"} => permitted call 10 decided
        > end stop => sample ended at 12
          13 CallStarted call 6 attempt 1, lent 4 samples
          14 CallStarted call 8 attempt 1, lent 3 samples
          15 CallStarted call 10 attempt 1, lent 3 samples
             run call 6@13
             run call 8@14
             run call 10@15
        > done 0 took=1/0/0 a
          16 CallObserved call 6 done: a, took 1 samples
        > done 1 took=4/0/0 b
          17 CallObserved call 10 done: b, took 3 samples
        > done 2 took=3/0/0 c
          18 CallObserved call 8 done: c, took 3 samples
          19 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn agents_of_one_answer_share_what_is_left_of_the_tokens() {
    check(expect![[r#"
        > open samples=99 tokens=30000 agent=9
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 8307 tokens set aside => runs
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > call put {"prompt":"c"} => permitted call 10 decided
        > end stop tokens=100 out=20
          12 SampleEnded stop, 120 tokens
          13 CallStarted call 6 attempt 1, lent 9 samples, 8674 tokens
          14 CallStarted call 8 attempt 1, lent 9 samples, 8674 tokens
          15 CallStarted call 10 attempt 1, lent 9 samples, 8674 tokens
             run call 6@13
             run call 8@14
             run call 10@15
        > done 0 took=1/500/0 a
          16 CallObserved call 6 done: a, took 1 samples, 500 tokens
        > done 1 took=4/5000/0 b
          17 CallObserved call 10 done: b, took 4 samples, 5000 tokens
        > done 2 took=3/600/0 c
          18 CallObserved call 8 done: c, took 3 samples, 600 tokens
          19 SampleStarted sample 2 attempt 1 because tool results, 8382 tokens set aside => runs
    "#]]);
}

/// The first has come back before the third can start, which gets what that one left.
#[test]
fn an_agent_that_starts_later_shares_what_the_first_ones_left() {
    check(expect![[r#"
        > open samples=13 parallel_calls=2 agent=9
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > call put {"prompt":"c"} => permitted call 10 decided
        > end stop => sample ended at 12
          13 CallStarted call 6 attempt 1, lent 4 samples
          14 CallStarted call 8 attempt 1, lent 4 samples
             run call 6@13
             run call 8@14
        > done 0 took=1/0/0 a
          15 CallObserved call 6 done: a, took 1 samples
          16 CallStarted call 10 attempt 1, lent 6 samples => runs
        > done 1 took=3/0/0 b
          17 CallObserved call 10 done: b, took 3 samples
        > done 2 took=7/0/0 c
          18 CallObserved call 8 done: c, took 4 samples
          19 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}
