//! Planning: what becomes of an agent in a dry run, in plan mode, and where nothing may be changed.

use windlass_engine::core::Mode;

use super::*;

fn read_only(spec: &mut ToolSpec) {
    spec.effect = EffectClass::ReadOnly;
}

/// A world whose agent changes something or not, as its tool does.
fn planning(change: fn(&mut ToolSpec), mode: Mode, permissions: Permissions) -> World {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0) => call("look", json!({})),
        _ => say("there is a tree"),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["look"], 4), 9);
    world.tuned(move |settings| {
        let mut spec = scout(agent(&["look"], 4));
        change(&mut spec);
        settings.tools.push(spec);
        (settings.mode, settings.permissions) = (mode, permissions);
    })
}

/// What a dry run says of the agent's call.
async fn dry_run(world: &World) -> (Observation, u32) {
    let conversation = world.open("s").await;
    let send = hello().with(|it| it.dry_run = true);
    let input = conversation.send(send).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    observed(&world.log()).remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_says_what_an_agent_would_do() {
    let world = planning(|_| (), Mode::Build, Permissions::Auto);
    let (observation, took) = dry_run(&world).await;
    assert_eq!((observation.status, took), (ObservationStatus::Done, 0));
    let words = "Would have the agent scout do this: look around";
    assert_eq!(observation.output, words);
    assert_eq!(world.store.log(&id(CHILD)), [], "nobody was sent out");
}

#[tokio::test(start_paused = true)]
async fn in_a_dry_run_an_agent_that_changes_nothing_makes_a_dry_run_of_its_own() {
    let world = planning(read_only, Mode::Build, Permissions::Auto);
    let (observation, took) = dry_run(&world).await;
    assert_eq!((observation.output.as_str(), took), ("there is a tree", 2));
    let child = world.store.log(&id(CHILD));
    let dry = child.iter().find_map(|one| match &one.fact {
        Fact::TurnOpened(opened) => Some(opened.dry_run),
        _ => None,
    });
    assert_eq!(dry, Some(true));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_may_be_changed_only_agents_that_change_nothing_are_sent_out() {
    for (mode, permissions) in
        [(Mode::Plan, Permissions::Auto), (Mode::Build, Permissions::ReadOnly)]
    {
        let denied = planning(|_| (), mode, permissions);
        denied.turn().await;
        let (observation, took) = observed(&denied.log()).remove(0);
        assert_eq!((observation.status, took), (ObservationStatus::Denied, 0));
        let sent = planning(read_only, mode, permissions);
        sent.turn().await;
        let (observation, took) = observed(&sent.log()).remove(0);
        assert_eq!((observation.output.as_str(), took), ("there is a tree", 2));
        let called = sent.log().iter().find_map(|one| match &one.fact {
            Fact::CallStarted(started) => agent_session(&started.idempotency_key),
            _ => None,
        });
        let child = sent.store.log(&called.unwrap());
        let Fact::SessionOpened(opened) = &child[0].fact else {
            panic!("{:?}", child[0]);
        };
        let settings = &opened.settings;
        assert_eq!((settings.mode, settings.permissions), (mode, permissions));
    }
}
