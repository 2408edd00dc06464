//! `windlass attach`: a session of a server in a terminal, whatever becomes of the server meanwhile.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::server::Server;
use common::terminal::TerminalProcess;
use common::{Place, count, lines};

const KEYS: &str = "or say why not: ";

fn attach<'a>(session: &'a str, server: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["attach", session, "--server", server, "--token-file", "token"];
    [&words[..], more].concat()
}

#[test]
fn a_turn_is_shown_as_if_it_ran_here_and_its_envelopes_are_those_of_the_export() {
    let place = Place::new();
    let server = Server::start(&place, &["--token-file", "token"]);
    let session = server.session();
    server.send(&session, "write a.txt: one");
    let url = format!("http://{}/", server.at());
    let shown = place.run(&attach(&session, &url, &["--after", "0", "--once"]));
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.err.contains("$ write a.txt: one"), "{}", shown.err);
    assert!(shown.err.contains("> write_file"), "{}", shown.err);
    assert!(!shown.out.is_empty(), "the answer is on standard output");
    // The beginning of an id, and the last session, are names of it.
    for name in [&session[..session.len() - 1], "last"] {
        let named = place.run(&attach(name, &url, &["--after", "0", "--once"]));
        assert_eq!((named.code, named.out), (0, shown.out.clone()), "{name}: {}", named.err);
    }
    let printed = place.run(&attach(&session, &url, &["--after", "0", "--once", "--json"]));
    assert_eq!(printed.code, 0, "{}", printed.err);
    server.stop("TERM");
    let log = place.run(&["log", &session]).out;
    let facts: String = printed
        .out
        .lines()
        .filter(|line| !line.contains("\"seq\":null"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(log.starts_with(&facts), "{facts}\n{log}");
    assert_eq!(lines(&facts).last().unwrap()["kind"], "TurnSettled");
}

#[test]
fn a_question_is_answered_here_and_outlives_the_server_that_asked_it() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let words = ["--token-file", "token", "--permissions", "ask", "--tools", &tools];
    // At an address of its own, so that nobody takes the port while no server is there.
    let [_, a, b, c] = std::process::id().to_be_bytes();
    let own = format!("127.{}.{b}.{c}:0", a | 128);
    let mut server = Server::start_at(&own, &place, &words);
    let (at, session) = (server.at().to_string(), server.session());
    server.send(&session, r#"repeat 1: count {"n":1}"#);
    let url = format!("http://{at}");
    let mut terminal = TerminalProcess::run(&place, &attach(&session, &url, &["--once"]));
    let question = terminal.until(KEYS);
    assert!(question.contains("call count"), "{question}");
    common::signal(server.child(), "KILL");
    server.ended();
    assert_eq!(place.counted().len(), 0);

    let again = Server::start_at(&at, &place, &words);
    let question = terminal.until(KEYS);
    assert!(question.contains("asked again"), "{question}");
    terminal.line("y");
    let done = terminal.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 1);
    again.stop("TERM");
    let log = place.log(&session);
    let kinds = ["ApprovalAsked", "ApprovalAnswered", "CallStarted"];
    assert_eq!(kinds.map(|kind| count(&log, kind)), [2, 1, 1]);
}

#[test]
fn a_question_about_a_file_shows_what_would_change_in_it() {
    let place = Place::new();
    std::fs::write(place.file("notes.txt"), "one\ntwo\nthree\n").unwrap();
    let server = Server::start(&place, &["--token-file", "token", "--permissions", "ask"]);
    let (session, url) = (server.session(), format!("http://{}", server.at()));
    server.send(&session, "write notes.txt: one\nTWO\nthree\n");
    let mut terminal = TerminalProcess::run(&place, &attach(&session, &url, &["--once"]));
    let question = terminal.until(KEYS);
    assert!(question.contains("The file changes:"), "{question}");
    assert!(question.contains("-two") && question.contains("+TWO"), "{question}");
    terminal.line("n");
    assert_eq!(terminal.end().code, 0);
    server.stop("TERM");
    assert_eq!(std::fs::read_to_string(place.file("notes.txt")).unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn what_cannot_be_attached_to_is_said_at_once() {
    let place = Place::new();
    let server = Server::start(&place, &["--token-file", "token"]);
    let session = server.session();
    let url = format!("http://{}", server.at());
    std::fs::write(place.file("wrong"), "wrong").unwrap();
    std::fs::write(place.file("none"), "").unwrap();
    let refused = |session: &str, url: &str, token: &str| {
        let words = ["attach", session, "--server", url, "--token-file", token];
        let done = place.run(&words);
        assert_eq!(done.out, "");
        (done.code, done.err)
    };
    let (code, words) = refused(&session, &url, "wrong");
    assert_eq!(code, 4, "{words}");
    let (code, words) = refused("nowhere", &url, "token");
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("there is no session \"nowhere\""), "{words}");
    let (code, words) = refused(&session, "http://192.0.2.1", "token");
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("use https"), "{words}");
    assert_eq!(refused(&session, &url, "none").0, 4);
    assert_eq!(refused(&session, &url, "missing").0, 2);
    let done = place.run(&["attach", &session, "--server", &url]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("WINDLASS_TOKEN"), "{}", done.err);
}
