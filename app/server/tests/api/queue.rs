//! The queue: inputs that wait are listed, edited, moved and withdrawn; what is accepted is not.

use serde_json::{Value, json};
use windlass_testkit::provider::{say, stall};

use crate::client::Ask;
use crate::world::{Running, World, facts, problem};

fn change(server: &Running, id: &str, input: &Value, change: &Value) -> Ask {
    let path = format!("/sessions/{id}/inputs/{input}");
    Ask::new(server.address, "PATCH", &path).json(change)
}

fn withdraw(server: &Running, id: &str, input: &Value) -> Ask {
    Ask::new(server.address, "DELETE", &format!("/sessions/{id}/inputs/{input}"))
}

async fn queue(server: &Running, id: &str) -> Value {
    server.get(&format!("/sessions/{id}/inputs")).send().await.is(200)
}

/// The texts that wait, in their order.
async fn texts(server: &Running, id: &str) -> Vec<String> {
    let queue = queue(server, id).await;
    let texts = queue["inputs"].as_array().unwrap().iter();
    texts.map(|input| input["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn inputs_that_wait_are_listed_edited_moved_and_withdrawn() {
    let world = World::new([stall(), say("two"), say("one")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    assert_eq!(queue(&server, &id).await, json!({"inputs": [], "held": false}));
    let turns = format!("/sessions/{id}/turns");
    let mut sent = Vec::new();
    for text in ["go", "one", "two", "three"] {
        sent.push(server.post(&turns, &json!({"text": text})).send().await.is(202));
    }
    let [go, one, two, three] = [0, 1, 2, 3].map(|at| sent[at]["input"].clone());
    assert_eq!(texts(&server, &id).await, ["one", "two", "three"]);

    let edit = json!({"text": "one, please"});
    let edited = change(&server, &id, &one, &edit).key("k").send().await.is(202);
    assert_eq!(edited, json!({"input": one}));
    let all = facts(&server, &id).await.len();
    change(&server, &id, &one, &edit).key("k").send().await.is(202);
    assert_eq!(facts(&server, &id).await.len(), all, "it was changed once");
    let reused = problem(422, "key_reused");
    let other = json!({"text": "another"});
    let answer = change(&server, &id, &one, &other).key("k").send().await;
    assert_eq!(answer.problem(), reused);
    // An edit that changes nothing uses its key too.
    change(&server, &id, &one, &edit).key("same").send().await.is(202);
    let answer = change(&server, &id, &one, &other).key("same").send().await;
    assert_eq!(answer.problem(), reused);
    let before = json!({"before": one});
    change(&server, &id, &two, &before).key("k").send().await.is(202);
    change(&server, &id, &two, &before).key("k").send().await.is(202);
    let answer = change(&server, &id, &two, &json!({"last": true})).key("k").send().await;
    assert_eq!(answer.problem(), reused);
    withdraw(&server, &id, &three).send().await.is(202);
    assert_eq!(texts(&server, &id).await, ["two", "one, please"]);
    let listed = queue(&server, &id).await["inputs"][0].clone();
    let two_waits = json!({"input": two, "text": "two", "delivery": "turn", "images": 0,
                           "dry_run": false, "turn": null});
    assert_eq!(listed, two_waits);
    let became = server.get(&format!("/sessions/{id}/inputs/{three}")).send().await.is(200);
    let withdrawn = json!({"input": three, "state": "withdrawn", "turn": null, "reason": null});
    assert_eq!(became, withdrawn);

    for (input, body) in [(&go, json!({"text": "stop"})), (&three, json!({"last": true}))] {
        let answer = change(&server, &id, input, &body).send().await;
        assert_eq!(answer.problem(), problem(409, "input_not_waiting"), "{body}");
    }
    let answer = withdraw(&server, &id, &go).send().await;
    assert_eq!(answer.problem(), problem(409, "input_not_waiting"));
    for body in [json!({}), json!({"text": "a", "last": true}), json!({"text": " "})] {
        let answer = change(&server, &id, &one, &body).send().await;
        assert_eq!(answer.problem(), problem(422, "refused"), "{body}");
    }
}

#[tokio::test]
async fn a_steer_and_an_interrupt_for_a_turn_that_is_over_are_refused() {
    let world = World::new([say("one"), stall()], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let first = server.turn(&id, "hello").await["turn"].clone();
    let path = |what: &str| format!("/sessions/{id}/{what}");
    let steer = json!({"text": "quick", "delivery": "steer", "turn": first});
    let interrupt = json!({"turn": first});
    let refused = problem(409, "turn_over");
    for running in [false, true] {
        if running {
            server.post(&path("turns"), &json!({"text": "go"})).send().await.is(202);
        }
        let before = facts(&server, &id).await.len();
        let answer = server.post(&path("inputs"), &steer).send().await;
        assert_eq!(answer.problem(), refused, "running: {running}");
        let answer = server.post(&path("interrupt"), &interrupt).send().await;
        assert_eq!(answer.problem(), refused, "running: {running}");
        let kinds = facts(&server, &id).await;
        let said = |kind: &str| kinds[before..].iter().any(|fact| fact["kind"] == kind);
        assert!(!said("InputQueued") && !said("InterruptRequested"), "{kinds:?}");
    }
    let running = server.get(&path("turns")).send().await.is(200);
    let turn = running["turns"].as_array().unwrap().iter();
    let turn = turn.filter_map(|turn| turn["turn"].as_u64()).max().unwrap();
    let told = server.post(&path("interrupt"), &json!({"turn": turn})).send().await;
    assert_eq!(told.is(202), json!({ "turn": turn }));
}
