//! `windlass serve` while it runs: the configuration is read again, and stopping leaves every turn so
//! that the next process goes on with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::process::Command;

use common::server::{Server, sha256};
use common::{Place, count, signal};
use serde_json::{Value, json};

fn configuration(token: &str, more: &str) -> String {
    format!(
        "{more}\n[bounds]\nheartbeat_ms = 50\n\n[[token]]\nsha256 = \"{}\"\ntenant = \"local\"\n\
         principal = \"ann\"\nrights = [\"read\", \"run\"]\n",
        sha256(token)
    )
}

#[test]
fn tokens_change_by_a_signal_and_a_broken_file_changes_nothing() {
    let place = Place::new();
    let path = place.file("server.toml");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    write(&configuration("first", ""));
    let mut server = Server::start(&place, &["--store", "memory:", "--config", "server.toml"]);
    assert!(!server.link.contains('#'), "{}", server.link);
    let sessions = |server: &Server, token: &str| server.get(token, "/v1/sessions", "").0;
    let (status, opened) = server.post("first", "/v1/sessions", &json!({}));
    assert_eq!(status, 201, "{opened}");
    let id = opened["id"].as_str().unwrap().to_owned();
    let mut stream = server.connect();
    let request = format!(
        "GET /v1/sessions/{id}/events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
         Authorization: Bearer first\r\n\r\n",
        server.at()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");

    write("tokens = broken");
    signal(server.child(), "HUP");
    let said = server.said();
    assert!(said.contains("line 1") && said.contains("nothing was changed"), "{said}");
    assert_eq!(sessions(&server, "first"), 200);

    write("hosts = []\n");
    signal(server.child(), "HUP");
    let said = server.said();
    assert!(said.contains("has no tokens"), "{said}");
    assert_eq!(sessions(&server, "first"), 200);

    write(&configuration("second", ""));
    signal(server.child(), "HUP");
    assert_eq!(server.said(), "the configuration was read again: 1 token");
    assert_eq!(sessions(&server, "first"), 401);
    assert_eq!(sessions(&server, "second"), 200);
    // The stream of the token that is gone ends, and says why.
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("unauthorized"), "{rest}");

    write(&configuration("second", "hosts = [\"other.example\"]"));
    signal(server.child(), "HUP");
    let said = server.said();
    assert!(said.contains("needs a restart"), "{said}");
    let done = server.stop("TERM");
    assert_eq!(done.code, 0, "{}", done.err);
    for token in ["first", "second"] {
        assert!(!done.err.contains(&format!("Bearer {token}")), "{}", done.err);
    }
}

/// A tool that counts; the first of its calls tells that it has begun, and waits for a word.
fn waiting_counter(place: &Place) -> String {
    for pipe in ["begun", "go"] {
        let made = Command::new("mkfifo").arg(place.file(pipe)).status();
        assert!(made.unwrap().success());
    }
    let script = "if mkdir first 2>/dev/null; then echo begun > begun; cat go > /dev/null; fi; \
                  echo $WINDLASS_IDEMPOTENCY_KEY >> counter && wc -l < counter";
    let tools = json!({"tools": [{
        "name": "count",
        "description": "Counts.",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}},
            "required": ["n"], "additionalProperties": false},
        "command": ["sh", "-c", script],
        "effect": "effectful",
        "concurrency": "exclusive",
    }]});
    let path = place.file("tools.json");
    std::fs::write(&path, tools.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Opens a session, sends it a task of five calls, and waits until the first of them runs.
fn begun(place: &Place, server: &Server) -> (String, Value) {
    let (status, opened) = server.post(server.token(), "/v1/sessions", &json!({}));
    assert_eq!(status, 201, "{opened}");
    let id = opened["id"].as_str().unwrap().to_owned();
    let words = json!({"text": r#"repeat 5: count {"n":1}"#});
    let path = format!("/v1/sessions/{id}/turns");
    let (status, taken) = server.post(server.token(), &path, &words);
    assert_eq!(status, 202, "{taken}");
    assert_eq!(std::fs::read_to_string(place.file("begun")).unwrap(), "begun\n");
    (id, taken["turn"].clone())
}

/// Waits for the end of a turn.
fn ended(server: &Server, id: &str, turn: &Value) -> Value {
    let path = format!("/v1/sessions/{id}/turns/{turn}");
    let (status, turn) = server.get(server.token(), &path, "Prefer: wait=60\r\n");
    assert_eq!(status, 200, "{turn}");
    turn
}

#[test]
fn a_turn_whose_server_is_stopped_goes_on_in_the_next_one_and_counts_each_call_once() {
    let place = Place::new();
    let tools = waiting_counter(&place);
    let words = ["--tools", tools.as_str(), "--token-file", "token"];
    let mut server =
        Server::start_logging("warn,windlass_engine::driver::command=debug", &place, &words);
    let (id, turn) = begun(&place, &server);
    signal(server.child(), "TERM");
    // Once the session is being let go, what runs may end: its outcome is durable before the process
    // goes.
    server.said_at_last("the session is being let go");
    std::fs::write(place.file("go"), "go\n").unwrap();
    let done = server.ended();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 1, "nothing further was begun");
    let log = place.log(&id);
    assert_eq!(count(&log, "CallObserved"), 1);
    assert_eq!(count(&log, "TurnSettled"), 0);
    assert_eq!(count(&log, "InterruptRequested"), 0, "nobody asked the turn to stop");

    let server = Server::start(&place, &words);
    let told = ended(&server, &id, &turn);
    assert_eq!(told["state"], "settled", "{told}");
    assert_eq!(told["outcome"]["outcome"], "completed", "{told}");
    let counted: BTreeSet<String> = place.counted().into_iter().collect();
    assert_eq!((place.counted().len(), counted.len()), (5, 5));
    assert_eq!(server.stop("TERM").code, 0);
    assert_eq!(place.run(&["verify"]).code, 0);
}

#[test]
fn a_second_signal_ends_the_process_at_once_and_the_turn_goes_on_later() {
    let place = Place::new();
    let tools = waiting_counter(&place);
    let words = ["--tools", tools.as_str(), "--token-file", "token"];
    let mut server = Server::start(&place, &words);
    let (id, turn) = begun(&place, &server);
    signal(server.child(), "TERM");
    signal(server.child(), "INT");
    let code = server.ended().code;
    assert!([130, 143].contains(&code), "{code}");
    assert_eq!(count(&place.log(&id), "TurnSettled"), 0);

    let server = Server::start(&place, &words);
    let told = ended(&server, &id, &turn);
    assert_eq!(told["state"], "settled", "{told}");
    // The call that was killed is not run again: the model is told that nobody knows.
    let counted: BTreeSet<String> = place.counted().into_iter().collect();
    assert_eq!(counted.len(), place.counted().len());
    let log = place.log(&id);
    let unknown = log.iter().filter(|fact| fact["kind"] == "CallObserved");
    let unknown = unknown.filter(|fact| fact["body"]["observation"]["status"] == "unknown");
    assert_eq!(unknown.count(), 1);
    assert_eq!(server.stop("TERM").code, 0);
}
