//! Answers: how a sample ends, and what the turn makes of it.

use expect_test::expect;

use super::check;

#[test]
fn a_plain_answer() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > reasoning hmm
           6 ItemAdded reasoning "hmm"
        > text Hi!
           7 ItemAdded text "Hi!"
        > end stop tokens=12
           8 SampleEnded stop, 12 tokens
           9 TurnSettled completed
    "#]]);
}

#[test]
fn a_second_turn_goes_on_from_the_first() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Hi!
           6 ItemAdded text "Hi!"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send and now?
           9 InputQueued "and now?"
          10 TurnOpened because opened by input 9
          11 InputAccepted input 9
          12 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@12
        > text Now too.
          13 ItemAdded text "Now too."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
    "#]]);
}

#[test]
fn a_refusal_is_its_own_outcome() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > refusal No.
           6 ItemAdded refusal "No."
        > end stop
           7 SampleEnded stop
           8 TurnSettled refused
    "#]]);
}

#[test]
fn no_answer_is_its_own_outcome() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > reasoning hmm
           6 ItemAdded reasoning "hmm"
        > end stop
           7 SampleEnded stop
           8 TurnSettled no answer
    "#]]);
}

#[test]
fn a_cut_by_length_is_an_exhaustion() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Half
           6 ItemAdded text "Half"
        > end length
           7 SampleEnded length
           8 TurnSettled exhausted: output_tokens
    "#]]);
}

#[test]
fn calls_that_were_whole_before_the_cut_are_run() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end length
           9 SampleEnded length
        > done 0 ok
          10 CallObserved call 6 done: ok
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
        > text Hi!
          12 ItemAdded text "Hi!"
        > end stop
          13 SampleEnded stop
          14 TurnSettled completed
    "#]]);
}

#[test]
fn a_content_filter_is_a_failure() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Half
           6 ItemAdded text "Half"
        > end content_filter
           7 SampleEnded content_filter
           8 TurnSettled failed: content_filter: the provider's content filter cut the answer off
    "#]]);
}

#[test]
fn an_unfinished_answer_is_asked_on() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Half
           6 ItemAdded text "Half"
        > end unfinished
           7 SampleEnded unfinished
           8 SampleStarted sample 2 attempt 1 because unfinished
             run sample@8
        > text Whole.
           9 ItemAdded text "Whole."
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
    "#]]);
}

#[test]
fn another_reason_to_stop_counts_as_an_end() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Hi!
           6 ItemAdded text "Hi!"
        > end other=paused
           7 SampleEnded other "paused"
           8 TurnSettled completed
    "#]]);
}
