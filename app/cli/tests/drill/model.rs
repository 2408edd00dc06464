//! The model: what it asks for follows from the conversation alone, so whoever asks it again, on
//! whichever node, is told the same.
//!
//! Each input says how many calls it is worth. The model makes them in order: of three one alone,
//! which waits at a gate of the test, and then two at once, which wait at none. The first answer of each
//! session breaks off in the midst of its text until clients have seen some of it.
//!
//! At each gate but the first, a fifth of the sessions is in the midst of an answer instead: its stream
//! pauses until the gate is open. Then the streams of half of them are cut, once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_testkit::http::{Cut, ModelServer, Reply, Request, Script};
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

/// Whether a session is in the midst of an answer when others wait at this gate.
pub(crate) fn streams_at(session: &str, gate: usize) -> bool {
    gate > 1 && chance(session, gate).is_multiple_of(5)
}

/// A number that follows from a session and a gate (FNV-1a).
fn chance(session: &str, gate: usize) -> u64 {
    let bytes = session.bytes().chain([gate as u8]);
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    bytes.fold(0xCBF2_9CE4_8422_2325, fold) >> 16
}

/// What answers wait for, and which streams were cut.
#[derive(Clone)]
pub(crate) struct Streams {
    /// The text of first answers.
    pub(crate) first: Gate,
    /// The streams that pause at each gate.
    gates: Vec<Gate>,
    cut: Arc<Mutex<BTreeSet<(String, usize)>>>,
}

impl Streams {
    pub(crate) fn new(gates: usize) -> Self {
        let gates = (0..gates).map(|_| Gate::new()).collect();
        Self { first: Gate::new(), gates, cut: Arc::default() }
    }

    /// Lets the streams go on that pause at a gate, counted from 1.
    pub(crate) fn open(&self, gate: usize) {
        self.gates[gate - 1].open();
    }

    /// How many streams were to be cut.
    pub(crate) fn cuts(&self) -> usize {
        self.cut.lock().unwrap().len()
    }

    /// Pauses the stream of an answer at a gate, and cuts it behind that, once.
    fn pause(&self, reply: Reply, session: &str, gate: usize) -> Reply {
        let reply = reply.pause_after(SOME, &self.gates[gate - 1]);
        let cuts = chance(session, gate + 100).is_multiple_of(2);
        match cuts && self.cut.lock().unwrap().insert((session.to_owned(), gate)) {
            true if chance(session, gate).is_multiple_of(2) => {
                reply.cut_after(SOME + 400, Cut::Fin)
            }
            true => reply.cut_after(SOME + 400, Cut::Rst),
            false => reply,
        }
    }
}

/// A model that holds calls at this many gates, and the text of answers.
pub(crate) fn start(gates: usize, streams: &Streams) -> ModelServer {
    let streams = streams.clone();
    ModelServer::start(Script::respond(move |request| reply(request, gates, &streams))).unwrap()
}

fn reply(request: &Request, gates: usize, streams: &Streams) -> Reply {
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
        0 => Reply::answer(answer).pause_after(SOME, &streams.first),
        _ if made % STEP == 0 && step <= gates && streams_at(&name, step) => {
            streams.pause(Reply::answer(answer), &name, step)
        }
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
