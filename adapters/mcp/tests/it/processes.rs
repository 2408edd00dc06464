//! Processes of servers: what they get, and their end.

use serde_json::json;
use windlass_mcp::McpTransport;

use super::bench::{Bench, call, eventually, processes, said};

#[tokio::test]
async fn a_process_ends_with_its_owner() {
    for mode in ["plain", "stays"] {
        let bench = Bench::new(mode);
        let tools = bench.start().await;
        assert_eq!(processes(&bench.folder()).len(), 1);
        drop(tools);
        eventually("its end", || processes(&bench.folder()).is_empty()).await;
    }
}

#[tokio::test]
async fn a_process_gets_the_usual_variables_and_its_own() {
    let mut bench = Bench::new("plain");
    let McpTransport::Stdio { env, .. } = &mut bench.server.transport else {
        panic!("it has a command")
    };
    env.insert("OWN_KEY".into(), "1".into());
    let tools = bench.start().await;
    let names = said(&tools, "environment").await;
    let names: Vec<&str> = names.split(' ').collect();
    assert!(names.contains(&"PATH") && names.contains(&"OWN_KEY"), "{names:?}");
    // Cargo sets it for the test, and no server needs it.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
}

#[tokio::test]
async fn what_a_killed_owner_left_is_ended_by_the_next_one() {
    let bench = Bench::new("stays");
    // An owner that is killed, and a server that stays at the end of its input.
    let folder = bench.folder();
    let script = format!(
        "WINDLASS_PROCESS='{}' WINDLASS_RUN=\"$$-1-1\" {} stays {} < /dev/null > /dev/null & wait",
        label(&bench).await,
        super::bench::program("scripted_server").display(),
        folder.display(),
    );
    let mut owner = std::process::Command::new("sh");
    let mut owner = owner.args(["-c", &script]).spawn().unwrap();
    eventually("the server", || processes(&folder).len() == 1).await;
    owner.kill().unwrap();
    owner.wait().unwrap();
    let left = processes(&folder);
    assert_eq!(left.len(), 1);
    let tools = bench.start().await;
    eventually("the end of the old one", || {
        let now = processes(&folder);
        now.len() == 1 && now != left
    })
    .await;
    assert!(call(&tools, "echo", json!({"text": "a"})).await.is_ok());
}

/// Returns the label that the server's process gets.
async fn label(bench: &Bench) -> String {
    let tools = bench.start().await;
    let id = processes(&bench.folder())[0];
    let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    drop(tools);
    eventually("its end", || processes(&bench.folder()).is_empty()).await;
    let mut variables = environment.split('\0');
    variables.find_map(|one| one.strip_prefix("WINDLASS_PROCESS=")).unwrap().to_owned()
}
