//! Two servers over one store: whichever is asked, it answers as the one that drives the session.

use serde_json::{Value, json};
use windlass_server::windlass_engine::core::EffectClass;
use windlass_testkit::Gate;
use windlass_testkit::nodes::Nodes;
use windlass_testkit::provider::{call, say, stall};
use windlass_testkit::tools::CounterTool;

use crate::approvals::open;
use crate::client::OTHER;
use crate::world::{Running, World, facts, problem};

fn count(facts: &[Value], kind: &str) -> usize {
    facts.iter().filter(|fact| fact["kind"] == kind).count()
}

/// Begins a turn at a server, so that it drives the session: its id, and the turn.
async fn driven(server: &Running, wish: &Value) -> (String, u64) {
    let id = server.open(wish).await;
    let path = format!("/sessions/{id}/turns");
    let taken = server.post(&path, &json!({"text": "first"})).send().await;
    let turn = taken.is(202)["turn"].as_u64().unwrap();
    (id, turn)
}

#[tokio::test]
async fn the_one_that_does_not_drive_gives_the_same_answers() {
    let gate = Gate::new();
    let script = [say("one").end_after(&gate), say("two"), say("three")];
    let world = World::new(script, []);
    let place = Nodes::over(world.store.clone());
    let (one, other) = (place.node(), place.node());
    let (drives, asked) = (world.serve_as(Some(&one)).await, world.serve_as(Some(&other)).await);
    let (id, turn) = driven(&drives, &json!({})).await;
    gate.reached().await;
    let path = |what: &str| format!("/sessions/{id}/{what}");

    let input = json!({"text": "second", "delivery": "follow_up"});
    let mut taken = Vec::new();
    for server in [&asked, &asked, &drives] {
        let answer = server.post(&path("inputs"), &input).key("k").send().await;
        taken.push(answer.is(202));
    }
    taken.dedup();
    assert_eq!(taken.len(), 1, "{taken:?}");
    for server in [&asked, &drives] {
        let answer = server.post(&path("turns"), &json!({"text": "third"}));
        let answer = answer.key("k").send().await;
        assert_eq!(answer.problem(), problem(422, "key_reused"));
        let answer = server.post(&path("turns"), &json!({"text": ""})).send();
        assert_eq!(answer.await.problem(), problem(422, "refused"));
        let answer = server.post(&path("turns"), &json!({"text": "x"}));
        let answer = answer.with(OTHER).send().await;
        assert_eq!(answer.problem(), problem(404, "no_session"));
    }

    for server in [&asked, &drives, &asked] {
        let told = server.post(&path("interrupt"), &json!({})).key("k").send();
        assert_eq!(told.await.is(202), json!({"turn": turn}));
    }
    assert_eq!(drives.ended(&id, turn).await, asked.ended(&id, turn).await);
    let gone_on = asked.post(&path("continue"), &json!({})).key("k").send();
    let next = gone_on.await.is(202)["turn"].as_u64().unwrap();
    assert_eq!(asked.ended(&id, next).await["answer"], "two");
    // The same word once more, and by now nothing runs: that of then is told.
    let told = asked.post(&path("interrupt"), &json!({})).key("k").send();
    assert_eq!(told.await.is(202), json!({"turn": turn}));
    for server in [&asked, &drives] {
        let answer = server.post(&path("interrupt"), &json!({})).send().await;
        assert_eq!(answer.problem(), problem(409, "nothing_runs"));
        let answer = server.post(&path("continue"), &json!({})).send().await;
        assert_eq!(answer.problem(), problem(409, "nothing_waits"));
    }
    let all = facts(&asked, &id).await;
    assert_eq!(all, facts(&drives, &id).await);
    let (queued, asked) = (count(&all, "InputQueued"), count(&all, "InterruptRequested"));
    assert_eq!((queued, asked), (2, 1));
}

#[tokio::test]
async fn a_question_is_answered_at_any_server() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let script = [call("pay", json!({})), say("Paid.")];
    let world = World::new(script, [pay.tool()]);
    let place = Nodes::over(world.store.clone());
    let (one, other) = (place.node(), place.node());
    let (drives, asked) = (world.serve_as(Some(&one)).await, world.serve_as(Some(&other)).await);
    let (id, turn) = driven(&drives, &json!({"permissions": "ask"})).await;
    let question = open(&asked, &id).await.remove(0);
    let path = format!("/sessions/{id}/approvals/{}", question["call"]);
    let other = json!({"decision": "allow", "digest": "0".repeat(32)});
    let answer = asked.post(&path, &other).send().await;
    assert_eq!(answer.problem(), problem(409, "other_arguments"));
    let word = json!({"decision": "allow", "digest": question["digest"]});
    for server in [&asked, &drives, &asked] {
        let decided = server.post(&path, &word).key("yes").send().await;
        assert_eq!(decided.is(202)["decision"], "allow");
    }
    assert_eq!(asked.ended(&id, turn).await["answer"], "Paid.");
    let late = asked.post(&path, &word).send().await;
    assert_eq!(late.problem(), problem(409, "not_asked"));
    assert_eq!(pay.total(), 1);
}

#[tokio::test]
async fn what_nobody_drives_yet_waits_and_is_done_once() {
    let mut world = World::new([stall(), say("done")], []);
    world.most = 1;
    world.remote_command_ms = 200;
    let place = Nodes::over(world.store.clone());
    let (one, other) = (place.node(), place.node());
    let full = world.serve_as(Some(&one)).await;
    let _busy = driven(&full, &json!({})).await;
    // It drives as many as it may, and more may be opened all the same.
    let id = full.open(&json!({})).await;
    let path = format!("/sessions/{id}/turns");
    let words = json!({"text": "pay"});
    for _ in 0..2 {
        let answer = full.post(&path, &words).key("once").send().await;
        assert_eq!(answer.problem(), problem(504, "waits"));
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(count(&facts(&full, &id).await, "InputQueued"), 0);
    let free = world.serve_as(Some(&other)).await;
    // Asked again as the answer says, until there is another one.
    let taken = async |server: &Running| loop {
        let answer = server.post(&path, &words).key("once").send().await;
        if answer.status != 504 {
            break answer.is(202);
        }
        assert_eq!(answer.problem(), problem(504, "waits"));
    };
    let (taken, again) = (taken(&free).await, taken(&full).await);
    assert_eq!((&again["input"], again["input"].is_u64()), (&taken["input"], true));
    let all = facts(&full, &id).await;
    assert_eq!(count(&all, "InputQueued"), 1);
    let opened = all.iter().find(|fact| fact["kind"] == "TurnOpened").unwrap();
    free.ended(&id, opened["seq"].as_u64().unwrap()).await;
}

#[tokio::test]
async fn a_turn_takes_room_where_it_was_asked_for_until_it_ends_elsewhere() {
    let gate = Gate::new();
    let script = [say("one").end_after(&gate), say("two"), say("three")];
    let mut world = World::new(script, []);
    world.quota.turns = 1;
    let place = Nodes::over(world.store.clone());
    let (one, other) = (place.node(), place.node());
    let (drives, asked) = (world.serve_as(Some(&one)).await, world.serve_as(Some(&other)).await);
    let (id, _) = driven(&drives, &json!({})).await;
    gate.reached().await;
    let path = format!("/sessions/{id}/turns");
    let words = json!({"text": "second"});
    asked.post(&path, &words).send().await.is(202);
    let answer = asked.post(&path, &words).send().await;
    assert_eq!(answer.problem(), problem(429, "too_many_turns"));
    gate.open();
    loop {
        let answer = asked.post(&path, &words).send().await;
        if answer.status != 429 {
            answer.is(202);
            break;
        }
    }
}
