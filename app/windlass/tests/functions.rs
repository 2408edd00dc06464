//! Typed answers, functions as hooks and approvers, and the events of a turn, over a scripted model
//! behind HTTP.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use serde_json::json;
use windlass::core::{Delta, Fact, TurnOutcome};
use windlass::{
    ApprovalDecision, Builder, EffectClass, Event, HookPoint, HookReply, LiveKind, Tool, tool,
};
use windlass_testkit::http::{ModelServer, Reply};

/// The weather in a city.
#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    city: String,
    degrees: Option<i8>,
}

/// Deletes a file.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Delete {
    path: String,
}

fn over(server: &ModelServer) -> Builder {
    windlass::builder("openai/gpt-5").base_url(server.base_url()).api_key("key")
}

fn scripted<const N: usize>(replies: [Reply; N]) -> ModelServer {
    ModelServer::start(replies).unwrap()
}

fn deletion(runs: &Arc<AtomicUsize>) -> Tool {
    let runs = runs.clone();
    tool("delete", EffectClass::Effectful, move |_, Delete { path }| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move { Ok(format!("deleted {path}")) }
    })
}

#[tokio::test]
async fn an_answer_is_a_type_and_one_that_does_not_fit_is_asked_for_again() {
    let server = scripted([
        Reply::say(r#"{"city":7}"#),
        Reply::say(r#"{"city":"Oslo","degrees":null}"#),
        Reply::say("Cold."),
    ]);
    let windlass = over(&server).open().await.unwrap();
    let conversation = windlass.conversation("typed").unwrap();
    let answer = conversation.run_as::<Weather>("The weather in Oslo?").await.unwrap();
    assert_eq!(answer.output, Weather { city: "Oslo".into(), degrees: None });
    assert_eq!(answer.usage.samples, 2);
    let sent = server.samples()[0].json.clone().unwrap();
    let format = &sent["text"]["format"];
    assert_eq!((&format["name"], &format["strict"]), (&json!("Weather"), &json!(true)));
    assert_eq!(format["schema"]["required"], json!(["city", "degrees"]));
    // The next turn of the conversation answers in words again.
    assert_eq!(conversation.run("And in words?").await.unwrap().output, "Cold.");
    assert!(server.samples()[2].json.clone().unwrap()["text"]["format"].is_null());
}

#[tokio::test]
async fn a_function_decides_about_calls_that_change_something() {
    let server = scripted([
        Reply::call("delete", json!({ "path": "a" })),
        Reply::call("delete", json!({ "path": "b" })),
        Reply::say("One of two."),
    ]);
    let runs = Arc::new(AtomicUsize::new(0));
    let builder = over(&server).tool(deletion(&runs)).approver(async |request| {
        Ok(match request.arguments.contains("\"a\"") {
            true => ApprovalDecision::Allow { arguments: None },
            false => ApprovalDecision::Deny { reason: "b is needed".into() },
        })
    });
    let windlass = builder.open().await.unwrap();
    windlass.run("Delete a and b.").await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let results = server.samples()[2].asked().results;
    assert_eq!(results[0].1, "deleted a");
    assert!(results[1].1.contains("b is needed"), "{results:?}");
}

#[tokio::test]
async fn functions_are_hooks_and_one_that_fails_denies() {
    let server = scripted([
        Reply::call("delete", json!({ "path": "a" })),
        Reply::say("It was not allowed."),
    ]);
    let runs = Arc::new(AtomicUsize::new(0));
    let builder = over(&server)
        .tool(deletion(&runs))
        .hook("limits", HookPoint::BeforeTool, async |_, _| Err("the quota is unknown".into()))
        .hook("words", HookPoint::PromptSubmitted, async |call, _| {
            let secret = format!("{:?}", call.subject).contains("secret");
            Ok(if secret { HookReply::deny("no secrets") } else { HookReply::pass() })
        });
    let windlass = builder.open().await.unwrap();
    windlass.run("Delete a.").await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let results = server.samples()[1].asked().results;
    assert!(results[0].1.contains("the quota is unknown"), "{results:?}");
    let blocked = windlass.run("Tell a secret.").await.unwrap_err();
    let outcome = blocked.turn().unwrap().outcome.clone();
    assert!(matches!(outcome, TurnOutcome::Blocked { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_turn_is_a_stream_of_its_events_and_has_an_answer() {
    let server = scripted([Reply::say("Hello, world."), Reply::say("Again.")]);
    let windlass = over(&server).open().await.unwrap();
    let conversation = windlass.conversation("live").unwrap();
    let mut turn = conversation.send("Say hello.").await.unwrap();
    let (mut text, mut settled) = (String::new(), false);
    while let Some(event) = turn.next().await {
        match event {
            Event::Live(live) => {
                for one in live.iter() {
                    if let LiveKind::Delta { delta: Delta::Text { text: more, .. }, .. } = &one.kind
                    {
                        text.push_str(more);
                    }
                }
            }
            Event::Fact(fact) => settled |= matches!(fact.fact().fact, Fact::TurnSettled(_)),
            Event::Lagged { .. } | Event::Store(_) | Event::Ended(_) => {}
        }
    }
    assert!(settled, "the last event is the end of the turn");
    assert_eq!(text, "Hello, world.");
    // The turn has ended, so the next one does not wait for this value.
    assert_eq!(conversation.run("Again.").await.unwrap().output, "Again.");
    assert_eq!(turn.answer().await.unwrap().output, "Hello, world.");
}
