//! The plan and the questions of a model: shown and asked at the terminal, answered once, and open
//! until then, whatever becomes of the process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::{Duration, Instant};

use common::server::Server;
use common::terminal::TerminalProcess;
use common::{Place, count};
use serde_json::json;

const ASK: &str =
    r#"repeat 1: ask_user {"question":"Tabs or spaces?","choices":["tabs","spaces"]}"#;
const ANSWER: &str = "your answer: ";

fn output(place: &Place, session: &str) -> (String, String) {
    let log = place.log(session);
    let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    let observation = &observed["body"]["observation"];
    let text = |name: &str| observation[name].as_str().unwrap().to_owned();
    (text("status"), text("output"))
}

#[test]
fn a_question_is_asked_at_the_terminal_and_a_number_is_a_choice() {
    let place = Place::new();
    let mut run = TerminalProcess::run(&place, &["run", ASK, "--session", "s"]);
    let asked = run.until(ANSWER);
    assert!(asked.contains("You are asked:"), "{asked}");
    assert!(asked.contains("  Tabs or spaces?") && asked.contains("[2] spaces"), "{asked}");
    run.line("");
    run.until(ANSWER);
    run.line("2");
    let done = run.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(output(&place, "s"), ("done".to_owned(), "spaces".to_owned()));
}

#[test]
fn a_question_that_a_killed_process_left_open_is_asked_again() {
    let place = Place::new();
    let mut first = TerminalProcess::run(&place, &["run", ASK, "--session", "s"]);
    first.until(ANSWER);
    first.signal("KILL");
    first.end();
    let mut second = TerminalProcess::run(&place, &["resume", "s"]);
    second.until(ANSWER);
    second.line("neither of them");
    let done = second.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(output(&place, "s"), ("done".to_owned(), "neither of them".to_owned()));
    let log = place.log("s");
    let kinds = ["CallStarted", "CallObserved", "TurnSettled"];
    assert_eq!(kinds.map(|kind| count(&log, kind)), [1, 1, 1]);
}

#[test]
fn without_a_terminal_the_model_is_told_that_nobody_answers() {
    let place = Place::new();
    let done = place.run(&["run", ASK, "--session", "s"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let (status, words) = output(&place, "s");
    assert_eq!(status, "failed");
    assert!(words.starts_with("Nobody can be asked"), "{words}");
}

/// Opens a session whose model asks a client. Only one that declares the tool may be asked: others
/// would not know how to answer.
fn asking(server: &Server) -> String {
    let tool = json!({"name": "ask_user", "description": "Asks.", "effect": "read_only",
        "parameters": {"type": "object"}});
    let body = json!({"client_tools": [tool]});
    let (status, opened) = server.post(server.token(), "/v1/sessions", &body);
    assert_eq!(status, 201, "{opened}");
    let session = opened["id"].as_str().unwrap().to_owned();
    server.send(&session, ASK);
    session
}

/// The tool is the client's, so a server goes on with the session though none of its own has the name.
#[test]
fn a_killed_server_takes_a_session_with_an_open_question_up_again() {
    let place = Place::new();
    let words = ["--token-file", "token"];
    let mut server = Server::start(&place, &words);
    let session = asking(&server);
    let until = |kind: &str| {
        let end = Instant::now() + Duration::from_secs(60);
        while count(&place.log(&session), kind) == 0 {
            assert!(Instant::now() < end, "no {kind}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("CallStarted");
    common::signal(server.child(), "KILL");
    server.ended();
    let mut server = Server::start_logging("info", &place, &words);
    // Nobody asked for the session.
    server.said_at_last("opened=1");
    let call = place.log(&session).into_iter().find(|fact| fact["kind"] == "CallStarted").unwrap();
    let path = format!("/v1/sessions/{session}/client-calls/{}", call["body"]["call"]);
    let (status, answer) = server.post(server.token(), &path, &json!({"output": "tabs"}));
    assert!((200..300).contains(&status), "{status} {answer}");
    until("TurnSettled");
    server.stop("TERM");
    assert_eq!(output(&place, &session), ("done".to_owned(), "tabs".to_owned()));
}

#[test]
fn a_question_of_a_server_is_answered_where_somebody_is_attached() {
    let place = Place::new();
    let server = Server::start(&place, &["--token-file", "token"]);
    let url = format!("http://{}", server.at());
    let session = asking(&server);
    let words = ["attach", &session, "--server", &url, "--token-file", "token", "--once"];
    let mut terminal = TerminalProcess::run(&place, &words);
    terminal.until(ANSWER);
    terminal.line("1");
    let done = terminal.end();
    assert_eq!(done.code, 0, "{}", done.err);
    server.stop("TERM");
    assert_eq!(output(&place, &session), ("done".to_owned(), "tabs".to_owned()));
}

#[test]
fn a_server_offers_no_questions_to_clients_that_declare_none() {
    let place = Place::new();
    let server = Server::start(&place, &["--token-file", "token"]);
    let session = server.session();
    server.stop("TERM");
    let opened = &place.log(&session)[0]["body"]["settings"]["tools"];
    let names: Vec<_> = opened.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("update_plan")), "{names:?}");
    assert!(!names.contains(&&json!("ask_user")), "{names:?}");
}

#[test]
fn a_plan_is_shown_as_a_list_and_one_of_another_shape_is_refused() {
    let place = Place::new();
    let plan = r#"repeat 1: update_plan {"plan":[{"step":"read","status":"completed"},{"step":"wri\u001b[1Ate","status":"in_progress"},{"step":"test","status":"pending"}]}"#;
    let done = place.run(&["run", plan, "--session", "s"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let shown =
        "  plan: 1 of 3 steps completed\n    [x] read\n    [>] wri\\u{1b}[1Ate\n    [ ] test\n";
    assert!(done.err.contains(shown), "{}", done.err);
    assert_eq!(output(&place, "s").0, "done");

    let wrong = r#"repeat 1: update_plan {"plan":[{"step":"read","status":"finished"}]}"#;
    let done = place.run(&["run", wrong, "--session", "t"]);
    assert!(!done.err.contains("plan:"), "{}", done.err);
    assert_eq!(output(&place, "t").0, "failed");
}
