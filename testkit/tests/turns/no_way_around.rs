//! No way around: what a hook, a rule, a budget or the time of a turn says holds at its edges too.

use expect_test::expect;

use super::check;

#[test]
fn only_the_turn_itself_says_that_its_time_is_over() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send one => first turn, prompt hook 0@4
        > interrupt deadline
             rejected: a deadline is the turn's own affair: set `turn_ms`, or interrupt as somebody
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
    "#]]);
}

#[test]
fn a_turn_whose_time_is_over_before_its_input_is_let_in_leaves_it_waiting() {
    check(expect![[r#"
        > open hooks=prompt_submitted turn_ms=1000
        > send one => first turn, prompt hook 0@4
        > wait 1000
           5 InterruptRequested by deadline: the turn has run for 1000 ms, which is its limit
           6 TurnSettled exhausted: wall_clock, waiting: 2
        > continue
           7 TurnOpened because opened by input 2
           8 HooksAsked prompt_submitted input 2: hook 0 => runs
        > hook 0 pass => passed at 9, input 2 accepted, sample@11
    "#]]);
}

#[test]
fn the_time_of_a_turn_counts_while_hooks_are_asked_whether_it_may_end() {
    check(expect![[r#"
        > open hooks=stop turn_ms=1000
        > send one => first turn, sample@5
        > text hi => item 6
        > end stop => sample ended at 7
           8 HooksAsked stop 5 continued 0: hook 0 => runs
        > wait 1000
           9 InterruptRequested by deadline: the turn has run for 1000 ms, which is its limit
          10 TurnSettled exhausted: wall_clock
        > hook 0 deny more
    "#]]);
}

#[test]
fn a_rule_denies_the_call_that_says_that_the_goal_is_met() {
    check(expect![[r#"
        > open rules=deny:goal_met
           1 SessionOpened
        > goal turns=3 do it
           2 GoalSet "do it", 3 turns
        > send go => turn, sample@6
        > call goal_met {} => call 7
           8 CallDecided call 7 deny by rule
           9 CallObserved call 7 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 10
          11 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_hook_denies_the_answer_that_says_that_the_goal_is_met() {
    check(expect![[r#"
        > open hooks=after_answer
           1 SessionOpened
        > goal turns=3 do it
           2 GoalSet "do it", 3 turns
        > send go => turn, sample@6
        > call goal_met {} => call 7
        > end stop => sample ended at 8, hook 0@9 sees the answer of 6
        > hook 0 deny not yet
          10 HookDecided h0 deny: not yet, context "not yet"
          11 CallDecided call 7 deny by hook
          12 CallObserved call 7 denied: Denied by a hook: not yet
          13 ContextInjected of the hook at 10
          14 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn what_a_hook_gives_at_the_start_outlives_a_blocked_prompt() {
    check(expect![[r#"
        > open hooks=session_start@startup,prompt_submitted
        > send bad => first turn, of input 2
           4 HooksAsked session_start startup: hook 0 => runs
        > hook 0 pass context=the-branch-is-main
           5 HookDecided h0 pass, context "the-branch-is-main"
           6 HooksAsked prompt_submitted input 2: hook 1 => runs
        > hook 0 deny no
           7 HookDecided h1 deny: no
           8 InputBlocked input 2: no
           9 TurnSettled blocked: no
        > crash => log ends at 9
          10 SessionResumed
        > send good => turn of input 11
          13 HooksAsked prompt_submitted input 11: hook 1 => runs
        > hook 0 pass
          14 HookDecided h1 pass
          15 ContextInjected of the hook at 5
          16 InputAccepted input 11 => sample@17
    "#]]);
}

#[test]
fn a_session_that_is_resumed_in_the_middle_of_a_turn_says_so_to_its_hooks() {
    check(expect![[r#"
        > open hooks=session_start@resume
        > send one => first turn, sample@5
        > crash => log ends at 5
           6 SessionResumed
           7 SampleCut restart, about 114 tokens, next attempt in 0 ms
           8 SampleStarted sample 1 attempt 2 because retry => runs
        > text hi => item 9
        > end stop => completed at 11
        > send two => turn of input 12
          14 HooksAsked session_start resume: hook 0 => runs
        > hook 0 pass context=back-again
          15 HookDecided h0 pass, context "back-again"
          16 ContextInjected of the hook at 15
          17 InputAccepted input 12 => sample@18
    "#]]);
}

#[test]
fn a_hook_that_fails_after_a_compaction_and_counts_as_a_denial_ends_the_turn() {
    check(expect![[r#"
        > open window=600 strategy=slide hooks=after_compaction
        > send one => first turn, sample@5
        > text x*1500 => item 6
        > end stop => completed at 8
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 680 bytes => runs
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.", leaves 103 bytes in 1 items
          13 HooksAsked after_compaction 12 window: hook 0 => runs
        > hook 0 failed it-broke
          14 HookDecided h0 failed: it-broke
          15 InputAccepted input 9
          16 TurnSettled blocked: it-broke
    "#]]);
}

#[test]
fn tokens_that_nobody_reports_are_charged_as_they_are_estimated() {
    check(expect![[r#"
        > open tokens=700
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 700 tokens set aside, answer up to 586 => runs
        > call read {} => read-only call 6 decided
        > end stop
           8 SampleEnded stop, about 128 tokens
           9 CallStarted call 6 attempt 1 => runs
        > done 0 x*300 => call 6 observed at 10
          11 SampleStarted sample 2 attempt 1 because tool results, 572 tokens set aside, answer up to 332 => runs
        > call read {} => read-only call 12 decided
        > end stop
          14 SampleEnded stop, about 254 tokens
          15 CallStarted call 12 attempt 1 => runs
        > done 0 x*300 => call 12 observed at 16
          17 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn a_summary_that_the_budget_leaves_no_room_for_is_not_asked_for() {
    check(expect![[r#"
        > open window=600 strategy=summary tokens=500
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 500 tokens set aside, answer up to 386 => runs
        > text x*1500 => item 6
        > end stop
           7 SampleEnded stop, about 626 tokens
           8 TurnSettled exhausted: tokens
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 680 bytes => runs
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.", leaves 103 bytes in 1 items
          13 InputAccepted input 9
          14 SampleStarted sample 1 attempt 1 because opened by input 9, 500 tokens set aside, answer up to 339 => runs
        > text ok => item 15
        > end stop
          16 SampleEnded stop, about 174 tokens
          17 TurnSettled completed
    "#]]);
}

#[test]
fn an_answer_with_calls_is_denied_as_often_as_hooks_may_have_the_model_go_on() {
    check(expect![[r#"
        > open continuations=1 hooks=after_answer
        > send one => first turn, sample@5
        > call read {} => call 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > hook 0 deny another-way
           9 HookDecided h0 deny: another-way, context "another-way"
          10 CallDecided call 6 deny by hook
          11 CallObserved call 6 denied: Denied by a hook: another-way
          12 ContextInjected of the hook at 9
          13 SampleStarted sample 2 attempt 1 because tool results => runs
        > call read {} => call 14
        > end stop => sample ended at 15, hook 0@16 sees the answer of 13
        > hook 0 deny another-way
          17 HookDecided h0 deny: another-way, context "another-way"
          18 CallDecided call 14 deny by hook
          19 CallObserved call 14 denied: Denied by a hook: another-way
          20 TurnSettled exhausted: continuations
    "#]]);
}

#[test]
fn a_hook_that_is_told_of_an_interrupt_does_not_change_how_the_turn_ends() {
    check(expect![[r#"
        > open hooks=interrupt
        > send one => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > interrupt person after => request 10
        > done 0 ok => call 6 observed at 11
          12 HooksAsked interrupt: hook 0 => runs
        > hook 0 halt nope
          13 HookDecided h0 halt: nope
          14 TurnSettled interrupted by person
    "#]]);
}
