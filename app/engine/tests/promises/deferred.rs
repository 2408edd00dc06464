//! Deferred tools: offered once a search has found them, in each process alike.

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    EffectClass, Fact, Observation, ObservationStatus, Permissions, Prompt, SEARCH_TOOLS_TOOL,
    Settings, search_tools_tool,
};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::laws::law_15_denied_calls_never_start;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};

use crate::world::{Cast, World, hello, soon};

/// Defers the tool `pay` and adds the search.
fn defer(settings: &mut Settings) {
    settings.permissions = Permissions::Auto;
    for tool in settings.tools.iter_mut().filter(|tool| tool.name == "pay") {
        tool.deferred = true;
    }
    let search = search_tools_tool(&settings.tools);
    settings.tools.extend(search);
}

fn offered(prompt: &Prompt) -> Vec<&str> {
    prompt.settings.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn observations(world: &World) -> Vec<Observation> {
    world.picked(|fact| match fact {
        Fact::CallObserved(fact) => Some((*fact.observation).clone()),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn a_deferred_tool_is_offered_from_its_search_on_also_by_the_next_process() {
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let look = ScriptedTool::new("look", EffectClass::ReadOnly);
    let provider = ScriptedProvider::new([
        call("pay", json!({})),
        call(SEARCH_TOOLS_TOOL, json!({"query": "something to pay with"})),
        call("pay", json!({})),
        say("paid"),
        say("again"),
    ]);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(ScriptedTools::new([counter.tool(), look])),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast).tuned(defer);
    let (report, _) = world.turn().await;
    assert_eq!(report.answer, "paid");
    let seen = observations(&world);
    let unfound = "Not run: the tool pay is not offered yet. Find it with search_tools first.";
    assert_eq!((seen[0].status, seen[0].output.as_str()), (ObservationStatus::Failed, unfound));
    assert_eq!(seen[1].offers, ["pay"]);
    assert_eq!(seen[2].status, ObservationStatus::Done);
    assert_eq!(counter.total(), 1);
    law_15_denied_calls_never_start::check(&world.log()).unwrap();
    world.engine.shutdown("the process ends").await;

    let next = world.next_process();
    let conversation = next.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let prompts = provider.prompts();
    let offered: Vec<_> = prompts.iter().map(offered).collect();
    let (before, after) = (vec!["look", SEARCH_TOOLS_TOOL], vec!["pay", "look", SEARCH_TOOLS_TOOL]);
    assert_eq!(offered, [before.clone(), before, after.clone(), after.clone(), after]);
}
