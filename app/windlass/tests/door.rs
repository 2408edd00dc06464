//! The door, over a scripted model behind HTTP: one turn from its prompt to its answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use windlass::core::{LimitKind, TurnOutcome};
use windlass::{Builder, EffectClass, Error, Limits, Result, ToolContext, Windlass, tool};
use windlass_testkit::http::{ModelServer, Reply};

/// Adds two numbers.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: u8,
    b: Option<u8>,
}

async fn add(context: ToolContext, Add { a, b }: Add) -> Result<u8> {
    assert_ne!(a, 13, "thirteen is unlucky");
    assert!(!context.idempotency_key.is_empty());
    a.checked_add(b.unwrap_or(1)).ok_or("the sum is too large".into())
}

fn adder() -> windlass::Tool {
    tool("add", EffectClass::ReadOnly, add)
}

fn over(server: &ModelServer) -> Builder {
    windlass::builder("openai/gpt-5").base_url(server.base_url()).api_key("key")
}

fn scripted<const N: usize>(replies: [Reply; N]) -> ModelServer {
    ModelServer::start(replies).unwrap()
}

fn call(arguments: Value) -> Reply {
    Reply::call("add", arguments)
}

#[tokio::test]
async fn a_turn_runs_its_tools_and_returns_its_answer() {
    let server = scripted([call(json!({ "a": 2, "b": 3 })), Reply::say("Five.")]);
    let windlass = over(&server).tool(adder()).open().await.unwrap();
    let answer = windlass.run("What is 2 + 3?").await.unwrap();
    assert_eq!(answer.to_string(), "Five.");
    assert_eq!((answer.usage.samples, answer.usage.calls), (2, 1));
    assert_eq!(server.samples()[1].asked().results[0].1, "5");

    let sent = server.samples()[0].json.clone().unwrap();
    let tool = &sent["tools"][0];
    assert_eq!(tool["description"], "Adds two numbers.");
    let properties = &tool["parameters"]["properties"];
    assert_eq!(properties["a"]["description"], "The first number.");
    assert_eq!(tool["parameters"]["required"], json!(["a"]));
    assert_eq!(server.misses(), Vec::<String>::new());
}

#[tokio::test]
async fn a_conversation_continues_and_its_last_answer_is_returned_again() {
    let server = scripted([Reply::say("One."), Reply::say("Two.")]);
    let folder = tempfile::tempdir().unwrap();
    let store = format!("file:{}", folder.path().join("state").display());
    let windlass = over(&server).store(&store).open().await.unwrap();
    let conversation = windlass.conversation("mine").unwrap();
    conversation.run("Say one.").await.unwrap();
    conversation.run("Say two.").await.unwrap();
    windlass.shutdown().await;
    let later = over(&server).store(&store).open().await.unwrap();
    assert_eq!(later.resume("mine").await.unwrap().output, "Two.");
    let sent = server.samples()[1].json.clone().unwrap().to_string();
    assert!(sent.contains("Say one.") && sent.contains("One."), "{sent}");
    let unknown = later.resume("other").await.unwrap_err();
    assert!(matches!(unknown, Error::Start(_)), "{unknown}");
}

#[tokio::test]
async fn what_a_tool_fails_with_is_what_the_model_reads() {
    let server = scripted([
        call(json!({ "a": "two" })),
        call(json!({ "a": 255, "b": 1 })),
        call(json!({ "a": 13 })),
        Reply::say("I cannot."),
    ]);
    let windlass = over(&server).tool(adder()).open().await.unwrap();
    assert_eq!(windlass.run("Add.").await.unwrap().output, "I cannot.");
    let results = server.samples()[3].asked().results;
    let texts: Vec<&str> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert!(texts[0].contains("/a") && texts[0].contains("integer"), "{texts:?}");
    assert!(texts[1].contains("the sum is too large"), "{texts:?}");
    assert!(texts[2].contains("panicked") && texts[2].contains("unlucky"), "{texts:?}");
}

#[tokio::test]
async fn every_other_outcome_is_an_error_with_the_turn() {
    let server = scripted([call(json!({ "a": 1 })), Reply::error(401, "bad_key", "no such key")]);
    let limits = Limits::default().with(|it| it.samples = 1);
    let short = over(&server).tool(adder()).limits(limits).open().await.unwrap();
    let error = short.run("Add.").await.unwrap_err();
    let turn = error.turn().unwrap();
    assert_eq!(turn.outcome, TurnOutcome::Exhausted { limit: LimitKind::Samples });
    assert_eq!(turn.usage.samples, 1);
    let keyless = over(&server).open().await.unwrap();
    let error = keyless.run("Hello.").await.unwrap_err();
    assert!(error.to_string().contains("no such key"), "{error}");
}

#[tokio::test]
async fn a_turn_that_a_crash_cut_is_finished_by_the_next_process() {
    let server = scripted([call(json!({ "a": 1 })), Reply::say("Two, after all.")]);
    let folder = tempfile::tempdir().unwrap();
    let store = format!("file:{}", folder.path().join("state").display());
    let first = std::thread::spawn({
        let (builder, (started, was_started)) =
            (over(&server).store(&store), std::sync::mpsc::channel::<()>());
        let hangs = tool("add", EffectClass::Idempotent, move |_, _: Add| {
            let _ = started.send(());
            std::future::pending::<Result<u8>>()
        });
        move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.spawn(async move {
                let windlass = builder.tool(hangs).open().await.unwrap();
                windlass.conversation("cut").unwrap().run("Add.").await
            });
            was_started.recv().unwrap();
            // The process dies: nothing gets to say goodbye.
            runtime.shutdown_background();
        }
    });
    first.join().unwrap();
    let next = over(&server)
        .store(&store)
        .tool(tool("add", EffectClass::Idempotent, add))
        .open()
        .await
        .unwrap();
    assert_eq!(resumed(&next, "cut").await, "Two, after all.");
    assert_eq!(server.samples()[1].asked().results[0].1, "2");
}

/// Resumes a session once the first runtime has let go of its store.
async fn resumed(windlass: &Windlass, session: &str) -> String {
    for _ in 0..200 {
        match windlass.resume(session).await {
            Ok(answer) => return answer.output,
            Err(Error::Start(_)) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the session stays locked")
}

#[tokio::test]
async fn names_and_urls_that_cannot_be_used_say_what_to_do() {
    let error = async |builder: Builder| builder.open().await.err().unwrap().to_string();
    let words = error(windlass::builder("nobody/model")).await;
    assert!(words.contains("PROVIDER/MODEL") && words.contains("anthropic"), "{words}");
    let words = error(windlass::builder("openrouter/x")).await;
    assert!(words.contains("OPENROUTER_API_KEY"), "{words}");
    let known = windlass::builder("openai/gpt-5").api_key("key");
    let words = error(known.store("ftp://somewhere")).await;
    assert!(words.contains("file:PATH"), "{words}");
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Silent {}
    let silent = tool("silent", EffectClass::ReadOnly, async |_, _: Silent| Ok("done"));
    let words = error(windlass::builder("openai/gpt-5").api_key("key").tool(silent)).await;
    assert!(words.contains("silent") && words.contains("doc comment"), "{words}");
}

#[tokio::test]
#[cfg(not(feature = "sled"))]
async fn a_store_whose_feature_is_off_is_refused_with_the_feature() {
    let known = windlass::builder("openai/gpt-5").api_key("key");
    let words = known.store("sled:state").open().await.err().unwrap().to_string();
    assert!(words.contains("feature `sled`"), "{words}");
}
