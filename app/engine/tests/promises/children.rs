//! Children: a session that a call opens is no wider than the turn that made the call.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_engine::core::{
    CallId, EffectClass, Fact, Lineage, OpenSession, Permissions, Reject, Scope,
};
use windlass_engine::{Start, StartError};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{Cast, World, hello, id, me, soon, until};

fn claimed() -> Scope {
    Scope::Principal {
        tenant: "local".into(),
        principal: "somebody else".into(),
        claims: BTreeMap::new(),
    }
}

fn opening(world: &World) -> OpenSession {
    match world.start() {
        Start::New(opening) | Start::Either(opening) => *opening,
        Start::Existing => panic!("a world opens new sessions"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_is_opened_for_a_running_call_within_its_turn() {
    let tool = ScriptedTool::new("delegate", EffectClass::Effectful).stalls();
    let script = [call("delegate", json!({})), say("done"), say("done too")];
    let world = World::of(FaultyStore::new(), Cast::new(script, [tool]));
    let world = world.tuned(|settings| settings.limits.samples = 7);
    let parent = world.open("s").await;
    parent.send(hello()).await.unwrap();
    soon(until(|| world.kinds().contains(&"CallStarted"))).await;
    let running = world.picked(|fact| match fact {
        Fact::CallStarted(fact) => Some(fact.call),
        _ => None,
    });
    let (engine, ok) = (&world.engine, opening(&world));
    let refused = |opening: OpenSession, call: CallId| {
        let (parent, engine) = (parent.clone(), engine.clone());
        async move {
            let opened = engine.open_child(&parent, call, &id("c"), opening).await;
            match opened.map(|_| ()) {
                Err(StartError::Child(reject)) => Some(reject),
                Err(_) | Ok(()) => None,
            }
        }
    };
    let unknown = CallId(1);
    let late = refused(ok.clone(), unknown).await;
    assert_eq!(late, Some(Reject::NotRunning(unknown)));
    let wider = OpenSession { owner: claimed(), ..ok.clone() };
    assert_eq!(refused(wider, running[0]).await, Some(Reject::OutOfScope));
    let mut freer = ok.clone();
    freer.settings.limits.samples = 100;
    let child = engine.open_child(&parent, running[0], &id("c"), freer).await;
    let state = child.unwrap().state().await.unwrap();
    assert_eq!(state.settings.limits.samples, 7);
    assert_eq!(*state.lineage, Lineage::Child { of: id("s"), call: running[0] });
    assert_eq!(*state.owner, me());
}

#[tokio::test(start_paused = true)]
async fn a_child_may_not_do_what_its_parent_may_not() {
    let tool = ScriptedTool::new("look", EffectClass::ReadOnly).stalls();
    let script = [call("look", json!({}))];
    let world = World::of(FaultyStore::new(), Cast::new(script, [tool]));
    let world = world.tuned(|settings| settings.permissions = Permissions::ReadOnly);
    let parent = world.open("s").await;
    parent.send(hello()).await.unwrap();
    soon(until(|| world.kinds().contains(&"CallStarted"))).await;
    let running = world.picked(|fact| match fact {
        Fact::CallStarted(fact) => Some(fact.call),
        _ => None,
    });
    let mut wider = opening(&world);
    wider.settings.permissions = Permissions::Auto;
    let refused = world.engine.open_child(&parent, running[0], &id("c"), wider).await;
    let Err(StartError::Child(Reject::WidensPermissions(_))) = refused.map(|_| ()) else {
        panic!("it is wider than its parent");
    };
}
