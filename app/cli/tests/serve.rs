//! `windlass serve`: how it is started, what it refuses to start with, and how it stops.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::Place;
use common::server::{Server, sha256};

fn get(server: &Server, path: &str, more: &str) -> (u16, String) {
    let at = server.at();
    server.ask(&format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{more}\r\n"))
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[test]
fn it_prints_one_line_with_the_address_and_a_token_that_is_good() {
    let place = Place::new();
    let server = Server::start(&place, &["--store", "memory:"]);
    assert!(server.link.starts_with("http://127.0.0.1:"), "{}", server.link);
    assert_eq!(get(&server, "/v1/health", "").0, 200);
    assert_eq!(get(&server, "/v1/openapi.json", "").0, 401);
    assert_eq!(get(&server, "/v1/openapi.json", &bearer("wrong")).0, 401);
    let (status, body) = get(&server, "/v1/openapi.json", &bearer(server.token()));
    assert_eq!(status, 200);
    assert!(body.contains("\"openapi\":\"3.1"), "{body}");
    let token = server.token().to_owned();
    let done = server.stop("TERM");
    assert_eq!((done.code, done.out.as_str()), (0, ""));
    assert_eq!(done.err, "", "nothing but the link was said");
    let other = Server::start(&place, &["--store", "memory:"]);
    assert_ne!(other.token(), token, "a token is made anew");
    assert_eq!(other.stop("INT").code, 0);
}

#[test]
fn a_token_file_keeps_the_token_for_its_owner_alone() {
    let place = Place::new();
    let words = ["--store", "memory:", "--token-file", "token"];
    let server = Server::start(&place, &words);
    let token = server.token().to_owned();
    server.stop("TERM");
    let path = place.file("token");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = Server::start(&place, &words);
    assert_eq!(again.token(), token);
    again.stop("TERM");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = place.run(&["serve", "--listen", "127.0.0.1:0", "--token-file", "token"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("others can read it"), "{}", refused.err);
    assert!(!refused.err.contains(&token));
}

#[test]
fn a_new_token_is_printed_with_its_hash_and_nothing_is_served() {
    let place = Place::new();
    let done = place.run(&["serve", "--new-token"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let mut lines = done.out.lines();
    let token = lines.next().unwrap().strip_prefix("token  ").unwrap();
    let hash = lines.next().unwrap().strip_prefix("sha256 ").unwrap();
    assert_eq!(sha256(token), hash);
    assert_eq!(token.len(), "windlass_".len() + 64);
    assert!(!place.state().exists());
}

#[test]
fn it_is_not_to_be_reached_from_elsewhere_without_tokens() {
    let place = Place::new();
    let refused = |words: &[&str], why: &str| {
        let done = place.run(&[&["serve"], words].concat());
        assert_eq!(done.code, 2, "{words:?}: {}", done.err);
        assert!(done.err.contains(why), "{words:?}: {}", done.err);
        assert!(!place.state().exists(), "{words:?}");
    };
    for at in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        refused(&["--listen", at], "tokens must be configured");
    }
    let token = format!(
        "[[token]]\nsha256 = \"{}\"\ntenant = \"local\"\nprincipal = \"ann\"\nrights = [\"read\"]\n",
        sha256("token")
    );
    let write = |text: &str| std::fs::write(place.file("server.toml"), text).unwrap();
    write(&token);
    let config = ["--config", "server.toml"];
    refused(&[&config[..], &["--listen", "0.0.0.0:0"]].concat(), "hosts");
    refused(&[&config[..], &["--token-file", "t"]].concat(), "leave --token-file out");
    for words in [["--live", "nats://127.0.0.1:1/place"], ["--most-sessions", "9"]] {
        refused(&words, "needs a store for several nodes");
    }
    write(&token.replace("local", "acme"));
    refused(&config, "does not run here");
    write("[[tenant]]\nname = \"a\"\nworkspace = \"nowhere\"\n");
    refused(&config, "the tenant a: cannot open the workspace");
    write("[[tenant]]\nname = \"a\"\nworkspace = \".\"\n");
    refused(&[&config[..], &["--permissions", "auto"]].concat(), "not by flags");
    write("listens = 1\n");
    refused(&config, "server.toml: line 1: unknown field `listens`");
    refused(&["--config", "nowhere.toml"], "cannot be read");
    refused(&["--json"], "leave --json out");
}

#[test]
fn a_configuration_of_the_workspace_is_not_read() {
    let place = Place::new();
    std::fs::create_dir(place.file("windlass")).unwrap();
    for path in ["server.toml", "windlass/server.toml"] {
        std::fs::write(place.file(path), "listens = 1\n").unwrap();
    }
    let server = Server::start(&place, &["--store", "memory:"]);
    assert_eq!(server.stop("TERM").code, 0);
}

#[test]
fn the_files_of_a_project_are_told_unless_they_are_not_to_be() {
    for (flags, told) in [(&[][..], 1), (&["--no-agents"], 0)] {
        let place = Place::new();
        std::fs::create_dir(place.file(".git")).unwrap();
        std::fs::write(place.file("AGENTS.md"), "of the project").unwrap();
        assert_eq!(place.run(&["trust"]).code, 0);
        let server = Server::start(&place, flags);
        let session = server.session();
        let turns = format!("/v1/sessions/{session}/turns");
        let key = "Idempotency-Key: k\r\nContent-Type: application/json\r\n";
        let send = |text: &str| {
            let body = serde_json::json!({"text": text}).to_string();
            let length = format!("{}Content-Length: {}\r\n", bearer(server.token()), body.len());
            let at = server.at();
            server.ask(&format!(
                "POST {turns} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{length}{key}\r\n{body}"
            ))
        };
        assert_eq!(send("hello").0, 202);
        // What the files say by then does not make it another request.
        std::fs::write(place.file("AGENTS.md"), "changed").unwrap();
        assert_eq!(send("hello").0, 202);
        assert_eq!(send("other").0, 422);
        server.stop("TERM");
        let log = place.log(&session);
        let queued: Vec<_> = log.iter().filter(|fact| fact["kind"] == "InputQueued").collect();
        assert_eq!(queued.len(), 1);
        let context = queued[0]["body"]["context"].as_array();
        let of = |part: &&serde_json::Value| {
            part["text"].as_str().unwrap().ends_with("]\n\nof the project")
        };
        assert_eq!(context.into_iter().flatten().filter(of).count(), told);
    }
}

#[test]
fn a_limit_of_money_allows_no_model_without_a_price() {
    let place = Place::new();
    let words = ["--provider", "openai", "--model", "gpt-5.5", "--max-cost", "1"];
    let mut command = place.command(&[&["serve", "--listen", "127.0.0.1:0"], &words[..]].concat());
    let server = Server::of(command.env("OPENAI_API_KEY", "sk-0123456789"));
    let open = |model: &str| {
        let body = serde_json::json!({ "model": model });
        server.post(server.token(), "/v1/sessions", &body)
    };
    assert_eq!(open("gpt-5.4").0, 201);
    let (status, refused) = open("gpt-of-tomorrow");
    assert_eq!(status, 422, "{refused}");
    assert!(refused.to_string().contains("no prices are known"), "{refused}");
    server.stop("TERM");
}

#[test]
fn a_person_names_any_model_and_widens_nothing() {
    let place = Place::new();
    let server = Server::start(&place, &["--store", "memory:", "--permissions", "ask"]);
    let path = format!("/v1/sessions/{}", server.session());
    let patch = |change: &serde_json::Value| {
        let (at, body) = (server.at(), change.to_string());
        let more = format!("{}Content-Length: {}\r\n", bearer(server.token()), body.len());
        let (status, text) = server.ask(&format!(
            "PATCH {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{more}\
             Content-Type: application/json\r\n\r\n{body}"
        ));
        (status, serde_json::from_str::<serde_json::Value>(&text).unwrap())
    };
    let (status, changed) = patch(&serde_json::json!({"model": "another", "mode": "plan"}));
    assert_eq!(status, 200, "{changed}");
    assert_eq!((&changed["model"], &changed["mode"]), (&"another".into(), &"plan".into()));
    let (status, changed) = patch(&serde_json::json!({"mode": "build"}));
    assert_eq!((status, &changed["mode"]), (200, &"build".into()));
    for change in [
        serde_json::json!({"permissions": "auto"}),
        serde_json::json!({"model": ""}),
        serde_json::json!({"effort": " "}),
    ] {
        let (status, refused) = patch(&change);
        assert_eq!((status, &refused["code"]), (422, &"refused".into()), "{change}");
    }
    server.stop("TERM");
}
