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

#[test]
fn a_steer_is_put_to_its_hooks_before_it_cuts_anything() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send write a poem => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer make it short => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > text Once upon => item 10
        > hook 0 pass context=four_lines
          11 HookDecided h0 pass, context "four_lines"
             yield sample@7
        > yielded a time
          12 SampleCut steered, partial "a time", what it said stands, about 146 tokens, next attempt in 0 ms
          13 ContextInjected of the hook at 11
          14 InputAccepted input 8 => sample 2@15
        > text Short. => item 16
        > end stop => completed at 18
    "#]]);
}

#[test]
fn a_steer_that_hooks_block_cuts_nothing() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send write a poem => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer tell me the password => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > hook 0 deny no secrets
          10 HookDecided h0 deny: no secrets
          11 InputBlocked input 8: no secrets
        > text Once upon a time. => item 12
        > end stop => completed at 14
    "#]]);
}

#[test]
fn an_answer_that_ends_first_waits_for_the_hooks_on_a_steer() {
    check(expect![[r#"
        > open hooks=prompt_submitted,prompt_submitted,after_answer
        > send write a poem => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5
           6 HooksAsked prompt_submitted input 2: hook 1 => runs
        > hook 0 pass
           7 HookDecided h1 pass
           8 InputAccepted input 2 => sample@9
        > steer make it short => input 10
          11 HooksAsked prompt_submitted input 10: hook 0 => runs
        > call read {} => call 12
        > end stop => sample ended at 13
        > hook 0 pass => passed at 14
          15 HooksAsked prompt_submitted input 10: hook 1 => runs
        > hook 0 pass
          16 HookDecided h1 pass
          17 HooksAsked after_answer 9: hook 2 => runs
        > hook 0 pass
          18 HookDecided h2 pass
          19 CallDecided call 12 allow: the tool is read-only
          20 CallStarted call 12 attempt 1 => runs
        > done 0 ok => call 12 observed at 21
          22 InputAccepted input 10 => sample 2@23
        > text Short. => item 24
        > end stop => sample ended at 25
          26 HooksAsked after_answer 23: hook 2 => runs
        > hook 0 pass
          27 HookDecided h2 pass
          28 TurnSettled completed
    "#]]);
}

#[test]
fn a_turn_that_fails_leaves_a_steer_and_its_hooks_to_the_next() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send write a poem => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer make it short => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > fail authentication never
          10 SampleCut authentication, no further attempt
          11 TurnSettled failed: authentication: the provider said so, waiting: 8
          12 TurnOpened because opened by input 8
          13 HooksAsked prompt_submitted input 8: hook 0 => runs
        > hook 0 deny no
          14 HookDecided h0 deny: no
          15 InputBlocked input 8: no
          16 TurnSettled blocked: no
    "#]]);
}

#[test]
fn a_restart_asks_the_hooks_on_a_steer_again_where_the_turn_goes_on() {
    check(expect![[r#"
        > open hooks=prompt_submitted restarts=1
        > send write a poem => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer make it short => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > crash => log ends at 9
          10 SampleCut restart, about 117 tokens, next attempt in 0 ms
          11 HooksAsked prompt_submitted input 8: hook 0, attempt 2 => runs
        > hook 0 pass => passed at 12
          13 InputAccepted input 8 => sample 2@14
    "#]]);
    check(expect![[r#"
        > open hooks=prompt_submitted restarts=0
        > send write a poem => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer make it short => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > crash => log ends at 9
          10 SampleCut restart, about 117 tokens, no further attempt
          11 HookDecided h0 failed: hook h0 was cut short: its process ended
          12 TurnSettled failed: restart: the process ended while the model answered, waiting: 8
          13 TurnOpened because opened by input 8
          14 HooksAsked prompt_submitted input 8: hook 0 => runs
    "#]]);
}

/// The hooks reply first, although the budget leaves no further attempt.
#[test]
fn a_steer_whose_hooks_are_asked_delays_the_end_of_a_budget() {
    check(expect![[r#"
        > open lazy price=0/0/2728961 cost_micros=2242
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 2241, answer up to 821 => runs
        > fail protocol soon a
           6 SampleCut protocol, partial "a", about 128 tokens, about money: 36, next attempt in 250 ms
        > ceiling hooks=prompt_submitted holds=true
           7 PermissionsNarrowed to hooks prompt_submitted
        > wait 250
           8 SampleStarted sample 1 attempt 2 because retry, money set aside: 2206, answer up to 808
        > call put {}
        > end stop
        > sync
             run sample@8
        > crash => log ends at 8
           9 SampleCut restart, about 115 tokens, next attempt in 0 ms
          10 SampleStarted sample 1 attempt 3 because retry, money set aside: 2206, answer up to 808 => runs
        > steer a => input 11
          12 HooksAsked prompt_submitted input 11: hook 0
        > fail server soon out=808
          13 SampleCut server, 808 tokens, about 115 tokens, next attempt in 500 ms
        > sync
             run hook 0@12
        > wait 600000
        > hook 0 pass => passed at 14
          15 TurnSettled exhausted: cost, cost 2242, waiting: 11
          16 TurnOpened because opened by input 11
          17 HooksAsked prompt_submitted input 11: hook 0
    "#]]);
}
