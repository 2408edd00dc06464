//! Schemathesis tries the server against its own description: no 5xx, no answer that is not described,
//! nothing taken that is described as wrong, nothing refused that is described as right.

use std::env;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use windlass_engine::core::EffectClass;
use windlass_server::windlass_engine;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::approvals::open;
use crate::client::TOKEN;
use crate::world::World;

/// The variable that names the program.
const SCHEMATHESIS: &str = "WINDLASS_TEST_SCHEMATHESIS";

/// Streams do not end by themselves, and schemathesis reads answers to their end.
const STREAMS: &str = "/(events|ws|agui)$";

/// What reads and cannot be is answered 422, which no schema can foretell: a model that is not offered,
/// an image that is none. Nor can it foretell where a log ends, behind which a cursor is none.
fn config(asking: &str, call: u64) -> String {
    format!(
        r#"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 404, 409, 422]

[[operations]]
include-operation-id = "get_sessions_id"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404]

[[operations]]
include-operation-id = "get_sessions_id_history"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404]

[[operations]]
include-operation-id = "get_sessions_id_turns"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404]

[[operations]]
include-path = "/v1/sessions/{{id}}/approvals/{{call}}"
parameters = {{ "path.id" = "{asking}", "path.call" = {call} }}

[[operations]]
include-path-regex = "/(interrupt|continue)$"
parameters = {{ "path.id" = "{asking}" }}
"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_answers_is_what_is_described() {
    let Ok(program) = env::var(SCHEMATHESIS) else {
        eprintln!(
            "skipped: schemathesis is not here. `cargo xtask verify` brings it, or name its \
             program with {SCHEMATHESIS}"
        );
        return;
    };
    let tool = ScriptedTool::new("look", EffectClass::Effectful).says("a file");
    let mut world = World::new([], [tool]);
    world.provider = ScriptedProvider::responding(|request| {
        let asks = format!("{:?}", request.prompt);
        match asks.contains("ask me") && !asks.contains("a file") {
            true => call("look", json!({})),
            false => say("a word"),
        }
    });
    let server = world.serve().await;
    let told = server.open(&json!({})).await;
    server.turn(&told, "hello").await;
    let asking = server.open(&json!({"permissions": "ask"})).await;
    let words = json!({"text": "ask me"});
    let sent = server.post(&format!("/sessions/{asking}/turns"), &words);
    assert_eq!(sent.send().await.status, 202);
    let question = &open(&server, &asking).await[0];

    let folder = tempfile::tempdir().unwrap();
    let config = config(&asking, question["call"].as_u64().unwrap());
    std::fs::write(folder.path().join("schemathesis.toml"), config).unwrap();
    let mut command = command(&program, folder.path(), server.address);
    let run = tokio::task::spawn_blocking(move || command.output());
    let output = run.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    for phase in ["Coverage", "Fuzzing", "Stateful"] {
        assert!(said.contains(phase), "{said}");
    }
}

/// One worker: CPython 3.11 counts the depth of syntax trees once for all threads of an interpreter, and
/// where two of them parse, Schemathesis ends with "AST constructor recursion depth mismatch" while it
/// makes up requests (<https://github.com/python/cpython/issues/106905>).
fn command(program: &str, folder: &Path, address: SocketAddr) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "480"])
        .arg(program)
        .arg("--config-file")
        .arg(folder.join("schemathesis.toml"))
        .arg("run")
        .arg(format!("http://{address}/v1/openapi.json"))
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--checks", "all", "--exclude-path-regex", STREAMS])
        .args(["--max-examples", "12", "--seed", "8620", "--workers", "1"])
        .args(["--generation-database", "none", "--request-timeout", "60"])
        .args(["--continue-on-failure", "--no-color"])
        .current_dir(folder)
        .env("HOME", folder)
        .stdin(Stdio::null());
    command
}
