//! A clock that is set back between two processes does not hold a session up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use windlass_core::{Fact, Incoming, Input, Limits, Timestamp, deadline, decide};
use windlass_testkit::laws;
use windlass_testkit::world::{Script, Transitions, check_all};

#[test]
fn a_backoff_from_the_future_is_over() {
    let script: Script = "send hello\nfail server soon\n".parse().unwrap();
    let world = check_all(Transitions::CORE, laws::ALL, &script).unwrap();
    let session = world.session();
    let turn = session.turn().unwrap();
    assert_eq!(turn.stage.name().as_str(), "backoff");
    let until = deadline(session).unwrap();
    let limits = Limits::default();
    let starts = |left_ms: u64| {
        let recovered = Incoming {
            at: Timestamp(until.0.checked_sub(left_ms).unwrap()),
            entropy: 0,
            input: Input::Recover,
        };
        let drafts = decide(session, &limits, recovered).unwrap();
        drafts.iter().any(|draft| matches!(draft.fact, Fact::SampleStarted(_)))
    };
    let longest = turn.limits.max_wait_ms();
    assert!(starts(0), "its time has come");
    assert!(!starts(1) && !starts(longest), "it has time left");
    assert!(starts(longest + 1), "no backoff is that long");
}
