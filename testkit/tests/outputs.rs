//! Each result of a conversation is found again in its log, whatever a compaction made of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::{
    CallId, Fact, History, Observation, OutputFinder, OutputLocation, OutputSearch, PromptItem,
    RecordedFact,
};
use windlass_testkit::golden;
use windlass_testkit::world::{self, Transitions, random};

fn find(log: &[RecordedFact], location: OutputLocation) -> Option<Arc<Observation>> {
    let mut finder = OutputFinder::new(location);
    let after = finder.after();
    for fact in log.iter().filter(|fact| fact.seq > after) {
        match finder.apply(fact) {
            OutputSearch::Continue => {}
            OutputSearch::Found(observation) => return Some(observation),
            OutputSearch::Missing => return None,
        }
    }
    None
}

/// Finds the output of each result that a log's conversation has at its end, and of each call by
/// its position. Returns how many there are.
fn finds_all(log: &[RecordedFact]) -> Result<usize, TestCaseError> {
    let mut history = History::default();
    let mut count = 0;
    for fact in log {
        history.apply(fact).unwrap();
        if let Fact::CallObserved(observed) = &fact.fact {
            let call = CallId(observed.call.0);
            let found = find(log, history.output_location(&call.reference()).unwrap());
            let position = find(log, OutputLocation::Call(call));
            prop_assert_eq!(position.as_ref(), Some(&observed.observation), "{}", call);
            // An id of the conversation that reads as a position precedes it.
            prop_assert!(found.is_some());
        }
    }
    for item in history.items().iter() {
        let PromptItem::Result { id, observation, .. } = item else {
            continue;
        };
        let found = find(log, history.output_location(id).unwrap());
        prop_assert!(found.is_some(), "no output of {id}");
        let found = found.unwrap();
        // A compaction changes the text, and nothing else of this.
        prop_assert_eq!(found.status, observation.status, "{}", id);
        prop_assert_eq!(found.output_bytes, observation.output_bytes, "{}", id);
        count += 1;
    }
    Ok(count)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_random_worlds(script in random::script(40)) {
        let world = world::run(Transitions::CORE, &script).unwrap();
        finds_all(world.log())?;
    }
}

#[test]
fn of_golden_logs() {
    let mut count = 0;
    for one in golden::read(&golden::folder()).unwrap() {
        let log = golden::facts(&one.log).unwrap();
        let found: Result<usize, TestCaseError> = finds_all(&log);
        count += found.map_err(|error| format!("{}: {error}", one.name)).unwrap();
    }
    assert!(count > 50, "{count} results");
}
