//! Background: the tools by which a model reaches its agents that work beside it.

use windlass_engine::core::{
    CLOSE_AGENT_TOOL, Delivery, SEND_TO_AGENT_TOOL, WAIT_FOR_AGENT_TOOL, background_agent_tools,
};

use super::detached::results;
use super::*;

/// A world whose model has an agent in the background, and the tools for it.
fn reaches(provider: ScriptedProvider) -> World {
    let spec = agent(&["look"], 4).with(|it| it.background = true);
    let world = world(FaultyStore::new(), provider, looks(), spec.clone(), 20);
    world.tuned(move |settings| {
        settings.tools.push(scout(spec.clone()));
        settings.tools.extend(background_agent_tools());
    })
}

fn named(tool: &str) -> Step {
    call(tool, json!({"agent": "@6"}))
}

/// The outputs of the calls of a turn, after the one that started the agent.
async fn outputs(world: &World) -> Vec<Observation> {
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    observed(&world.log()).into_iter().skip(1).map(|(one, _)| one).collect()
}

#[tokio::test(start_paused = true)]
async fn a_model_waits_for_an_agent_and_reads_its_result_once() {
    let gate = Gate::new();
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", 1) => call(WAIT_FOR_AGENT_TOOL, json!({"agent": "@6", "seconds": 1})),
        ("s", 2) => {
            held.open();
            named(WAIT_FOR_AGENT_TOOL)
        }
        ("s", _) => say("done"),
        _ => say("a tree").end_after(&held),
    });
    let world = reaches(provider.clone());
    let outputs = outputs(&world).await;
    assert!(outputs[0].output.contains("still works, after a wait of 1 s"), "{outputs:?}");
    assert!(outputs[1].output.contains("has ended"), "{outputs:?}");
    let results = results(&world.log());
    assert_eq!(results.len(), 1);
    assert!(results[0].2, "it came in the same turn");
    drop(gate);
}

#[tokio::test(start_paused = true)]
async fn a_model_sends_a_message_to_an_agent_that_reads_it_before_its_next_step() {
    let gate = Gate::new();
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", 1) => call(SEND_TO_AGENT_TOOL, json!({"agent": "scout", "message": "to the left"})),
        ("s", 2) => {
            held.open();
            named(WAIT_FOR_AGENT_TOOL)
        }
        ("s", _) => say("done"),
        (_, 0) => call("look", json!({})).end_after(&held),
        _ => say("a tree"),
    });
    let world = reaches(provider);
    let outputs = outputs(&world).await;
    assert!(outputs[0].output.starts_with("Sent:"), "{outputs:?}");
    let child = world.store.log(&id(CHILD));
    let steers = child.iter().filter(|one| {
        matches!(&one.fact, Fact::InputQueued(fact)
            if fact.delivery == Delivery::Steer && &*fact.text == "to the left")
    });
    assert_eq!(steers.count(), 1);
    assert_eq!(count(&child, "InputAccepted"), 2);
    assert_eq!(count(&child, "TurnOpened"), 1, "on the account of its call");
    drop(gate);
}

#[tokio::test(start_paused = true)]
async fn a_model_closes_an_agent() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", 1) => named(CLOSE_AGENT_TOOL),
        ("s", 2) => named(CLOSE_AGENT_TOOL),
        ("s", _) => say("done"),
        _ => stall(),
    });
    let world = reaches(provider);
    let outputs = outputs(&world).await;
    assert!(outputs[0].output.contains("has ended"), "{outputs:?}");
    assert_eq!(outputs[1].status, ObservationStatus::Failed, "it is closed: {outputs:?}");
    let ended = outcome(&world.store.log(&id(CHILD)));
    assert!(matches!(ended, Some(TurnOutcome::Interrupted { .. })), "{ended:?}");
    let results = results(&world.log());
    assert!(results[0].1.contains("was interrupted"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_model_reaches_only_agents_of_its_own_session() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => call(SEND_TO_AGENT_TOOL, json!({"agent": "other.6", "message": "hello"})),
        ("s", 1) => named(CLOSE_AGENT_TOOL),
        _ => say("done"),
    });
    let world = reaches(provider);
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    for (observation, _) in observed(&world.log()) {
        assert_eq!(observation.status, ObservationStatus::Failed);
        assert!(observation.output.contains("None does"), "{}", observation.output);
    }
}
