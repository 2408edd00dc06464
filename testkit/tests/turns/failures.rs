//! Failures of a sample: backoff, further attempts, and when there are none.

use expect_test::expect;

use super::check;

#[test]
fn a_failure_is_tried_again_with_backoff_until_the_attempts_are_used_up() {
    check(expect![[r#"
        > open attempts=3
        > send hello => first turn, sample@5
        > text Half => item 6
        > fail server soon Half an
           7 SampleCut server, partial "Half an", about 143 tokens, next attempt in 250 ms
        > wait 249
        > wait 1 => sample 1 again@8
        > fail truncated soon
           9 SampleCut truncated, about 115 tokens, next attempt in 500 ms
        > wait 500
          10 SampleStarted sample 1 attempt 3 because retry => runs
        > fail overloaded soon
          11 SampleCut overloaded, no further attempt
          12 TurnSettled failed: overloaded: the provider said so
    "#]]);
}

#[test]
fn a_further_attempt_may_succeed() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail unavailable soon
           6 SampleCut unavailable, next attempt in 250 ms
        > wait 250 => sample 1 again@7
        > text Hi! => item 8
        > end stop => completed at 10
    "#]]);
}

#[test]
fn a_failure_that_would_come_again_is_not_tried_again() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail authentication never
           6 SampleCut authentication, no further attempt
           7 TurnSettled failed: authentication: the provider said so
    "#]]);
}

#[test]
fn a_providers_own_delay_is_obeyed() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail rate_limit after=7000
           6 SampleCut rate_limit, next attempt in 7000 ms
        > wait 6999
        > wait 1 => sample 1 again@7
    "#]]);
}

#[test]
fn a_provider_that_asks_for_too_long_a_wait_is_not_asked_again() {
    check(expect![[r#"
        > open retry_after_ms=60000
        > send hello => first turn, sample@5
        > fail rate_limit after=60001
           6 SampleCut rate_limit, no further attempt
           7 TurnSettled failed: rate_limit: the provider said so; the provider asks to wait 60001 ms, and the limit is 60000 ms (retry_after_ms): try again later
    "#]]);
}

#[test]
fn a_providers_own_delay_may_be_longer_than_a_backoff() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > fail rate_limit after=60000
           6 SampleCut rate_limit, next attempt in 60000 ms
        > wait 59999
        > wait 1 => sample 1 again@7
    "#]]);
}

#[test]
fn under_the_limits_of_older_logs_a_providers_own_delay_is_clamped() {
    check(expect![[r#"
        > open backoff_max_ms=9000 retry_after_ms=0 ceiling.retry_after_ms=0
        > send hello => first turn, sample@5
        > fail rate_limit after=3600000
           6 SampleCut rate_limit, next attempt in 9000 ms
    "#]]);
}

#[test]
fn entropy_spreads_the_backoff() {
    check(expect![[r#"
        > open seed=7
        > send hello => first turn, sample@5
        > fail server soon
           6 SampleCut server, about 115 tokens, next attempt in 338 ms
    "#]]);
}

#[test]
fn attempts_at_a_sample_count_as_one_sample() {
    check(expect![[r#"
        > open samples=1
        > send hello => first turn, sample@5
        > fail server soon
           6 SampleCut server, about 115 tokens, next attempt in 250 ms
        > wait 250 => sample 1 again@7
        > text Hi! => item 8
        > end stop => completed at 10
    "#]]);
}

#[test]
fn a_providers_own_delay_does_not_shorten_the_backoff() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail rate_limit after=1
           6 SampleCut rate_limit, next attempt in 250 ms
        > wait 249
        > wait 1 => sample 1 again@7
    "#]]);
}

#[test]
fn a_failure_that_calls_itself_a_restart_is_limited_as_one() {
    check(expect![[r#"
        > open restarts=1
        > send hello => first turn, sample@5
        > fail restart soon
           6 SampleCut restart, about 115 tokens, next attempt in 250 ms
        > wait 250 => sample 1 again@7
        > fail restart soon
           8 SampleCut restart, about 115 tokens, no further attempt
           9 TurnSettled failed: restart: the provider said so
    "#]]);
}

#[test]
fn a_failure_after_an_interrupt_has_no_further_attempt() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > fail server soon
           7 SampleCut server, about 115 tokens, no further attempt
           8 TurnSettled interrupted by person
    "#]]);
}
