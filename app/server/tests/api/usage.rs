//! Usage and names of sessions, what fills the window, the models, and the sessions that changed last.

use serde_json::{Value, json};
use windlass_engine::core::{EffectClass, Usage};
use windlass_server::windlass_engine;
use windlass_testkit::Answer;
use windlass_testkit::provider::{Step, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{OTHER, READER};
use crate::world::{Running, World, facts, problem};

async fn view(server: &Running, id: &str) -> Value {
    server.get(&format!("/sessions/{id}")).send().await.is(200)
}

fn counted(text: &str, input: u64) -> Step {
    let usage = Usage { input: Some(input), output: Some(7), ..Usage::default() };
    Step::from(Answer::new().text(text).usage(Usage { cached_input: Some(40), ..usage }))
}

#[tokio::test]
async fn a_session_tells_what_its_turns_took() {
    let world = World::new([counted("one", 100), counted("two", 130)], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let new = view(&server, &id).await;
    assert_eq!(
        (&new["turns"], &new["cost_micros"], &new["window"]),
        (&json!(0), &Value::Null, &Value::Null)
    );
    let first = new["context_tokens"].as_u64().unwrap();
    server.turn(&id, "hello").await;
    server.turn(&id, "and more").await;
    let after = view(&server, &id).await;
    assert_eq!(after["turns"], 2);
    assert_eq!(after["spent"]["usage"], json!({"input": 230, "output": 14, "cached_input": 80}));
    // The provider counted 130 tokens, and the answer came after them.
    let tokens = after["context_tokens"].as_u64().unwrap();
    assert!(tokens > 130 && tokens < 160 && first < 130, "{first} {tokens}");
    let path = format!("/sessions/{id}/context");
    let measured = server.get(&path).with(READER).send().await.is(200);
    assert_eq!((&measured["measured"], &measured["tokens"]), (&json!(130), &json!(tokens)));
}

#[tokio::test]
async fn the_window_is_shown_by_source() {
    let tool = ScriptedTool::new("look", EffectClass::ReadOnly).says("a file".repeat(50));
    let world = World::new([call("look", json!({"n": 1})), say("It is a file.")], [tool]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}/turns");
    let context = json!([{"from": "AGENTS.md", "text": "Be kind to the reader."}]);
    let words = json!({"text": "What is there?", "context": context});
    let turn = server.post(&path, &words).send().await.is(202)["turn"].as_u64().unwrap();
    server.ended(&id, turn).await;
    let path = format!("/sessions/{id}/context");
    let usage = server.get(&path).send().await.is(200);
    let sources = usage["sources"].as_array().unwrap();
    let named: Vec<_> =
        sources.iter().map(|it| (it["source"].as_str().unwrap(), &it["name"])).collect();
    let (look, file, none) = (json!("look"), json!("AGENTS.md"), Value::Null);
    for source in [
        ("instructions", &none),
        ("tool", &look),
        ("context", &file),
        ("user", &none),
        ("model", &none),
        ("call", &look),
        ("result", &look),
    ] {
        assert!(named.contains(&source), "{source:?} of {usage}");
    }
    // No request was counted, so the whole is an estimate of the same texts.
    assert_eq!((&usage["measured"], &usage["window"]), (&Value::Null, &Value::Null));
    let sum: u64 = sources.iter().map(|it| it["tokens"].as_u64().unwrap()).sum();
    let tokens = usage["tokens"].as_u64().unwrap();
    assert!(tokens <= sum && sum < tokens + sources.len() as u64, "{usage}");
    let result = sources.iter().find(|it| it["source"] == "result").unwrap();
    assert_eq!(result["items"], 1);
    assert!(result["tokens"].as_u64().unwrap() >= 100, "{result}");
    let answer = server.get(&path).with(OTHER).send().await;
    assert_eq!(answer.problem(), problem(404, "no_session"));
}

#[tokio::test]
async fn a_session_has_the_name_that_a_person_gives_it() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let (id, other) = (server.open(&json!({})).await, server.open(&json!({})).await);
    server.turn(&id, "hello").await;
    let path = format!("/sessions/{id}");
    for _ in 0..2 {
        let named = server.patch(&path, &json!({"title": " the greeting "})).send().await.is(200);
        assert_eq!(named["title"], "the greeting");
    }
    let log = facts(&server, &id).await;
    let renamed: Vec<_> = log.iter().filter(|fact| fact["kind"] == "SessionRenamed").collect();
    assert_eq!(renamed.len(), 1, "a repetition changes nothing");
    assert_eq!(renamed[0]["body"]["by"]["principal"], "ann");
    world.clock.advance(1_000);
    server.turn(&other, "later").await;
    server.stop().await;

    let server = world.serve().await;
    let listed = server.get("/sessions?order=changed").send().await.is(200);
    let titles: Vec<_> =
        listed["sessions"].as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert_eq!(titles, ["later", "the greeting"]);
    for title in ["", " ", "two\nlines", &"x".repeat(201)] {
        let answer = server.patch(&path, &json!({ "title": title })).send().await;
        assert_eq!(answer.problem(), problem(422, "refused"), "{title:?}");
    }
    let answer = server.patch(&path, &json!({"title": "x"})).with(READER).send().await;
    assert_eq!(answer.problem(), problem(403, "forbidden"));
    // A refused change changes nothing at all.
    let both = json!({"title": "x", "model": "best"});
    assert_eq!(server.patch(&path, &both).send().await.problem(), problem(422, "refused"));
    assert_eq!(view(&server, &id).await["title"], "the greeting");
    let removed = server.patch(&path, &json!({"title": null})).send().await.is(200);
    assert_eq!(removed["title"], "hello");
    server.patch(&path, &json!({"title": "ä".repeat(200)})).send().await.is(200);
}

#[tokio::test]
async fn sessions_are_listed_by_their_latest_change() {
    let world = World::new((0..4).map(|n| say(format!("answer {n}"))), []);
    let server = world.serve().await;
    let mut ids = Vec::new();
    for n in 0..3 {
        world.clock.advance(1_000);
        ids.push(server.open(&json!({})).await);
        server.turn(&ids[n], &format!("input {n}")).await;
    }
    world.clock.advance(1_000);
    server.turn(&ids[0], "again").await;
    let path = "/sessions?order=changed&limit=2";
    let listed = server.get(path).send().await.is(200);
    let sessions = listed["sessions"].as_array().unwrap();
    let order: Vec<_> = sessions.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!((order, &listed["next"]), (vec![ids[0].as_str(), ids[2].as_str()], &Value::Null));
    assert_eq!((&sessions[0]["title"], &sessions[0]["turns"]), (&json!("input 0"), &json!(2)));
    assert_eq!(sessions[0]["model"], "m");
    let foreign = server.get(path).with(OTHER).send().await.is(200);
    assert_eq!(foreign["sessions"], json!([]));
    for (bad, status, code) in [
        ("order=size", 400, "bad_request"),
        ("order=changed&limit=0", 400, "bad_request"),
        ("order=changed&after=x", 422, "refused"),
    ] {
        let answer = server.get(&format!("/sessions?{bad}")).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{bad}");
    }
}

#[tokio::test]
async fn the_models_are_listed_with_the_default_first() {
    let world = World::new([], []);
    let server = world.serve().await;
    let listed = server.get("/models").with(READER).send().await.is(200);
    let model = |name: &str| json!({"name": name, "window": null, "efforts": null, "images": null});
    let models = json!([model("m"), model("n")]);
    assert_eq!(listed, json!({"default": "m", "models": models, "fault": null}));
    let answer = server.get("/models").with("nobody's").send().await;
    assert_eq!(answer.problem(), problem(401, "unauthorized"));
}
