//! Answers: how a sample ends, and what the turn makes of it.

use expect_test::expect;

use super::check;

#[test]
fn a_plain_answer() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > reasoning hmm => item 6
        > text Hi! => item 7
        > end stop tokens=12
           8 SampleEnded stop, 12 tokens
           9 TurnSettled completed
    "#]]);
}

#[test]
fn a_second_turn_goes_on_from_the_first() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Hi! => item 6
        > end stop => completed at 8
        > send and now? => turn, sample@12
        > text Now too. => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn a_refusal_is_its_own_outcome() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > refusal No.
           6 ItemAdded refusal "No."
        > end stop => sample ended at 7
           8 TurnSettled refused
    "#]]);
}

#[test]
fn no_answer_is_its_own_outcome() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > reasoning hmm => item 6
        > end stop => sample ended at 7
           8 ContextInjected empty answer 5
           9 SampleStarted sample 2 attempt 1 because empty answer 5 => runs
        > reasoning hmm => item 10
        > end stop => sample ended at 11
          12 TurnSettled no answer
    "#]]);
}

#[test]
fn an_empty_answer_is_asked_once_more() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > reasoning hmm => item 6
        > end stop => sample ended at 7
           8 ContextInjected empty answer 5
           9 SampleStarted sample 2 attempt 1 because empty answer 5 => runs
        > text Hi! => item 10
        > end stop => completed at 12
    "#]]);
}

#[test]
fn empty_answers_with_work_between_are_each_asked_once_more() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > end stop => sample ended at 6
           7 ContextInjected empty answer 5
           8 SampleStarted sample 2 attempt 1 because empty answer 5 => runs
        > call read {} => read-only call 9@11
        > end stop => sample ended at 12
        > done 0 ok => call 9 observed at 13
          14 SampleStarted sample 3 attempt 1 because tool results => runs
        > end stop => sample ended at 15
          16 ContextInjected empty answer 14
          17 SampleStarted sample 4 attempt 1 because empty answer 14 => runs
        > text Hi! => item 18
        > end stop => completed at 20
    "#]]);
}

#[test]
fn an_empty_answer_in_a_log_without_the_limit_ends_the_turn() {
    check(expect![[r#"
        > open empty_answers=0
        > send hello => first turn, sample@5
        > end stop => sample ended at 6
           7 TurnSettled no answer
    "#]]);
}

#[test]
fn an_empty_answer_is_not_asked_again_beyond_a_limit() {
    check(expect![[r#"
        > open samples=1
        > send hello => first turn, sample@5
        > end stop => sample ended at 6
           7 TurnSettled no answer
        > configure meant tokens=1000
           8 SettingsChanged mode build, permissions auto
        > send again => turn of input 9
          11 InputAccepted input 9
          12 SampleStarted sample 1 attempt 1 because opened by input 9, 1000 tokens set aside, answer up to 871 => runs
        > end stop tokens=900
          13 SampleEnded stop, 900 tokens
          14 TurnSettled no answer
    "#]]);
}

#[test]
fn an_empty_answer_ends_a_turn_that_is_to_stop_after_its_step() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > interrupt person after => request 6
        > end stop => sample ended at 7
           8 TurnSettled no answer
    "#]]);
}

#[test]
fn a_steer_continues_after_an_empty_answer_by_itself() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer now => input 6, yield sample@5
        > end stop => sample ended at 7
           8 InputAccepted input 6 => sample 2@9
        > text Hi! => item 10
        > end stop => completed at 12
    "#]]);
}

#[test]
fn hooks_see_an_empty_answer_and_its_end_only_after_the_re_ask() {
    check(expect![[r#"
        > open hooks=stop
        > send hello => first turn, sample@5
        > end stop => sample ended at 6
           7 ContextInjected empty answer 5
           8 SampleStarted sample 2 attempt 1 because empty answer 5 => runs
        > end stop => sample ended at 9
          10 HooksAsked stop 8 continued 0: hook 0 => runs
        > hook 0 pass => passed at 11
          12 TurnSettled no answer
    "#]]);
}

#[test]
fn a_crash_after_the_notice_of_an_empty_answer_asks_once() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > end stop => sample ended at 6
           7 ContextInjected empty answer 5
           8 SampleStarted sample 2 attempt 1 because empty answer 5 => runs
        > crash => log ends at 8
           9 SampleCut restart, about 168 tokens, next attempt in 0 ms
          10 SampleStarted sample 2 attempt 2 because retry => runs
        > end stop => sample ended at 11
          12 TurnSettled no answer
    "#]]);
}

#[test]
fn a_cut_by_length_is_an_exhaustion() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Half => item 6
        > end length
           7 SampleEnded length
           8 TurnSettled exhausted: output_tokens
    "#]]);
}

#[test]
fn calls_that_were_whole_before_the_cut_are_run() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end length
           9 SampleEnded length
        > done 0 ok => call 6 observed at 10, sample 2@11
        > text Hi! => item 12
        > end stop => completed at 14
    "#]]);
}

#[test]
fn a_content_filter_is_a_failure() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Half => item 6
        > end content_filter
           7 SampleEnded content_filter
           8 TurnSettled failed: content_filter: the provider's content filter cut the answer off
    "#]]);
}

#[test]
fn an_unfinished_answer_is_asked_on() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Half => item 6
        > end unfinished
           7 SampleEnded unfinished
           8 SampleStarted sample 2 attempt 1 because unfinished => runs
        > text Whole. => item 9
        > end stop => completed at 11
    "#]]);
}

#[test]
fn another_reason_to_stop_counts_as_an_end() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Hi! => item 6
        > end other=paused
           7 SampleEnded other "paused"
           8 TurnSettled completed
    "#]]);
}
