//! Orders of events that are rare, over hooks, compactions and the clock.

use expect_test::expect;

use super::check;

#[test]
fn the_next_hook_is_asked_though_the_clock_was_set_back() {
    check(
        r#"
            open hooks=before_sample,before_sample
            send hello
            hook 0 pass
            hook 0 pass
            call read {}
            fail truncated soon
            done 0 ok
            wait 500
            back 1000
            hook 0 pass
            hook 0 pass
        "#,
        expect![[r#"
               1 SessionOpened
            > send hello
               2 InputQueued "hello"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 HooksAsked before_sample 1: hook 0
                 run hook 0@5
            > hook 0 pass
               6 HookDecided h0 pass
               7 HooksAsked before_sample 1: hook 1
                 run hook 1@7
            > hook 0 pass
               8 HookDecided h1 pass
               9 SampleStarted sample 1 attempt 1 because opened by input 2
                 run sample@9
            > call read {}
              10 ItemAdded call read {}
              11 CallDecided call 10 allow: the tool is read-only
              12 CallStarted call 10 attempt 1
                 run call 10@12
            > fail truncated soon
              13 SampleCut truncated, stands through 10, next attempt in 250 ms
            > done 0 ok
              14 CallObserved call 10 done: ok
            > wait 500
              15 HooksAsked before_sample 2: hook 0
                 run hook 0@15
            > back 1000
            > hook 0 pass
              16 HookDecided h0 pass
              17 HooksAsked before_sample 2: hook 1
                 run hook 1@17
            > hook 0 pass
              18 HookDecided h1 pass
        "#]],
    );
}

#[test]
fn a_first_input_that_is_too_large_is_let_in_before_it_is_compacted() {
    check(
        r#"
            open window=1500
            send x*9000
        "#,
        expect![[r#"
               1 SessionOpened
            > send x*9000
               2 InputQueued "x*9000"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 CompactionStarted 1 attempt 1: window, clear to 1657 bytes
                 run compact@5
        "#]],
    );
}

#[test]
fn a_pause_waits_for_the_hooks_that_are_asked() {
    check(
        r#"
            open hooks=before_sample
            send hello
            interrupt person after
            hook 0 pass
        "#,
        expect![[r#"
               1 SessionOpened
            > send hello
               2 InputQueued "hello"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 HooksAsked before_sample 1: hook 0
                 run hook 0@5
            > interrupt person after
               6 InterruptRequested by person, after the step: enough
            > hook 0 pass
               7 HookDecided h0 pass
               8 TurnSettled interrupted by person
        "#]],
    );
}

#[test]
fn a_compaction_is_taken_up_again_as_often_as_it_may_be() {
    check(
        r#"
            open restarts=1 window=1500
            send x*1600
            text y*2000
            end stop
            send more
            crash
            crash
        "#,
        expect![[r#"
               1 SessionOpened
            > send x*1600
               2 InputQueued "x*1600"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 SampleStarted sample 1 attempt 1 because opened by input 2
                 run sample@5
            > text y*2000
               6 ItemAdded text "y*2000"
            > end stop
               7 SampleEnded stop
               8 TurnSettled completed
            > send more
               9 InputQueued "more"
              10 TurnOpened because opened by input 9
              11 CompactionStarted 1 attempt 1: window, clear to 1626 bytes
                 run compact@11
            > crash
                 the log ends at 11
              12 CompactionStarted 1 attempt 2: window, clear to 1629 bytes
                 run compact@12
            > crash
                 the log ends at 12
              13 CompactionFailed the process ended each time while it was made
              14 InputAccepted input 9
              15 TurnSettled exhausted: context
        "#]],
    );
}
