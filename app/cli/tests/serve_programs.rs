//! `windlass serve`: sessions whose model writes programs, as far as their tenant offers it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::server::{Server, sha256};
use common::{Place, count};
use serde_json::{Value, json};

/// A tenant that says this of programs.
fn configuration(programs: &str) -> String {
    format!(
        "[[tenant]]\nname = \"acme\"\nworkspace = \".\"\n{programs}\n\n[[token]]\nsha256 = \"{}\"\n\
         tenant = \"acme\"\nprincipal = \"ann\"\nrights = [\"read\", \"run\"]\n",
        sha256("ann")
    )
}

fn serve(place: &Place, programs: &str) -> Server {
    std::fs::write(place.file("server.toml"), configuration(programs)).unwrap();
    Server::start(place, &["--config", "server.toml"])
}

fn open(server: &Server, wish: &Value) -> (u16, Value) {
    server.post("ann", "/v1/sessions", wish)
}

/// Has a session do a task, and answers its snapshots.
fn cycles(server: &Server, id: &str) -> Vec<Value> {
    let path = format!("/v1/sessions/{id}/turns");
    let input = json!({"text": "What is in this folder?"});
    let (status, sent) = server.post("ann", &path, &input);
    assert_eq!(status, 202, "{sent}");
    let turn = &sent["turn"];
    let (_, ended) = server.get("ann", &format!("{path}/{turn}"), "Prefer: wait=60\r\n");
    assert_eq!(ended["outcome"]["outcome"], "completed", "{ended}");
    let (status, told) = server.get("ann", &format!("{path}/{turn}/snapshots"), "");
    assert_eq!(status, 200, "{told}");
    told["snapshots"].as_array().unwrap().clone()
}

#[test]
fn a_session_wishes_for_a_runtime_that_its_tenant_offers_and_keeps_it() {
    let place = Place::new();
    std::fs::write(place.file("README.md"), "# A winch\n").unwrap();
    let server = serve(&place, "programs = [\"ptclisp\"]");
    let (status, opened) = open(&server, &json!({"program": "ptclisp"}));
    assert_eq!((status, &opened["program"]), (201, &json!("ptclisp")), "{opened}");
    let id = opened["id"].as_str().unwrap();
    let told = cycles(&server, id);
    let [cycle] = &told[..] else {
        panic!("one sample: {told:?}");
    };
    assert_eq!(cycle["result"]["end"], "return", "{cycle}");
    let calls = cycle["tool_calls"].as_array().unwrap();
    assert!(calls.len() > 1, "{cycle}");
    assert!(calls.iter().all(|call| call["program"] == cycle["program_call"]));
    // The model is told of the language, as by the command.
    let log = place.log(id);
    let settings = &log[0]["body"]["settings"];
    let instructions = settings["instructions"].as_str().unwrap();
    assert!(instructions.contains("PTC-Lisp"), "{instructions}");

    // Without a wish the tools are called one by one.
    let (_, plain) = open(&server, &json!({}));
    assert_eq!(plain["program"], Value::Null);
    assert!(cycles(&server, plain["id"].as_str().unwrap()).len() > 1);
    for (wish, why) in [
        (json!({"program": "javascript"}), "there are: ptclisp"),
        (json!({"program_transport": "text"}), "name its runtime in program"),
    ] {
        let (status, refused) = open(&server, &wish);
        assert_eq!((status, &refused["code"]), (422, &json!("refused")), "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains(why), "{refused}");
    }
    server.stop("TERM");

    // A fork has it too, and the session goes on with it where it is not offered any more.
    let server = serve(&place, "");
    let (status, refused) = open(&server, &json!({"program": "ptclisp"}));
    assert_eq!(status, 422, "{refused}");
    let words = refused["detail"].as_str().unwrap();
    assert!(words.contains("no model writes programs here"), "{words}");
    let point = json!({"at": place.log(id).len()});
    let (status, fork) = server.post("ann", &format!("/v1/sessions/{id}/forks"), &point);
    assert_eq!((status, &fork["program"]), (201, &json!("ptclisp")), "{fork}");
    for id in [id, fork["id"].as_str().unwrap()] {
        assert_eq!(cycles(&server, id).len(), 1);
        assert_eq!(count(&place.log(id), "SettingsChanged"), 0);
    }
}

#[test]
fn what_is_configured_is_usual_and_a_wish_takes_its_place() {
    let place = Place::new();
    let usual = "program = \"javascript\"\nprogram_transport = \"text\"\nprograms = [\"ptclisp\"]";
    let server = serve(&place, usual);
    for (wish, runtime, transport) in [
        (json!({}), "javascript", "text"),
        (json!({"program": "ptclisp"}), "ptclisp", "text"),
        (json!({"program": "ptclisp", "program_transport": "call"}), "ptclisp", "call"),
        (json!({"program_transport": "call"}), "javascript", "call"),
    ] {
        let (status, opened) = open(&server, &wish);
        assert_eq!(status, 201, "{opened}");
        let log = place.log(opened["id"].as_str().unwrap());
        let program = &log[0]["body"]["settings"]["options"]["program"];
        let way = program["transport"].as_str().unwrap_or("call");
        assert_eq!((&program["runtime"], way), (&json!(runtime), transport), "{wish}");
    }
    let done = server.stop("TERM");
    assert_eq!(done.code, 0, "{}", done.err);
    std::fs::write(place.file("server.toml"), configuration("programs = [\"cobol\"]")).unwrap();
    let refused = place.run(&["serve", "--listen", "127.0.0.1:0", "--config", "server.toml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("\"cobol\" is not a runtime"), "{}", refused.err);
}

#[test]
fn the_limits_of_programs_that_are_configured_hold_for_every_session() {
    let place = Place::new();
    let limits = "program_limits = { steps = 5000, memory = \"1MiB\", time = \"2s\", depth = 50, \
                  rounds = 70, source = \"4KiB\" }";
    let server = serve(&place, &format!("programs = [\"ptclisp\"]\n{limits}"));
    let (status, opened) = open(&server, &json!({"program": "ptclisp"}));
    assert_eq!(status, 201, "{opened}");
    let log = place.log(opened["id"].as_str().unwrap());
    let settings = &log[0]["body"]["settings"];
    let limits = &settings["options"]["program"]["limits"];
    let said = ["steps", "memory_bytes", "compute_ms"].map(|name| limits[name].as_u64().unwrap());
    assert_eq!(said, [5_000, 1 << 20, 2_000], "{limits}");
    let said = ["depth", "loop_rounds", "source_bytes"].map(|name| limits[name].as_u64().unwrap());
    assert_eq!(said, [50, 70, 4 << 10], "{limits}");
    assert!(settings["instructions"].as_str().unwrap().contains("PTC-Lisp"));
    drop(server);
    let wrong = configuration("program_limits = { memory = \"much\" }");
    std::fs::write(place.file("server.toml"), wrong).unwrap();
    let refused = place.run(&["serve", "--listen", "127.0.0.1:0", "--config", "server.toml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("memory: \"much\" is not a size"), "{}", refused.err);
}

#[test]
fn without_a_file_every_runtime_is_offered() {
    let place = Place::new();
    let server = Server::start(&place, &["--store", "memory:"]);
    for runtime in ["ptclisp", "javascript"] {
        let wish = json!({ "program": runtime });
        let (status, opened) = server.post(server.token(), "/v1/sessions", &wish);
        assert_eq!((status, &opened["program"]), (201, &json!(runtime)), "{opened}");
    }
}
