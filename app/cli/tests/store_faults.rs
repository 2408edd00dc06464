//! A store that fails for a moment under `windlass serve`: every acknowledged turn settles without a
//! restart, and those who watch are told. `strace` fails the system calls, where it is installed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "what was skipped is to be read")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use common::Place;
use common::server::Server;
use serde_json::Value;
use windlass_testkit::postgres::PostgresServer;

/// Longest time of what must happen.
const SOON: Duration = Duration::from_secs(60);
/// Turns of one test, each in a session of its own.
const TURNS: usize = 4;

/// Starts a server whose system calls fail as `inject` says. `None` where nothing can be traced.
fn failing(place: &Place, inject: &str, words: &[&str]) -> Option<Server> {
    let traces = Command::new("strace").args(["-f", "-qq", "true"]).output();
    if !traces.is_ok_and(|output| output.status.success()) {
        eprintln!("{inject}: SKIPPED, strace is not installed or may not trace");
        return None;
    }
    let calls = inject.split(':').next().unwrap();
    let serve = [&["serve", "--listen", "127.0.0.1:0"], words].concat();
    let plain = place.command(&serve);
    let mut command = Command::new("strace");
    // As a grandchild, so that the server itself is the child of the test.
    command.args(["-D", "-f", "-qq", "-o", "trace", "-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={inject}"), env!("CARGO_BIN_EXE_windlass")]);
    command.args(plain.get_args()).current_dir(place.path()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    Some(Server::of(&mut command))
}

fn injected(place: &Place) -> usize {
    let trace = std::fs::read_to_string(place.file("trace")).unwrap();
    trace.matches("(INJECTED)").count()
}

/// Waits until all turns of a session have settled.
fn settled(server: &Server, session: &str) {
    let until = Instant::now() + SOON;
    let path = format!("/v1/sessions/{session}/turns");
    loop {
        let (status, turns) = server.get(server.token(), &path, "");
        let turns = turns["turns"].as_array().cloned().unwrap_or_default();
        if status == 200 && !turns.is_empty() && turns.iter().all(|turn| turn["state"] == "settled")
        {
            return;
        }
        assert!(Instant::now() < until, "{session} does not settle: {status} {turns:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Opens sessions, sends each a task, and waits until each is done.
fn all_settle(server: &Server) -> Vec<String> {
    let sessions: Vec<_> = (0..TURNS).map(|_| server.session()).collect();
    for session in &sessions {
        server.send(session, r#"repeat 3: count {"n":1}"#);
    }
    sessions.iter().for_each(|session| settled(server, session));
    sessions
}

#[test]
fn turns_of_the_default_store_settle_after_a_failed_sync() {
    for number in [20, 23, 26, 29] {
        let place = Place::new();
        let tools = place.counter("idempotent");
        let inject = format!("fdatasync:error=EIO:when={number}");
        let Some(server) = failing(&place, &inject, &["--tools", &tools]) else { return };
        let sessions = all_settle(&server);
        assert_eq!(injected(&place), 1, "nothing failed");
        let done = server.stop("TERM");
        for session in &sessions {
            assert_eq!(place.run(&["verify", session]).code, 0);
        }
        // Some syncs are of the witness of a segment, whose failure ends no session.
        if done.err.contains("the witness of a segment cannot be written") {
            continue;
        }
        assert!(done.err.contains("opened again after a failure of the store"), "{}", done.err);
        let named = |session: &String| done.err.contains(&format!("session={session} turn="));
        assert!(sessions.iter().any(named), "no session and turn is named: {}", done.err);
        return;
    }
    panic!("every failed sync was that of a witness");
}

#[test]
fn turns_on_sled_settle_after_a_failed_sync() {
    let place = Place::new();
    let tools = place.counter("idempotent");
    let words = ["--store", "sled:sled", "--tools", &tools];
    let Some(server) = failing(&place, "fdatasync:error=EIO:when=20", &words) else { return };
    all_settle(&server);
    assert_eq!(injected(&place), 1, "nothing failed");
    let done = server.stop("TERM");
    assert!(done.err.contains("was opened again after its failure"), "{}", done.err);
}

/// No process can open a store again whose folder is gone, so the server leaves that to whoever
/// starts it next.
#[test]
fn a_server_whose_store_is_gone_ends_with_the_code_of_stores() {
    let place = Place::new();
    let tools = place.counter("idempotent");
    let words = ["--store", "sled:sled", "--tools", &tools];
    let mut server = Server::start(&place, &words);
    let session = server.session();
    server.send(&session, "hello");
    settled(&server, &session);
    std::fs::remove_dir_all(place.file("sled")).unwrap();
    let request = format!(
        "POST /v1/sessions/{session}/turns HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{{\"text\":\"again\"}}",
        server.at(),
        server.token()
    );
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    // The process may end before it has answered.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503"), "{answer}");
    let done = server.ended();
    assert_eq!(done.code, 5, "{}", done.err);
    assert!(done.err.contains("is gone: end this process"), "{}", done.err);
    let server = Server::start(&place, &words);
    assert_eq!(server.get(server.token(), "/v1/ready", "").0, 200);
    server.stop("TERM");
}

/// The promise counts whatever the store does: here its server is gone in the middle of a turn.
#[test]
fn a_stop_with_postgresql_away_takes_no_longer_than_promised() {
    let Ok(mut postgres) = PostgresServer::start() else {
        eprintln!("a stop with PostgreSQL away: SKIPPED, {}", windlass_testkit::postgres::MISSING);
        return;
    };
    let place = Place::new();
    let tools = place.counter("idempotent");
    std::fs::write(place.file("server.toml"), "[bounds]\ndrain_ms = 4000\n").unwrap();
    let url = postgres.url();
    let words = ["--store", &url, "--tools", &tools, "--config", "server.toml"];
    let server = Server::start(&place, &words);
    let session = server.session();
    server.send(&session, r#"repeat 400: count {"n":1}"#);
    postgres.stop().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    let done = server.stop("TERM");
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(4_500), "it took {took:?}: {}", done.err);
    assert_eq!(done.code, 0, "{}", done.err);
    postgres.start_again().unwrap();
    let server = Server::start(&place, &words);
    let (status, turns) = server.get(server.token(), &format!("/v1/sessions/{session}/turns"), "");
    assert_eq!((status, turns["turns"].as_array().unwrap().len()), (200, 1), "{turns}");
    server.stop("TERM");
}

#[test]
fn watchers_and_probes_tell_of_a_disk_that_is_full_for_a_while() {
    let place = Place::new();
    let tools = place.counter("idempotent");
    let words = ["--tools", &tools];
    let Some(server) = failing(&place, "pwrite64:error=ENOSPC:when=30..36", &words) else { return };
    let session = server.session();
    let mut watch = server.connect();
    let request = format!(
        "GET /v1/sessions/{session}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.at(),
        server.token()
    );
    watch.write_all(request.as_bytes()).unwrap();
    for _ in 0..3 {
        server.send(&session, r#"repeat 5: count {"n":1}"#);
    }
    let mut lines = BufReader::new(watch).lines().map_while(Result::ok);
    let mut store = || -> Value {
        lines.find(|line| line == "event: store").expect("the store's state is told");
        let data = lines.next().unwrap();
        serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap()
    };
    assert_eq!(store(), serde_json::json!({"status": "failed", "reason": "full"}));
    let failed = server.get(server.token(), "/v1/health", "");
    assert_eq!((failed.0, &failed.1["status"]), (200, &Value::from("ok")), "it lives");
    assert_eq!(store(), serde_json::json!({"status": "works"}));
    settled(&server, &session);
    assert_eq!(server.get(server.token(), "/v1/ready", "").0, 200);
    assert_eq!(server.get(server.token(), "/v1/health", "").1["store"], "works");
    server.stop("TERM");
}
