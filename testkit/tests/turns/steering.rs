//! Steering: words for the turn that runs, heard as soon as that may be, and never lost.

use expect_test::expect;

use super::check;

#[test]
fn text_that_streams_gives_way_at_once() {
    check(expect![[r#"
        > send write a poem => first turn, sample@5
        > steer make it short => input 6, yield sample@5
        > yielded Once upon a
           7 SampleCut steered, partial "Once upon a", what it said stands, about 133 tokens, next attempt in 0 ms
           8 InputAccepted input 6 => sample 2@9
        > text Short. => item 10
        > end stop => completed at 12
    "#]]);
}

#[test]
fn whole_texts_before_the_cut_stand_too_and_reasoning_does_not() {
    check(expect![[r#"
        > send write a poem => first turn, sample@5
        > reasoning Hmm. => item 6
        > text First verse. => item 7
        > steer make it short => input 8, yield sample@5
        > yielded Second
           9 SampleCut steered, partial "Second", what it said stands, about 161 tokens, next attempt in 0 ms
          10 InputAccepted input 8 => sample 2@11
    "#]]);
}

#[test]
fn an_answer_that_does_not_give_way_runs_to_its_end() {
    check(expect![[r#"
        > send write a poem => first turn, sample@5
        > steer make it short => input 6, yield sample@5
        > text Once upon a time. => item 7
        > end stop => sample ended at 8
           9 InputAccepted input 6 => sample 2@10
        > text Short. => item 11
        > end stop => completed at 13
    "#]]);
}

#[test]
fn with_a_call_the_steer_waits_for_the_results() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {} => permitted call 6@8
        > steer and be careful => input 9
        > end stop => sample ended at 10
        > done 0 ok => call 6 observed at 11
          12 InputAccepted input 9 => sample 2@13
        > text I was. => item 14
        > end stop => completed at 16
    "#]]);
}

#[test]
fn a_call_that_arrives_takes_the_yield_back() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer wait => input 6, yield sample@5
        > call read {} => read-only call 7 decided
           9 CallStarted call 7 attempt 1
             go on with sample@5
             run call 7@9
        > end stop => sample ended at 10
        > done 0 ok => call 7 observed at 11
          12 InputAccepted input 6 => sample 2@13
    "#]]);
}
