//! Logs in which one thing is as no engine of today would have written it: told at that position,
//! in any world.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use windlass_core::{Fact, InterruptSource, RecordedFact, decide, replay};
use windlass_testkit::world::{Transitions, random, run};

/// Changes what the engine makes up itself, and the fold does not look at. Answers whether it did.
fn tamper(fact: &mut Fact) -> bool {
    let spoil = |words: &mut String| words.push_str(", or so");
    if let Fact::CallDecided(fact) = fact {
        spoil(&mut fact.reason);
    } else if let Fact::CallStarted(fact) = fact {
        spoil(&mut fact.idempotency_key);
    } else if let Fact::ReconcileStarted(fact) = fact {
        fact.timeout_ms += 1;
    } else if let Fact::ApprovalAsked(fact) = fact
        && let Some(deadline) = &mut fact.deadline
    {
        deadline.0 += 1;
    } else if let Fact::InputBlocked(fact) = fact {
        spoil(&mut fact.reason);
    } else if let Fact::InterruptRequested(fact) = fact
        && fact.by == InterruptSource::Deadline
    {
        spoil(&mut fact.reason);
    } else if let Fact::CompactionStarted(fact) = fact {
        fact.target_bytes += 1;
    } else if let Fact::SampleStarted(fact) = fact {
        fact.reserved.cost_micros += 1;
    } else if let Fact::TurnOpened(fact) = fact {
        fact.limits.first_byte_ms += 1;
    } else if let Fact::SampleCut(fact) = fact
        && let Some(at) = &mut fact.retry_at
    {
        // Beyond any backoff.
        at.0 += 1_000_000;
    } else {
        return false;
    }
    true
}

/// A log with one such fact changed, and where that is: of its kinds the nth, and of that kind the
/// nth, both counted around, so that what is rare gets its turn.
fn tampered(log: &[RecordedFact], nth: usize) -> Option<(Vec<RecordedFact>, usize)> {
    let mut able: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, recorded) in log.iter().enumerate() {
        if tamper(&mut recorded.fact.clone()) {
            able.entry(recorded.fact.kind()).or_default().push(at);
        }
    }
    let kinds: Vec<&Vec<usize>> = able.values().collect();
    let places = *kinds.get(nth.checked_rem(kinds.len())?)?;
    let at = *places.get(nth / kinds.len() % places.len())?;
    let mut log = log.to_vec();
    tamper(&mut log[at].fact);
    Some((log, at))
}

#[test]
fn what_no_engine_of_today_would_write_is_told_where_it_stands() {
    let mut runner = TestRunner::deterministic();
    let strategy = (random::script(60), any::<usize>());
    let mut told = BTreeMap::new();
    for _ in 0..2_500 {
        let (script, nth) = strategy.new_tree(&mut runner).unwrap().current();
        let world = run(Transitions::CORE, &script).unwrap();
        let Some((log, at)) = tampered(world.log(), nth) else {
            continue;
        };
        // What does not fold any more is no log.
        let Ok(found) = replay(decide, log.clone()) else {
            continue;
        };
        let kind = log[at].fact.kind();
        let first = found.divergences.first();
        let first = first.map(|one| (one.seq, one.recorded));
        let wanted = Some((log[at].seq, Some(kind)));
        assert_eq!(first, wanted, "in the world{script:?}");
        *told.entry(kind).or_insert(0) += 1;
    }
    let kinds: Vec<&str> = told.keys().copied().collect();
    assert_eq!(
        kinds,
        [
            "ApprovalAsked",
            "CallDecided",
            "CallStarted",
            "CompactionStarted",
            "InputBlocked",
            "InterruptRequested",
            "ReconcileStarted",
            "SampleCut",
            "SampleStarted",
            "TurnOpened",
        ],
        "{told:?}"
    );
}
