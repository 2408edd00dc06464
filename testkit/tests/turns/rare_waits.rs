//! Orders of events that are rare, over hooks, compactions and the clock.

use expect_test::expect;

use super::check;

#[test]
fn the_next_hook_is_asked_though_the_clock_was_set_back() {
    check(expect![[r#"
        > open hooks=before_sample,before_sample
        > send hello => first turn, input 2 accepted at 4
           5 HooksAsked before_sample 1: hook 0 => runs
        > hook 0 pass => passed at 6
           7 HooksAsked before_sample 1: hook 1 => runs
        > hook 0 pass
           8 HookDecided h1 pass
           9 SampleStarted sample 1 attempt 1 because opened by input 2 => runs
        > call read {} => read-only call 10@12
        > fail truncated soon
          13 SampleCut truncated, stands through 10, about 129 tokens, next attempt in 250 ms
        > done 0 ok => call 10 observed at 14
        > wait 500
          15 HooksAsked before_sample 2: hook 0 => runs
        > back 1000
        > hook 0 pass => passed at 16
          17 HooksAsked before_sample 2: hook 1 => runs
        > hook 0 pass
          18 HookDecided h1 pass
    "#]]);
}

#[test]
fn a_first_input_that_is_too_large_is_let_in_before_it_is_compacted() {
    check(expect![[r#"
        > open window=1500
        > send x*9000 => first turn, input 2 accepted at 4
           5 CompactionStarted 1 attempt 1: window, clear to 2311 bytes => runs
    "#]]);
}

#[test]
fn a_pause_waits_for_the_hooks_that_are_asked() {
    check(expect![[r#"
        > open hooks=before_sample
        > send hello => first turn, input 2 accepted at 4
           5 HooksAsked before_sample 1: hook 0 => runs
        > interrupt person after => request 6
        > hook 0 pass => passed at 7
           8 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_compaction_is_taken_up_again_as_often_as_it_may_be() {
    check(expect![[r#"
        > open restarts=1 window=1500
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send more => turn of input 9
          11 CompactionStarted 1 attempt 1: window, clear to 2247 bytes => runs
        > crash => log ends at 11
          12 CompactionStarted 1 attempt 2: window, clear to 2247 bytes => runs
        > crash => log ends at 12
          13 CompactionFailed the process ended each time while it was made
          14 InputAccepted input 9
          15 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn the_first_denial_of_parallel_hooks_outlasts_what_the_others_say_after_it() {
    check(expect![[r#"
        > open hooks=before_tool:parallel,before_tool:parallel,before_tool:parallel
        > send hello => first turn, sample@5
        > call write {} => call 6
           7 HooksAsked before_tool call 6: hook 0, 1, 2 => runs
             run hook 1@7
             run hook 2@7
        > end stop => sample ended at 8
        > hook 0 deny not this one
           9 HookDecided h0 deny: not this one
        > hook 0 ask
          10 HookDecided h1 ask
        > hook 0 deny nor that one
          11 HookDecided h2 deny: nor that one
          12 CallDecided call 6 deny by hook
          13 CallObserved call 6 denied: Denied by a hook: not this one
          14 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_price_without_a_budget_of_money_sets_none_aside() {
    check(expect![[r#"
        > open tokens=100000 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 8307 tokens set aside => runs
    "#]]);
}

#[test]
fn hooks_that_pass_an_answer_take_nothing_from_the_continuations() {
    check(expect![[r#"
        > open hooks=after_answer continuations=0
        > send hello => first turn, sample@5
        > call read {} => call 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > hook 0 pass => passed at 9
          10 CallDecided call 6 allow: the tool is read-only
          11 CallStarted call 6 attempt 1 => runs
        > done 0 ok => call 6 observed at 12, sample 2@13
    "#]]);
}

#[test]
fn what_a_hook_gives_with_a_steer_that_it_denies_is_for_nobody() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > call read {} => read-only call 8@10
        > end stop => sample ended at 11
        > steer and this => input 12
        > done 0 ok => call 8 observed at 13
          14 HooksAsked prompt_submitted input 12: hook 0 => runs
        > hook 0 deny context=note not now
          15 HookDecided h0 deny: not now, context "note"
          16 InputBlocked input 12: not now
          17 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_stop_does_not_wait_for_the_hooks_that_see_the_answer() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > call read {} => call 6
        > interrupt person => request 7
           8 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began.
             wind sample@5
    "#]]);
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > call read {} => call 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > interrupt person => request 9
          10 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began.
          11 TurnSettled interrupted by person
    "#]]);
}
