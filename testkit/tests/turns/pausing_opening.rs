//! Asked to stop after the step before anything was let in: nothing is.

use expect_test::expect;

use super::check;

#[test]
fn what_is_not_let_in_yet_waits() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > interrupt person after => request 5
        > hook 0 pass => passed at 6
           7 TurnSettled interrupted by person, waiting: 2
        > continue
           8 TurnOpened because opened by input 2
           9 HooksAsked prompt_submitted input 2: hook 0 => runs
        > hook 0 pass => passed at 10, input 2 accepted, sample@12
        > text hi => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn what_hooks_keep_out_is_kept_out() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > send next => input 5
        > interrupt person after => request 6
        > hook 0 deny no
           7 HookDecided h0 deny: no
           8 InputBlocked input 2: no
           9 TurnSettled blocked: no, waiting: 5
        > continue
          10 TurnOpened because opened by input 5
          11 HooksAsked prompt_submitted input 5: hook 0 => runs
    "#]]);
}

#[test]
fn hooks_of_the_beginning_are_heard_and_no_others_asked() {
    check(expect![[r#"
        > open hooks=session_start,prompt_submitted,interrupt
        > send hello => first turn, of input 2
           4 HooksAsked session_start startup: hook 0 => runs
        > interrupt person after => request 5
        > hook 0 pass => passed at 6
           7 HooksAsked interrupt: hook 2 => runs
        > hook 0 pass
           8 HookDecided h2 pass
           9 TurnSettled interrupted by person, waiting: 2
    "#]]);
}

#[test]
fn no_compaction_begins() {
    check(expect![[r#"
        > open child hooks=sub_turn_start window=1500 strategy=slide
        > send x*1600 => first turn, of input 2
           4 HooksAsked sub_turn_start: hook 0 => runs
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > text y*2000 => item 8
        > end stop => completed at 10
        > send what was it? => turn of input 11
          13 HooksAsked sub_turn_start: hook 0 => runs
        > interrupt person after => request 14
        > hook 0 pass => passed at 15
          16 TurnSettled interrupted by person, waiting: 11
    "#]]);
}

#[test]
fn a_compaction_that_runs_may_end() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > interrupt person after => request 12
        > compacted
          13 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\nThe assistant said, shortened, the latest last:\n- \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...", leaves 560 bytes in 1 items
          14 TurnSettled interrupted by person, waiting: 9
        > continue
          15 TurnOpened because opened by input 9 => sample@17
    "#]]);
}

#[test]
fn the_turn_of_a_goal_does_not_begin() {
    check(expect![[r#"
        > open child hooks=sub_turn_start
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn of input 3
           5 HooksAsked sub_turn_start: hook 0 => runs
        > hook 0 pass => passed at 6, input 3 accepted, sample@8
        > text I have begun. => item 9
        > end stop => completed at 11
          12 TurnOpened because goal 2
          13 HooksAsked sub_turn_start: hook 0 => runs
        > interrupt person after => request 14
        > hook 0 pass => passed at 15
          16 TurnSettled interrupted by person
    "#]]);
}
