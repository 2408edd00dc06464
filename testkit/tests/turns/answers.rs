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
           8 TurnSettled no answer
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
