//! Conversations of random worlds, rendered by the core at each sample.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use windlass_engine::core::{Fact, History, PromptItem, RecordedFact};
use windlass_testkit::world::{Transitions, random, run};

use crate::Found;
use crate::places::{Place, places};

/// How many worlds are looked at.
const WORLDS: u32 = 80;
/// How long their scripts are.
const STEPS: usize = 60;

/// Holds what random worlds show a model to all grammars.
pub(crate) fn held() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let places = places();
    let mut found = Found::default();
    // A fixed seed: what fails here fails everywhere.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut prompts, mut longest) = (0, 0);
    for _ in 0..WORLDS {
        let script = random::script(STEPS).new_tree(&mut runner).unwrap().current();
        let Ok(world) = run(Transitions::CORE, &script) else {
            panic!("a world that breaks a law of the core:\n{script}");
        };
        for items in shown(world.log()) {
            prompts += 1;
            longest = longest.max(items.len());
            runtime.block_on(all(&places, &script.to_string(), &items, &mut found));
        }
    }
    println!("{prompts} prompts of {WORLDS} worlds, the longest of {longest} items");
    assert!(prompts > 100 && longest > 8, "{prompts} prompts, {longest} items");
}

async fn all(places: &[Place], script: &str, items: &[PromptItem], found: &mut Found) {
    for place in places {
        found.hold(place, script, items).await;
    }
}

/// What each sample of a log was shown.
fn shown(log: &[RecordedFact]) -> Vec<Vec<PromptItem>> {
    let mut history = History::default();
    let mut shown = Vec::new();
    for recorded in log {
        history.apply(recorded).unwrap();
        if let Fact::SampleStarted(_) = &recorded.fact {
            shown.push(history.items().iter().cloned().collect());
        }
    }
    shown
}
