//! Calls of MCP servers that ask the user: at the terminal, across a kill, and where nobody is.

use std::fs;

use serde_json::json;

use super::Served;
use super::common::server::Server;
use super::common::terminal::TerminalProcess;
use super::common::{count, kinds};

const ANSWER: &str = "your answer: ";

/// A server of the newer era in `sh`. Its tool `note` wants to know a name before it adds a line.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\n' "$id" "$1"; }
  case $line in
    *'"server/discover"'*) say '"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"' ;;
    *'"tools/list"'*) say '"resultType":"complete","tools":[{"name":"note","description":"Notes.","inputSchema":{"type":"object"}}]' ;;
    *'"accept"'*'"state 1"'*) echo noted >> notes; say '"resultType":"complete","content":[{"type":"text","text":"noted it"}]' ;;
    *'"inputResponses"'*) echo refused >> notes; say '"resultType":"complete","content":[{"type":"text","text":"not noted"}]' ;;
    *'"tools/call"'*) echo asked >> notes; say '"resultType":"input_required","requestState":"state 1","inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Whose note is it?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
  esac
done
"#;

fn served() -> Served {
    let served = Served::new();
    fs::write(served.place.file("server.sh"), SERVER).unwrap();
    served.add(&["--trusted"]);
    served
}

fn notes(served: &Served) -> String {
    fs::read_to_string(served.place.file("notes")).unwrap_or_default()
}

fn output(served: &Served, session: &str) -> String {
    let log = served.place.log(session);
    let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    observed["body"]["observation"]["output"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_of_a_server_outlives_a_killed_process_and_its_call_takes_effect_once() {
    let served = served();
    let command = served.command(&["--permissions", "auto"]);
    let words: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
    let mut first = TerminalProcess::run(&served.place, &words);
    let asked = first.until(ANSWER);
    assert!(asked.contains("The tool mcp__notes__note asks: Whose note is it?"), "{asked}");
    first.signal("KILL");
    first.end();
    assert_eq!(notes(&served), "asked\n");
    let mut second = TerminalProcess::run(&served.place, &["resume", "s"]);
    second.until(ANSWER);
    assert_eq!(notes(&served), "asked\n", "nothing is asked of the server again");
    second.line("Ada");
    let done = second.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(
        (notes(&served).as_str(), output(&served, "s").as_str()),
        ("asked\nnoted\n", "noted it")
    );
    let log = served.place.log("s");
    let facts = ["CallStarted", "CallSuspended", "CallResumed", "CallObserved", "TurnSettled"];
    assert_eq!(facts.map(|kind| count(&log, kind)), [2, 1, 1, 1, 1], "{:?}", kinds(&log));
}

#[test]
fn where_nobody_can_be_asked_the_server_is_told_so() {
    let served = served();
    let done = served.run(&["--permissions", "auto"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(
        (notes(&served).as_str(), output(&served, "s").as_str()),
        ("asked\nrefused\n", "not noted")
    );
}

#[cfg(feature = "server")]
#[test]
fn a_question_in_a_server_is_a_call_of_ask_user_for_its_clients() {
    let served = served();
    let url = served.model.base_url();
    let words = [
        "--token-file",
        "token",
        "--permissions",
        "auto",
        "--provider",
        "openai-chat",
        "--model",
        "m",
    ];
    let mut server = Server::start(&served.place, &[&words[..], &["--base-url", &url]].concat());
    let session = server.session();
    server.send(&session, "hi");
    let path = format!("/v1/sessions/{session}/client-calls");
    let open = |server: &Server| {
        super::until("a question", || {
            let (_, open) = server.get(server.token(), &path, "");
            open["calls"].as_array().is_some_and(|calls| !calls.is_empty())
        });
        let (_, open) = server.get(server.token(), &path, "");
        open["calls"][0].clone()
    };
    let asked = open(&server);
    assert_eq!(asked["tool"], "ask_user", "{asked}");
    assert!(
        asked["arguments"].as_str().unwrap().contains("mcp__notes__note asks: Whose"),
        "{asked}"
    );
    super::common::signal(server.child(), "KILL");
    server.ended();
    let server = Server::start(&served.place, &[&words[..], &["--base-url", &url]].concat());
    let again = open(&server);
    assert_eq!(again, asked, "the question is the same, with the same deadline");
    let answer = format!("{path}/{}", again["call"]);
    for _ in 0..2 {
        // The second one is a repetition, which changes nothing.
        let (status, said) = server.post(server.token(), &answer, &json!({"output": "Ada"}));
        assert_eq!(status, 202, "{said}");
    }
    super::until("the end", || count(&served.place.log(&session), "TurnSettled") == 1);
    server.stop("TERM");
    assert_eq!(
        (notes(&served).as_str(), output(&served, &session).as_str()),
        ("asked\nnoted\n", "noted it")
    );
}
