//! Turns: sent once however often they are asked for, waited for, stopped, gone on with.

use serde_json::{Value, json};
use windlass_engine::core::{CallId, EffectClass, Lineage, SessionId, Settings};
use windlass_server::windlass_engine;
use windlass_testkit::Gate;
use windlass_testkit::provider::{call, say, stall};
use windlass_testkit::tools::ScriptedTool;

use crate::client::OTHER;
use crate::world::{Running, World, facts, problem};

async fn state(server: &Running, id: &str) -> Value {
    let path = format!("/sessions/{id}");
    server.get(&path).send().await.is(200)
}

#[tokio::test]
async fn a_turn_is_sent_waited_for_and_listed() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let one = server.turn(&id, "first").await;
    let two = server.turn(&id, "second").await;
    assert_eq!(one["outcome"], json!({"outcome": "completed"}));
    assert_eq!((&one["answer"], &one["input"]), (&json!("one"), &json!(2)));
    assert_eq!(one["spent"]["samples"], 1);
    let list = async |query: String| {
        let path = format!("/sessions/{id}/turns?{query}");
        server.get(&path).send().await.is(200)
    };
    let all = list(String::new()).await;
    assert_eq!(all, json!({"turns": [one, two], "next": null}));
    let page = list("limit=1".into()).await;
    assert_eq!(page["turns"], json!([one]));
    let page = list(format!("limit=1&after={}", page["next"])).await;
    assert_eq!(page["turns"], json!([two]));
    let page = list(format!("limit=1&after={}", page["next"])).await;
    assert_eq!(page, json!({"turns": [], "next": null}));
    let answer = server.get(&format!("/sessions/{id}/turns?after=1000"));
    assert_eq!(answer.send().await.problem(), problem(400, "bad_cursor"));
    for (turn, status, code) in [
        ("1", 404, "no_turn"),
        ("0", 404, "no_turn"),
        ("1000", 404, "no_turn"),
        ("18446744073709551615", 404, "no_turn"),
        ("18446744073709551616", 400, "bad_request"),
        ("-1", 400, "bad_request"),
        ("+3", 400, "bad_request"),
        ("three", 400, "bad_request"),
    ] {
        let answer = server.get(&format!("/sessions/{id}/turns/{turn}")).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{turn}");
    }
    assert_eq!(world.provider.misses(), Vec::<String>::new());
}

#[tokio::test]
async fn a_key_gives_the_same_turn_after_a_restart_too() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}/turns");
    let words = json!({"text": "hello", "context": [{"from": "a", "text": "b"}]});
    let taken = server.post(&path, &words).key("k").send().await.is(202);
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;
    let again = server.post(&path, &words).key("k").send().await.is(202);
    assert_eq!(again, taken);
    server.stop().await;
    let server = world.serve().await;
    let again = server.post(&path, &words).key("k").send().await.is(202);
    assert_eq!(again, taken);
    let all = facts(&server, &id).await;
    for other in [
        json!({"text": "hello", "context": [{"from": "a", "text": "c"}]}),
        json!({"text": "hello"}),
        json!({"text": "bye", "context": [{"from": "a", "text": "b"}]}),
        json!({"text": "hello", "context": [{"from": "a", "text": "b"}], "dry_run": true}),
    ] {
        let answer = server.post(&path, &other).key("k").send().await;
        assert_eq!(answer.problem(), problem(422, "key_reused"), "{other}");
    }
    let input = json!({"text": "hello", "delivery": "follow_up",
                       "context": [{"from": "a", "text": "b"}]});
    let path = format!("/sessions/{id}/inputs");
    let answer = server.post(&path, &input).key("k").send().await;
    assert_eq!(answer.problem(), problem(422, "key_reused"));
    assert_eq!(facts(&server, &id).await, all, "nothing was changed by it");
    let taken = server.post(&path, &input).key("l").send().await.is(202);
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;
}

#[tokio::test]
async fn what_does_not_read_or_cannot_be_is_said_so() {
    let world = World::new([], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let images: Vec<_> = (0..17).map(|_| "iVBORw0KGgo=").collect();
    for (body, status, code) in [
        (json!({"text": "  "}), 422, "refused"),
        (json!({}), 400, "bad_request"),
        (json!({"text": 1}), 400, "bad_request"),
        (json!({"text": "a", "delivery": "turn"}), 400, "bad_request"),
        (json!({"text": "a", "context": [["a", "b"]]}), 400, "bad_request"),
        (json!({"text": "a", "images": ["not base64!"]}), 422, "refused"),
        (json!({"text": "a", "images": ["AAAA"]}), 422, "refused"),
        (json!({"text": "a", "images": images}), 422, "refused"),
    ] {
        let path = format!("/sessions/{id}/turns");
        let answer = server.post(&path, &body).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{body}");
    }
    assert_eq!(facts(&server, &id).await.len(), 1);
}

#[tokio::test]
async fn an_image_is_shown_to_the_model_and_is_part_of_the_key() {
    let world = World::new([say("a picture")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}/turns");
    let words = json!({"text": "look", "images": ["iVBORw0KGgo="]});
    let taken = server.post(&path, &words).key("k").send().await.is(202);
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;
    let queued = &facts(&server, &id).await[1];
    assert_eq!(queued["body"]["images"][0]["media"], "image/png");
    let again = server.post(&path, &words).key("k").send().await.is(202);
    assert_eq!(again, taken);
    let other = json!({"text": "look", "images": ["R0lGODlh"]});
    let answer = server.post(&path, &other).key("k").send().await;
    assert_eq!(answer.problem(), problem(422, "key_reused"));
}

#[tokio::test]
async fn a_running_turn_is_steered_stopped_and_what_waited_goes_on() {
    let gate = Gate::new();
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).before(&gate);
    let world = World::new([call("look", json!({})), stall(), say("later")], [look]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = |what: &str| format!("/sessions/{id}/{what}");
    let none = json!({});
    let answer = server.post(&path("interrupt"), &none).send().await;
    assert_eq!(answer.problem(), problem(409, "nothing_runs"));
    let answer = server.post(&path("continue"), &none).send().await;
    assert_eq!(answer.problem(), problem(409, "nothing_waits"));
    assert_eq!(facts(&server, &id).await.len(), 1, "it was not opened for that");

    let taken = server.post(&path("turns"), &json!({"text": "go"})).send().await;
    let turn = taken.is(202)["turn"].as_u64().unwrap();
    gate.reached().await;
    assert_eq!(state(&server, &id).await["state"], "running");
    let next = server.post(&path("turns"), &json!({"text": "then"})).send().await;
    let next = next.is(202);
    assert_eq!(next["turn"], Value::Null);
    let waits = server.get(&path(&format!("inputs/{}", next["input"]))).send().await;
    let waits = waits.is(200);
    assert_eq!(waits["state"], "waiting");
    let steer = json!({"text": "quick", "delivery": "steer"});
    let steer = server.post(&path("inputs"), &steer).send().await.is(202);
    assert_eq!(steer["turn"], Value::Null);
    let running = server.get(&path(&format!("turns/{turn}"))).send().await.is(200);
    assert_eq!(running["state"], "running");
    assert_eq!(running["outcome"], Value::Null);

    let how = json!({"when": "after_step", "reason": "enough"});
    for _ in 0..2 {
        let told = server.post(&path("interrupt"), &how).send().await;
        assert_eq!(told.is(202), json!({ "turn": turn }));
    }
    let answer = server.post(&path("continue"), &none).send().await;
    assert_eq!(answer.problem(), problem(409, "stopping"));
    gate.open();
    let ended = server.ended(&id, turn).await;
    let outcome = json!({"outcome": "interrupted", "by": "person", "reason": "enough"});
    assert_eq!(ended["outcome"], outcome);
    let view = state(&server, &id).await;
    assert_eq!((&view["held"], &view["state"]), (&json!(true), &json!("idle")));
    let open = server.get("/sessions?open=true").send().await.is(200);
    assert_eq!(open["sessions"], json!([view]));
    let held = server.get(&path(&format!("inputs/{}", next["input"]))).send().await;
    assert_eq!(held.is(200)["state"], "held");

    let on = server.post(&path("continue"), &none).send().await.is(202);
    assert!(on["turn"].is_u64(), "{on}");
    let on = on["turn"].as_u64().unwrap();
    let told = server.post(&path("interrupt"), &json!({"when": "now"})).send().await;
    assert_eq!(told.is(202), json!({ "turn": on }));
    let ended = server.ended(&id, on).await;
    assert_eq!(ended["outcome"]["outcome"], "interrupted");
}

#[tokio::test]
async fn what_became_of_an_input_is_told() {
    let world = World::new([say("one")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let turn = server.turn(&id, "hello").await;
    let became = server.get(&format!("/sessions/{id}/inputs/2")).send().await;
    assert_eq!(
        became.is(200),
        json!({"input": 2, "state": "accepted", "turn": turn["turn"], "reason": null})
    );
    for (input, status, code) in [
        ("1", 404, "no_input"),
        ("3", 404, "no_input"),
        ("99", 404, "no_input"),
        ("x", 400, "bad_request"),
    ] {
        let answer = server.get(&format!("/sessions/{id}/inputs/{input}")).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{input}");
    }
}

#[tokio::test]
async fn a_session_goes_on_with_what_the_tenant_says_today() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.turn(&id, "first").await;
    world.today.lock().unwrap().instructions = "Be long.".into();
    server.turn(&id, "second").await;
    let all = facts(&server, &id).await;
    let mut changed = all.iter().filter(|fact| fact["kind"] == "SettingsChanged");
    let body = &changed.next().expect("a change of the settings")["body"];
    assert_eq!(body["settings"]["instructions"], "Be long.");
    assert_eq!(body["by"], json!({"kind": "system", "reason": "the server's configuration"}));
    assert_eq!(changed.next(), None);
    world.today.lock().unwrap().refuses = true;
    let path = format!("/sessions/{id}/turns");
    let answer = server.post(&path, &json!({"text": "third"})).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"));
}

#[tokio::test]
async fn turns_in_flight_and_sessions_are_bounded_and_others_have_their_own() {
    let mut world = World::new([stall(), say("other"), say("quick"), say("two")], []);
    world.quota.turns = 1;
    world.quota.sessions = 2;
    let server = world.serve().await;
    let (one, two) = (server.open(&json!({})).await, server.open(&json!({})).await);
    let answer = server.post("/sessions", &json!({})).send().await;
    assert_eq!(answer.problem(), problem(429, "too_many_sessions"));
    assert!(answer.header("retry-after").is_some());
    let words = json!({"text": "hello"});
    let turns = |id: &str| format!("/sessions/{id}/turns");
    let taken = server.post(&turns(&one), &words).key("k").send().await.is(202);
    let answer = server.post(&turns(&two), &words).send().await;
    assert_eq!(answer.problem(), problem(429, "too_many_turns"));
    assert!(answer.header("retry-after").is_some());
    let foreign = server.post("/sessions", &json!({})).with(OTHER).send().await;
    let foreign = foreign.is(201)["id"].as_str().unwrap().to_owned();
    let other = server.post(&turns(&foreign), &words).with(OTHER).send().await;
    assert_eq!(other.status, 202);
    // Steering is part of the turn that runs.
    let steer = json!({"text": "quick", "delivery": "steer"});
    let steered = server.post(&format!("/sessions/{one}/inputs"), &steer).send().await;
    assert_eq!(steered.status, 202);
    server.ended(&one, taken["turn"].as_u64().unwrap()).await;
    let taken = loop {
        let answer = server.post(&turns(&two), &words).send().await;
        if answer.status != 429 {
            break answer.is(202);
        }
    };
    server.ended(&two, taken["turn"].as_u64().unwrap()).await;
}

#[tokio::test]
async fn a_tenant_whose_sessions_have_too_many_bytes_gets_no_turn_and_no_session() {
    let mut world = World::new([say("one"), say("two"), say("three")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.turn(&id, "first").await;
    server.stop().await;
    world.quota.bytes = 500;
    let server = world.serve().await;
    let path = format!("/sessions/{id}/turns");
    for (path, body) in [
        (path.as_str(), json!({"text": "second"})),
        ("/sessions", json!({})),
        (&format!("/sessions/{id}/forks"), json!({"at": 1})),
    ] {
        let answer = server.post(path, &body).send().await;
        assert_eq!(answer.problem(), problem(429, "too_many_bytes"), "{path}");
        assert!(answer.header("retry-after").is_some());
    }
    server.post("/sessions", &json!({})).with(OTHER).send().await.is(201);
    // What exists can be read, and erased.
    server.get(&format!("/sessions/{id}")).send().await.is(200);
}

#[tokio::test]
async fn a_session_that_is_full_takes_no_input_and_says_so() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let id = SessionId::new("full").unwrap();
    let limit = |settings: &mut Settings| settings.limits.session_bytes = 3_000;
    world.open_as(&server, &id, Lineage::Root, limit).await;
    let path = "/sessions/full/turns";
    let sent = server.post(path, &json!({"text": "a long story. ".repeat(300)})).send().await;
    let turn = sent.is(202)["turn"].as_u64().unwrap();
    let ended = server.ended("full", turn).await;
    assert_eq!(ended["outcome"], json!({"outcome": "exhausted", "limit": "session_bytes"}));
    let answer = server.post(path, &json!({"text": "second"})).send().await;
    assert_eq!(answer.problem(), problem(409, "session_full"));
}

#[tokio::test]
async fn each_cycle_of_a_turn_has_a_snapshot() {
    let tool = ScriptedTool::new("look", EffectClass::ReadOnly);
    let script = [call("look", json!({})), call("look", json!({})), say("seen"), say("again")];
    let world = World::new(script, [tool]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let (one, two) = (server.turn(&id, "first").await, server.turn(&id, "second").await);
    let page = async |turn: &Value, query: &str| {
        let path = format!("/sessions/{id}/turns/{}/snapshots?{query}", turn["turn"]);
        server.get(&path).send().await.is(200)
    };
    let all = page(&one, "").await;
    assert_eq!(all["next"], Value::Null);
    let snapshots = all["snapshots"].as_array().unwrap();
    let numbers: Vec<_> = snapshots.iter().map(|cycle| cycle["number"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
    for cycle in snapshots {
        assert_eq!((&cycle["turn"], &cycle["success"]), (&one["turn"], &json!(true)));
    }
    assert_eq!(snapshots[0]["tool_calls"][0]["name"], "look");
    assert_eq!(snapshots[2]["raw_response"], "seen");
    let (first, rest) = (page(&one, "limit=2").await, page(&one, "after=2&limit=2").await);
    assert_eq!(first["next"], 2);
    assert_eq!(rest["next"], Value::Null);
    let parts = [&first, &rest].map(|page| page["snapshots"].as_array().unwrap().clone());
    let mut parts = parts.concat();
    // The first of a page tells the whole conversation.
    assert_eq!(parts[2]["messages"]["same"], 0);
    let count = parts[2]["messages"]["added"].as_array().unwrap().len();
    assert_eq!(snapshots[2]["messages"]["count"], count);
    parts[2]["messages"] = snapshots[2]["messages"].clone();
    assert_eq!(&parts, snapshots);
    let later = page(&two, "").await;
    assert_eq!(later["snapshots"][0]["number"], 1);
    assert_eq!(later["snapshots"][0]["raw_response"], "again");
    for (path, status, code) in [
        (format!("/sessions/{id}/turns/1/snapshots"), 404, "no_turn"),
        (format!("/sessions/{id}/turns/1000/snapshots"), 404, "no_turn"),
        (format!("/sessions/{id}/turns/x/snapshots"), 400, "bad_request"),
        (format!("/sessions/{id}/turns/3/snapshots?limit=0"), 400, "bad_request"),
    ] {
        let answer = server.get(&path).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{path}");
    }
}

/// Whichever way somebody speaks to it, and whatever the configuration says by then.
#[tokio::test]
async fn an_agents_session_is_given_no_further_tool() {
    let tools = || {
        [
            ScriptedTool::new("read", EffectClass::ReadOnly),
            ScriptedTool::new("write", EffectClass::Effectful),
        ]
    };
    let world = World::new([say("one"), say("two")], tools());
    let server = world.serve().await;
    let child = SessionId::new("parent.6").unwrap();
    let lineage = || Lineage::Child { of: SessionId::new("parent").unwrap(), call: CallId(6) };
    let keeps = |settings: &mut Settings| {
        settings.tools.retain(|tool| tool.name == "read");
    };
    world.open_as(&server, &child, lineage(), keeps).await;
    server.turn("parent.6", "look").await;
    let changes = async || {
        let all = facts(&server, "parent.6").await;
        let changed = all.into_iter();
        let changed = changed.filter(|fact| fact["kind"] == "SettingsChanged");
        changed.collect::<Vec<_>>()
    };
    assert_eq!(changes().await, Vec::<Value>::new());
    world.today.lock().unwrap().instructions = "Be briefer.".into();
    let said = server
        .post("/sessions/parent.6/inputs", &json!({"text": "look again", "delivery": "follow_up"}));
    said.send().await.is(202);
    let changed = changes().await;
    assert_eq!(changed.len(), 1);
    let settings = &changed[0]["body"]["settings"];
    assert_eq!(settings["instructions"], "Be briefer.");
    let given = settings["tools"].as_array().unwrap();
    let names: Vec<_> = given.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read"]);
    // Nobody means that what it has may do more now.
    let other = SessionId::new("parent.9").unwrap();
    let lighter = |settings: &mut Settings| {
        keeps(settings);
        settings.tools[0].effect = EffectClass::Effectful;
    };
    world.open_as(&server, &other, lineage(), lighter).await;
    let asked = server.post("/sessions/parent.9/turns", &json!({"text": "look"}));
    assert_eq!(asked.send().await.problem(), problem(422, "refused"));
    // A session of one's own is given what there is.
    let own = SessionId::new("own").unwrap();
    world.open_as(&server, &own, Lineage::Root, keeps).await;
    server.post("/sessions/own/turns", &json!({"text": "look"})).send().await.is(202);
    let all = facts(&server, "own").await;
    let changed = all.iter().find(|fact| fact["kind"] == "SettingsChanged");
    let given = changed.unwrap()["body"]["settings"]["tools"].as_array().unwrap();
    assert_eq!(given.len(), 2);
}

#[tokio::test]
async fn a_conversation_is_compacted_at_once_or_after_the_running_turn() {
    let summary = "## Goal\nto wind\n## Done\nmuch\n## Open\nNone.\n## Facts\nNone.";
    let gate = Gate::new();
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).before(&gate);
    let long = say("winding ".repeat(500));
    let steps = [long, say(summary), call("look", json!({})), say("seen"), say(summary)];
    let server = World::new(steps, [look]).serve().await;
    let id = server.open(&json!({})).await;
    let path = |what: &str| format!("/sessions/{id}/{what}");
    let answer = server.post(&path("compact"), &json!({})).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"));
    let taken = server.post(&path("turns"), &json!({"text": "wind"})).send().await.is(202);
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;

    let words = json!({"focus": "the winch"});
    let taken = server.post(&path("compact"), &words).key("k").send().await.is(202);
    let turn = taken["turn"].as_u64().unwrap();
    assert_eq!(taken["request"], turn - 1);
    let ended = server.ended(&id, turn).await;
    assert_eq!(ended["outcome"], json!({"outcome": "completed"}));
    let again = server.post(&path("compact"), &words).key("k").send().await.is(202);
    assert_eq!(again, taken);
    let other = json!({"focus": "the wind"});
    let answer = server.post(&path("compact"), &other).key("k").send().await;
    assert_eq!(answer.problem(), problem(422, "key_reused"));
    let bodies = |facts: &[Value], kind: &str| -> Vec<Value> {
        let own = facts.iter().filter(|fact| fact["kind"] == kind);
        own.map(|fact| fact["body"].clone()).collect()
    };
    let all = facts(&server, &id).await;
    assert_eq!(bodies(&all, "CompactionRequested")[0]["focus"], "the winch");
    assert_eq!(bodies(&all, "Compacted")[0]["cut"]["summary"], summary);

    let taken = server.post(&path("turns"), &json!({"text": "look"})).send().await.is(202);
    gate.reached().await;
    let waits = server.post(&path("compact"), &json!({})).send().await.is(202);
    assert_eq!(waits["turn"], Value::Null);
    gate.open();
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;
    // The consequences of a turn's end are durable with it.
    let all = facts(&server, &id).await;
    let opened = all.iter().rfind(|fact| fact["kind"] == "TurnOpened").unwrap();
    assert_eq!(opened["body"]["reason"]["request"], waits["request"]);
    let ended = server.ended(&id, opened["turn"].as_u64().unwrap()).await;
    assert_eq!(ended["outcome"], json!({"outcome": "completed"}));
    assert_eq!(bodies(&all, "CompactionRequested").len(), 2);
}
