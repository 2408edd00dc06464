//! Sessions: opened, found again by their key, listed, and there for nobody else.

use serde_json::{Value, json};
use windlass_engine::core::EffectClass;
use windlass_server::windlass_engine;
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::approvals::open;
use crate::client::{OTHER, READER, RUNNER};
use crate::world::{World, facts, problem};

#[tokio::test]
async fn a_session_is_opened_with_what_narrows_it() {
    let world = World::new([], []);
    let server = world.serve().await;
    let wish = json!({"mode": "plan", "permissions": "read_only", "model": "n",
                      "limits": {"samples": 3}});
    let answer = server.post("/sessions", &wish).send().await;
    let opened = answer.is(201);
    let id = opened["id"].as_str().unwrap();
    let place = format!("/v1/sessions/{id}");
    assert_eq!(answer.header("location"), Some(place.as_str()));
    assert_eq!(
        opened,
        json!({
            "id": id, "state": "idle", "last": 1, "changed": 1_790_000_000_000_u64, "title": null,
            "waiting": 0, "held": false, "asking": 0, "turn": null, "provider": "scripted",
            "model": "n", "effort": null, "mode": "plan", "permissions": "read_only",
            "program": null, "lineage": {"from": "root"}, "turns": 0,
            "spent": {"samples": 0, "attempts": 0, "calls": 0, "usage": {}, "estimated_tokens": 0,
                      "cost_micros": 0, "continuations": 0, "compactions": 0},
            "cost_micros": null, "window": null, "context_tokens": 3,
        })
    );
    let again = server.get(&format!("/sessions/{id}")).send().await;
    assert_eq!(again.is(200), opened);
    let first = &facts(&server, id).await[0];
    assert_eq!(first["kind"], "SessionOpened");
    assert_eq!(first["body"]["settings"]["limits"]["samples"], 3);
    assert_eq!(first["body"]["owner"]["principal"], "ann");
}

#[tokio::test]
async fn a_wish_for_what_there_is_not_is_refused() {
    let world = World::new([], []);
    let server = world.serve().await;
    let wish = json!({"model": "best"});
    let answer = server.post("/sessions", &wish).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"));
    for bad in [json!({"mod": "plan"}), json!({"mode": "fast"}), json!([])] {
        let answer = server.post("/sessions", &bad).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_request"), "{bad}");
    }
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed, json!({"sessions": [], "next": null}));
}

#[tokio::test]
async fn settings_change_for_the_next_turn_once() {
    let tool = ScriptedTool::new("look", EffectClass::Effectful).says("a file");
    let world = World::new([call("look", json!({})), say("one"), say("two")], [tool]);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask", "effort": "low"})).await;
    let path = format!("/sessions/{id}");
    let sent = server.post(&format!("{path}/turns"), &json!({"text": "go"})).send().await;
    let turn = sent.is(202)["turn"].as_u64().unwrap();
    let question = &open(&server, &id).await[0];

    let change = json!({"mode": "plan", "model": "n", "effort": null});
    let changed = server.patch(&path, &change).send().await.is(200);
    let shown = ["model", "effort", "mode", "permissions"].map(|name| changed[name].clone());
    assert_eq!(json!(shown), json!(["n", null, "plan", "ask"]));
    let log = facts(&server, &id).await;
    let last = log.last().unwrap();
    assert_eq!(last["kind"], "SettingsChanged");
    assert_eq!(last["body"]["by"]["principal"], "ann");
    let again = server.patch(&path, &change).send().await.is(200);
    assert_eq!((again, facts(&server, &id).await.len()), (changed, log.len()));

    // The turn that runs keeps its settings, and may still make its change.
    let place = format!("{path}/approvals/{}", question["call"]);
    let allow = json!({"decision": "allow", "digest": question["digest"]});
    server.post(&place, &allow).send().await.is(202);
    assert_eq!(server.ended(&id, turn).await["answer"], "one");
    server.turn(&id, "again").await;
    let prompts = world.provider.prompts();
    let models: Vec<_> = prompts.iter().map(|prompt| prompt.settings.model.as_str()).collect();
    assert_eq!(models, ["m", "m", "n"]);
    let efforts: Vec<_> = prompts.iter().map(|prompt| prompt.settings.effort.as_deref()).collect();
    assert_eq!(efforts, [Some("low"), Some("low"), None]);

    let before = facts(&server, &id).await.len();
    let answer = server.patch(&path, &json!({"model": "best"})).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"));
    // A name that is not one is refused before the mode changes.
    let answer = server.patch(&path, &json!({"mode": "build", "title": "a\tb"})).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"));
    for bad in [json!({"model": null}), json!({"mode": "fast"}), json!({"limits": {}})] {
        let answer = server.patch(&path, &bad).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_request"), "{bad}");
    }
    for (token, change, expected) in [
        (READER, json!({"mode": "build"}), problem(403, "forbidden")),
        (RUNNER, json!({"permissions": "auto"}), problem(403, "forbidden")),
        (RUNNER, json!({"mode": "build"}), problem(403, "forbidden")),
        (OTHER, json!({"mode": "build"}), problem(404, "no_session")),
    ] {
        let answer = server.patch(&path, &change).with(token).send().await;
        assert_eq!(answer.problem(), expected, "{change}");
    }
    assert_eq!(facts(&server, &id).await.len(), before);
    let narrower = json!({"permissions": "read_only"});
    server.patch(&path, &narrower).with(RUNNER).send().await.is(200);
    server.patch(&path, &json!({"permissions": "auto"})).send().await.is(200);
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_kept() {
    let world = World::new([], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}");
    for round in 0..20 {
        let (mode, model) = if round % 2 == 0 { ("plan", "n") } else { ("build", "m") };
        let (one, other) = (json!({"mode": mode}), json!({"model": model}));
        let (one, other) = (server.patch(&path, &one), server.patch(&path, &other));
        let (one, other) = tokio::join!(one.send(), other.send());
        one.is(200);
        other.is(200);
        let now = server.get(&path).send().await.is(200);
        assert_eq!((&now["mode"], &now["model"]), (&json!(mode), &json!(model)), "{round}");
    }
}

#[tokio::test]
async fn a_key_finds_the_same_session_after_a_restart_too() {
    let world = World::new([], []);
    let server = world.serve().await;
    let wish = json!({"mode": "plan"});
    let opened = server.post("/sessions", &wish).key("a key").send().await;
    let opened = opened.is(201);
    server.stop().await;
    let server = world.serve().await;
    let again = server.post("/sessions", &wish).key("a key").send().await;
    assert_eq!(again.is(201), opened);
    let other = json!({"mode": "build"});
    let answer = server.post("/sessions", &other).key("a key").send().await;
    assert_eq!(answer.problem(), problem(422, "key_reused"));
    let foreign = server.post("/sessions", &wish).key("a key").with(OTHER);
    assert_ne!(foreign.send().await.is(201)["id"], opened["id"]);
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    for bad in ["", "ä", &"x".repeat(129)] {
        let answer = server.post("/sessions", &wish).key(bad).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_request"), "{bad:?}");
    }
}

#[tokio::test]
async fn sessions_are_listed_in_pages() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(server.open(&json!({})).await);
    }
    ids.sort();
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/sessions?limit=2{after}")).send().await;
        let page = page.is(200);
        let sessions = page["sessions"].as_array().unwrap();
        assert!(sessions.len() <= 2);
        seen.extend(sessions.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(seen, ids);
    for bad in ["limit=0", "limit=1001", "limit=x", "after=..", "open=1", "all=true"] {
        let answer = server.get(&format!("/sessions?{bad}")).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_request"), "{bad}");
    }
}

#[tokio::test]
async fn a_session_of_another_tenant_is_nowhere() {
    let world = World::new([], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let words = json!({"text": "hello"});
    let mut answers = Vec::new();
    for id in [id.as_str(), "nowhere", "no%2Fid", "..%2F..", "%ff", &"x".repeat(65)] {
        for what in ["", "/history", "/inputs/2"] {
            let asked = server.get(&format!("/sessions/{id}{what}")).with(OTHER);
            answers.push(asked.send().await);
        }
        let sent = server.post(&format!("/sessions/{id}/turns"), &words).with(OTHER);
        answers.push(sent.send().await);
    }
    for mut answer in answers {
        assert_eq!(answer.problem(), problem(404, "no_session"));
        answer.head.retain(|(name, _)| name != "date");
        let detail = answer.json()["detail"].clone();
        assert_eq!(detail, "list the sessions with GET /v1/sessions");
    }
    let listed = server.get("/sessions").with(OTHER).send().await.is(200);
    assert_eq!(listed["sessions"], json!([]));
}

#[tokio::test]
async fn who_may_only_read_changes_nothing() {
    let world = World::new([], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let one = server.get(&format!("/sessions/{id}")).with(READER).send().await;
    assert_eq!(one.status, 200);
    for (path, body) in [
        ("/sessions".to_owned(), json!({})),
        (format!("/sessions/{id}/turns"), json!({"text": "hello"})),
        (format!("/sessions/{id}/inputs"), json!({"text": "hello", "delivery": "steer"})),
    ] {
        let answer = server.post(&path, &body).with(READER).send().await;
        assert_eq!(answer.problem(), problem(403, "forbidden"), "{path}");
    }
    assert_eq!(facts(&server, &id).await.len(), 1);
}

#[tokio::test]
async fn the_log_is_read_in_pages_and_a_cursor_behind_it_is_none() {
    let world = World::new([say("hello")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let words = json!({"text": "  Say\nhello to everybody. "});
    let taken = server.post(&format!("/sessions/{id}/turns"), &words).send().await;
    assert_eq!(taken.is(202), json!({"input": 2, "turn": 3}));
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = server.get(&format!("/sessions/{id}/history?after={after}&limit=2"));
        let page = page.send().await.is(200);
        seen.extend(page["facts"].as_array().unwrap().clone());
        match page["next"].as_u64() {
            Some(next) => after = next,
            None if seen.last().unwrap()["kind"] == "TurnSettled" => break,
            None => after = seen.len() as u64,
        }
    }
    let seqs: Vec<_> = seen.iter().map(|fact| fact["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seen.len() as u64).collect::<Vec<_>>());
    let view = server.get(&format!("/sessions/{id}")).send().await.is(200);
    assert_eq!(view["title"], "Say hello to everybody.");
    assert_eq!(view["last"], seen.len());
    let listed = server.get("/sessions?open=false").send().await.is(200);
    assert_eq!(listed["sessions"][0], view);
    let end = seen.len();
    let page = server.get(&format!("/sessions/{id}/history?after={end}")).send().await;
    assert_eq!(page.is(200), json!({"facts": [], "next": null}));
    for (bad, code) in [
        (format!("after={}", end + 1), "bad_cursor"),
        (format!("after={}", u64::MAX), "bad_cursor"),
        ("after=-1".to_owned(), "bad_request"),
        ("after=now".to_owned(), "bad_request"),
    ] {
        let answer = server.get(&format!("/sessions/{id}/history?{bad}")).send().await;
        assert_eq!(answer.problem(), problem(400, code), "{bad}");
    }
    assert_eq!(view["asking"], Value::from(0));
}
