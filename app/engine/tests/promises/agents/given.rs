//! Given: which agents a session may have, and what these may have of its tools.

use windlass_engine::Start;
use windlass_engine::core::{Prompt, READ_OUTPUT_TOOL, Settings, Widening, read_output_tool};
use windlass_testkit::http::Asked;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_be_one_is_refused_with_its_settings() {
    let refused = |change: fn(&mut ToolSpec)| async move {
        let (provider, _) = model(|_, _| say("never"));
        let writes = ScriptedTools::new([ScriptedTool::new("write", EffectClass::Effectful)]);
        let world = World::over(FaultyStore::new(), Arc::new(provider), Arc::new(writes));
        let world = world.tuned(move |settings| {
            let mut spec = scout(agent(&["write"], 4));
            change(&mut spec);
            settings.tools.push(spec);
        });
        let opened = world.engine.open(&id("s"), &me(), world.start()).await;
        match opened.map(|_| ()) {
            Err(StartError::Settings(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let why = refused(|spec| spec.parameters = r#"{"type":"object"}"#.into()).await;
    assert!(why.contains("prompt"), "{why}");
    let why = refused(|spec| spec.effect = EffectClass::Effectful).await;
    assert!(why.contains("idempotent"), "{why}");
    let why = refused(|spec| spec.effect = EffectClass::ReadOnly).await;
    assert!(why.contains("changes something"), "{why}");
    let why = refused(|spec| spec.agent.as_mut().unwrap().samples = 0).await;
    assert!(why.contains("no sample"), "{why}");
}

/// A world with tools to read and to write, whose agents are these.
fn given(agents: &[(&str, &[&str])]) -> World {
    let (provider, _) = model(|_, _| say("done"));
    let tools = ["read", "write"].map(|name| ScriptedTool::new(name, EffectClass::Effectful));
    let tools = ScriptedTools::new(tools);
    let world = World::over(FaultyStore::new(), Arc::new(provider), Arc::new(tools));
    let agents = agents
        .iter()
        .map(|(name, tools)| scout(agent(tools, 4)).with(|it| it.name = (*name).into()));
    let agents: Vec<ToolSpec> = agents.collect();
    world.tuned(move |settings| settings.tools.extend(agents.clone()))
}

#[tokio::test(start_paused = true)]
async fn agents_whose_tools_are_not_there_are_refused_where_a_session_begins() {
    for (agents, words) in [
        (&[("a", &["nowhere"][..])][..], "none of that name"),
        (&[("a", &["b"]), ("b", &["read"])], "name it for `a` too"),
    ] {
        let world = given(agents);
        let opened = world.engine.open(&id("s"), &me(), world.start()).await;
        let Err(StartError::Settings(why)) = opened.map(|_| ()) else {
            panic!("{words}");
        };
        assert!(why.contains(words), "{why}");
        let Start::Either(opening) = world.start() else {
            panic!("a world opens new sessions");
        };
        let created = world.engine.create(&id("s"), *opening).await;
        assert!(matches!(created, Err(StartError::Settings(_))), "{created:?}");
    }
    let world = given(&[("a", &["b", "read"]), ("b", &["read"])]);
    let conversation = world.open("s").await;
    let mut settings: Settings = (*conversation.state().await.unwrap().settings).clone();
    for tool in &mut settings.tools {
        if let Some(agent) = tool.agent.as_mut().filter(|_| tool.name == "a") {
            agent.tools = vec!["b".into()];
        }
    }
    let changed = conversation.configure(settings, me(), Widening::Allowed).await;
    let why = changed.unwrap_err().to_string();
    assert!(why.contains("name it for `a` too"), "{why}");
}

/// A child that an older engine opened, with an agent whose tools it does not have.
#[tokio::test(start_paused = true)]
async fn a_child_that_is_open_already_is_driven_whatever_its_agents_lack() {
    let world = given(&[("b", &["read"])]);
    let Start::Either(mut opening) = world.start() else {
        panic!("a world opens new sessions");
    };
    opening.settings.tools.retain(|tool| tool.name == "b");
    opening.lineage = Lineage::Child { of: id("s"), call: CallId(6) };
    world.engine.create(&id(CHILD), *opening).await.unwrap();
    let (name, user) = (id(CHILD), me());
    let child = world.engine.open(&name, &user, Start::Existing).await.unwrap();
    let input = child.send(hello()).await.unwrap();
    let report = soon(child.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let mut settings: Settings = (*child.state().await.unwrap().settings).clone();
    settings.effort = Some("low".into());
    child.configure(settings, me(), Widening::Forbidden).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_session_is_narrowed_to_its_next_agents_are() {
    let gate = Gate::new();
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => call("look", json!({})).end_after(&held),
        ("s", 1 | 3) => send_out(),
        ("s", _) => say("done"),
        _ => say("found"),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["look"], 4), 9);
    // It changes nothing, so it is sent out under read-only permissions too.
    let world = world.tuned(|settings| {
        settings
            .tools
            .push(scout(agent(&["look"], 4)).with(|it| it.effect = EffectClass::ReadOnly));
    });
    let conversation = world.open("s").await;
    let first = conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    let mut narrow: Settings = (*conversation.state().await.unwrap().settings).clone();
    narrow.permissions = Permissions::ReadOnly;
    narrow.limits.samples = 5;
    let configured = conversation.configure(narrow, me(), Widening::Forbidden);
    configured.await.unwrap();
    gate.open();
    soon(conversation.outcome(first)).await.unwrap();
    let second = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(second)).await.unwrap();
    let children = world.picked(|fact| match fact {
        Fact::CallStarted(fact) if fact.grant.is_some() => agent_session(&fact.idempotency_key),
        _ => None,
    });
    let opened: Vec<_> = children
        .iter()
        .map(|child| match &world.store.log(child)[0].fact {
            Fact::SessionOpened(opened) => {
                let settings = &opened.settings;
                (settings.permissions, settings.limits.samples)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    // A turn keeps what it began with, and so do those that it sends out.
    let before = (Permissions::Auto, 4);
    let after = (Permissions::ReadOnly, 3);
    assert_eq!(opened, [before, after]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_reads_outputs_if_its_turn_does() {
    for offered in [true, false] {
        let (provider, _) = model(|session, nth| match (session, nth) {
            ("s", 0) => send_out(),
            (_, 0) if session != "s" => call("look", json!({})),
            (_, 1) if session != "s" => call(READ_OUTPUT_TOOL, json!({ "call": "call_0" })),
            _ => say("done"),
        });
        let prompts = provider.clone();
        let world = World::over(FaultyStore::new(), Arc::new(provider), Arc::new(looks()));
        let world = world.tuned(move |settings| {
            settings.tools.push(scout(agent(&["look"], 9)));
            settings.tools.extend(offered.then(read_output_tool));
        });
        world.turn().await;
        let of_agent = |prompt: &Prompt| prompt.settings.instructions == "You are a scout.";
        let shown = prompts.prompts().into_iter().rfind(of_agent).unwrap();
        let seen = Asked::of_prompt(&shown);
        assert_eq!(seen.tools.iter().any(|tool| tool == READ_OUTPUT_TOOL), offered);
        let (_, read) = seen.results.last().unwrap();
        match offered {
            true => assert_eq!(read, "a tree\n[bytes 0 to 5 of 6, the end]"),
            false => assert!(read.contains("there is no tool"), "{read}"),
        }
    }
}
