//! The model: what it asks for follows from the conversation alone, so whoever asks it again, on
//! whichever node, is told the same.
//!
//! Each input says how many calls it is worth. The model makes them in order: of three one alone,
//! which waits at a gate of the test, and then two at once, which wait at none. The first answer of each
//! session breaks off in the midst of its text until clients have seen some of it.

use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Request, Script};
use windlass_testkit::{Answer, Gate};

/// Calls between two gates.
pub(crate) const STEP: usize = 3;
/// After how many bytes of its body a first answer waits: some of its text is in them, and not all.
const SOME: usize = 1_200;

/// What an input says, so that the model makes so many calls; `mark` makes it one of its own.
pub(crate) fn words(session: &str, calls: usize, mark: u64) -> String {
    format!("drill {session} {calls} {mark}")
}

/// Which of its session's calls waits at a gate.
pub(crate) fn waits_at(gate: usize) -> usize {
    (gate - 1) * STEP + 1
}

/// A model that holds calls at this many gates, and the text of first answers at one.
pub(crate) fn start(gates: usize, text: &Gate) -> ModelServer {
    let text = text.clone();
    ModelServer::start(Script::respond(move |request| reply(request, gates, &text))).unwrap()
}

fn reply(request: &Request, gates: usize, text: &Gate) -> Reply {
    let none = Vec::new();
    let messages = request.json.as_ref().and_then(|json| json.get("messages"));
    let messages = messages.and_then(Value::as_array).unwrap_or(&none);
    let (mut name, mut wanted, mut made) = (String::new(), 0, 0);
    for message in messages {
        let text = flat(&message["content"]);
        let words: Vec<&str> = text.split(' ').collect();
        match (message["role"].as_str(), words.as_slice()) {
            (Some("user"), ["drill", session, calls, ..]) => {
                name = (*session).to_owned();
                wanted += calls.parse::<usize>().unwrap();
            }
            (Some("assistant"), _) => {
                made += message["tool_calls"].as_array().map_or(0, Vec::len);
            }
            _ => {}
        }
    }
    if made >= wanted {
        return Reply::say(format!("{name} has made {made} calls."));
    }
    let step = made / STEP + 1;
    let said = format!("On I go with {name}, after {made} of {wanted}.");
    let answer = Answer::new().text(said).pieces_of(4);
    let call = |answer: Answer, n: usize, gate: usize| {
        let arguments = json!({"session": name, "n": n, "gate": gate});
        let tool = if gate > 0 { "count" } else { "count_beside" };
        answer.call(tool, arguments)
    };
    let answer = match (made % STEP, wanted - made) {
        (0, _) => call(answer, made + 1, if step <= gates { step } else { 0 }),
        (1, 2..) => call(call(answer, made + 1, 0), made + 2, 0),
        (_, _) => call(answer, made + 1, 0),
    };
    match made {
        0 => Reply::answer(answer).pause_after(SOME, text),
        _ => Reply::answer(answer),
    }
}

/// The text of a content: a string, or parts that have a `text` each.
fn flat(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}
