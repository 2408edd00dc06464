//! What is changed in a golden log, in its digest, or in the engine is found, and named by the
//! first position that has it.

use windlass_core::{Fact, History, InvalidFact, RecordedFact, Seq, Session, evolve};
use windlass_testkit::golden::Golden;
use windlass_testkit::world::Transitions;

use super::{all, named};

/// The position that is named for a golden log under other transitions.
fn off(golden: &Golden, transitions: &Transitions) -> Option<Seq> {
    golden.check(transitions).unwrap_err().at
}

/// A log of a few facts, byte by byte, and a longer one at some of its bytes.
const LOGS: [(&str, usize); 2] = [("hooks_of_the_end", 1), ("a_hook_halts_the_turn", 61)];

#[test]
fn each_byte_of_a_log_counts() {
    for (name, step) in LOGS {
        let golden = named(name);
        for at in (0..golden.log.len()).step_by(step) {
            let mut changed = golden.clone();
            changed.log[at] ^= 1;
            let before = golden.log[..at].iter().filter(|byte| **byte == b'\n');
            let line = Seq(before.count() as u64).next();
            assert_eq!(off(&changed, &Transitions::CORE), Some(line), "byte {at}");
        }
    }
}

#[test]
fn each_byte_of_a_digest_counts() {
    let mut told = 0;
    for (name, step) in LOGS {
        let golden = named(name);
        for at in (0..golden.digest.len()).step_by(step) {
            let mut bytes = golden.digest.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = Golden { digest: String::from_utf8(bytes).unwrap(), ..golden.clone() };
            let found = off(&changed, &Transitions::CORE);
            // Within the line of a position, the position is named.
            let start = golden.digest[..at].rfind('\n').map_or(0, |end| end + 1);
            let line = golden.digest[start..].lines().next().unwrap();
            let seq = line.split(' ').next().unwrap().parse().ok().map(Seq);
            if seq.is_some() && at < start + line.len() {
                assert_eq!(found, seq, "byte {at} of {name}");
                told += 1;
            }
        }
    }
    assert!(told > 400, "{told}");
}

#[test]
fn a_line_more_or_less_is_found() {
    let golden = named("a_hook_halts_the_turn");
    let last = golden.log.split_inclusive(|byte| *byte == b'\n').next_back();
    let kept = golden.log.len() - last.unwrap().len();
    let less = Golden { log: golden.log[..kept].to_owned(), ..golden.clone() };
    assert!(less.check(&Transitions::CORE).is_err());
    let more = Golden { log: [&golden.log[..], last.unwrap()].concat(), ..golden.clone() };
    assert!(more.check(&Transitions::CORE).is_err());
    for digest in
        [golden.digest.trim_end().to_owned(), format!("{}\n", golden.digest), String::new()]
    {
        let changed = Golden { digest, ..golden.clone() };
        assert!(changed.check(&Transitions::CORE).is_err());
    }
}

/// An engine that folds as today's, except that a turn's calls are not counted.
fn uncounted(session: Session, recorded: &RecordedFact) -> Result<Session, InvalidFact> {
    let calls = session.turn().map(|turn| turn.spent.calls);
    let mut session = evolve(session, recorded)?;
    if let (windlass_core::Phase::InTurn(turn), Some(calls)) = (&mut session.phase, calls) {
        turn.spent.calls = calls;
    }
    Ok(session)
}

/// An engine that remembers as today's, except for the ids of calls.
fn renamed(history: &mut History, recorded: &RecordedFact) -> Result<(), InvalidFact> {
    let mut recorded = recorded.clone();
    if let Fact::ItemAdded(added) = &mut recorded.fact
        && let windlass_core::Item::Call(call) = &mut added.item
    {
        std::sync::Arc::make_mut(call).provider_id = String::from("another");
    }
    history.apply(&recorded)
}

/// The first position of a kind.
fn first(golden: &Golden, kind: &str) -> Option<Seq> {
    let facts = windlass_testkit::golden::facts(&golden.log).unwrap();
    let mut facts = facts.iter();
    let found = facts.find(|recorded| recorded.fact.kind() == kind);
    found.map(|recorded| recorded.seq)
}

#[test]
fn an_engine_that_folds_otherwise_is_found_where_it_does() {
    let transitions = Transitions { evolve: uncounted, ..Transitions::CORE };
    let golden = named("a_hook_halts_the_turn");
    assert_eq!(off(&golden, &transitions), first(&golden, "SampleEnded"));
}

/// The core's own digest of a prompt does not know the ids of calls. That of a golden log does.
#[test]
fn an_engine_that_shows_the_model_other_ids_is_found() {
    let transitions = Transitions { remember: renamed, ..Transitions::CORE };
    let mut found = 0;
    for golden in all() {
        if let Err(off) = golden.check(&transitions) {
            assert!(off.at >= first(&golden, "ItemAdded"), "{off}");
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
}
