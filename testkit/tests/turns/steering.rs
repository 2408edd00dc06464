//! Steering: words for the turn that runs, heard as soon as that may be, and never lost.

use expect_test::expect;

use super::check;

#[test]
fn text_that_streams_gives_way_at_once() {
    check(expect![[r#"
           1 SessionOpened
        > send write a poem
           2 InputQueued "write a poem"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer make it short
           6 InputQueued "make it short", steer
             yield sample@5
        > yielded Once upon a
           7 SampleCut steered, partial "Once upon a", what it said stands, next attempt in 0 ms
           8 InputAccepted input 6
           9 SampleStarted sample 2 attempt 1 because pending input 6
             run sample@9
        > text Short.
          10 ItemAdded text "Short."
        > end stop
          11 SampleEnded stop
          12 TurnSettled completed
    "#]]);
}

#[test]
fn whole_texts_before_the_cut_stand_too_and_reasoning_does_not() {
    check(expect![[r#"
           1 SessionOpened
        > send write a poem
           2 InputQueued "write a poem"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > reasoning Hmm.
           6 ItemAdded reasoning "Hmm."
        > text First verse.
           7 ItemAdded text "First verse."
        > steer make it short
           8 InputQueued "make it short", steer
             yield sample@5
        > yielded Second
           9 SampleCut steered, partial "Second", what it said stands, next attempt in 0 ms
          10 InputAccepted input 8
          11 SampleStarted sample 2 attempt 1 because pending input 8
             run sample@11
    "#]]);
}

#[test]
fn an_answer_that_does_not_give_way_runs_to_its_end() {
    check(expect![[r#"
           1 SessionOpened
        > send write a poem
           2 InputQueued "write a poem"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer make it short
           6 InputQueued "make it short", steer
             yield sample@5
        > text Once upon a time.
           7 ItemAdded text "Once upon a time."
        > end stop
           8 SampleEnded stop
           9 InputAccepted input 6
          10 SampleStarted sample 2 attempt 1 because pending input 6
             run sample@10
        > text Short.
          11 ItemAdded text "Short."
        > end stop
          12 SampleEnded stop
          13 TurnSettled completed
    "#]]);
}

#[test]
fn with_a_call_the_steer_waits_for_the_results() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > steer and be careful
           9 InputQueued "and be careful", steer
        > end stop
          10 SampleEnded stop
        > done 0 ok
          11 CallObserved call 6 done: ok
          12 InputAccepted input 9
          13 SampleStarted sample 2 attempt 1 because pending input 9
             run sample@13
        > text I was.
          14 ItemAdded text "I was."
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed
    "#]]);
}

#[test]
fn a_call_that_arrives_takes_the_yield_back() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer wait
           6 InputQueued "wait", steer
             yield sample@5
        > call read {}
           7 ItemAdded call read {}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             go on with sample@5
             run call 7@9
        > end stop
          10 SampleEnded stop
        > done 0 ok
          11 CallObserved call 7 done: ok
          12 InputAccepted input 6
          13 SampleStarted sample 2 attempt 1 because pending input 6
             run sample@13
    "#]]);
}
