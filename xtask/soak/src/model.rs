//! The model: it makes the calls that the inputs are worth, and fails now and then.
//!
//! What it answers follows from the conversation. How it fails follows from the seed, the conversation
//! and how often it was asked with it.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_ports::sync::Mutex;
use windlass_testkit::http::{Cut, ModelServer, Reply, Request, Script};
use windlass_testkit::{Answer, Gate};

use crate::random::Random;
use crate::tally::Tally;

/// First word of each input.
const WORD: &str = "soak";
/// Most conversations whose requests are counted.
const MOST: usize = 20_000;
/// Bytes of a body after which an answer pauses, stalls or is cut: some text is in them.
const SOME: u64 = 2_500;

/// Text of an input that is worth so many calls; `mark` makes it one of its own.
pub(crate) fn words(mark: &str, calls: u64) -> String {
    format!("{WORD} {mark} {calls}")
}

/// How an answer fails, or is slow.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// 429 with `Retry-After`.
    Limited,
    /// 500.
    Failed,
    /// The stream ends in the middle, by FIN or RST.
    Cut(Cut),
    /// Nothing more comes after some of the body.
    Stalled,
    /// Not even the head comes.
    Silent,
    /// The answer pauses in the middle.
    Slow,
}

/// Starts the model.
///
/// # Errors
/// When it cannot listen.
pub(crate) fn start(seed: u64, tally: Arc<Tally>) -> io::Result<ModelServer> {
    let asked: Mutex<HashMap<String, u64>> = Mutex::new(HashMap::new());
    ModelServer::start(Script::respond(move |request| {
        let turn = Conversation::read(request);
        let key = format!("{} {} {}", turn.mark, turn.wanted, turn.made);
        let times = {
            let mut asked = asked.lock();
            if asked.len() > MOST {
                asked.clear();
            }
            let times = asked.entry(key.clone()).or_default();
            *times += 1;
            *times
        };
        let mut random = Random::of(seed, &format!("{key} {times}"));
        troubled(turn.answer(&mut random), &mut random, &tally)
    }))
}

/// What a request says of its session.
#[derive(Debug, Default)]
struct Conversation {
    mark: String,
    /// Calls that the inputs are worth.
    wanted: u64,
    /// Calls that were made.
    made: u64,
}

impl Conversation {
    fn read(request: &Request) -> Self {
        let mut found = Self::default();
        let messages = request.json.as_ref().and_then(|json| json.get("messages"));
        for message in messages.and_then(Value::as_array).into_iter().flatten() {
            let text = flat(&message["content"]);
            let words: Vec<&str> = text.split(' ').collect();
            match (message["role"].as_str(), words.as_slice()) {
                (Some("user"), [WORD, mark, calls, ..]) => {
                    (*mark).clone_into(&mut found.mark);
                    found.wanted += calls.parse().unwrap_or(0);
                }
                (Some("assistant"), _) => {
                    let calls = message["tool_calls"].as_array().map_or(0, Vec::len);
                    found.made += u64::try_from(calls).unwrap_or(0);
                }
                _ => {}
            }
        }
        found
    }

    fn answer(&self, random: &mut Random) -> Answer {
        let Self { mark, wanted, made } = self;
        let text =
            format!("After {made} of {wanted} calls at {mark}, this is what there is to say. ");
        let text = text.repeat(1 + usize::try_from(random.below(8)).unwrap_or(0));
        let answer = Answer::new().text(text).pieces_of(8);
        match wanted.saturating_sub(*made) {
            0 => answer,
            1 => self.call(answer, 1, random),
            _ if random.percent(40) => self.call(self.call(answer, 1, random), 2, random),
            _ => self.call(answer, 1, random),
        }
    }

    fn call(&self, answer: Answer, which: u64, random: &mut Random) -> Answer {
        let tools = [(50, "count"), (30, "count_beside"), (20, "look")];
        let tool = random.weighted(&tools).unwrap_or("look");
        let most = if random.percent(10) { 2_500 } else { 300 };
        let wait = random.below(most);
        answer.call(tool, json!({"n": self.made + which, "wait_ms": wait}))
    }
}

/// The reply with an answer, and what happens to it.
fn troubled(answer: Answer, random: &mut Random, tally: &Tally) -> Reply {
    let trouble = random.weighted(&[
        (700, None),
        (200, Some(Trouble::Slow)),
        (20, Some(Trouble::Limited)),
        (20, Some(Trouble::Failed)),
        (25, Some(Trouble::Cut(Cut::Fin))),
        (20, Some(Trouble::Cut(Cut::Rst))),
        (10, Some(Trouble::Stalled)),
        (5, Some(Trouble::Silent)),
    ]);
    let Some(trouble) = trouble.flatten() else {
        return Reply::answer(answer);
    };
    let some = usize::try_from(200 + random.below(SOME)).unwrap_or(0);
    let name = match trouble {
        Trouble::Limited => "model: 429",
        Trouble::Failed => "model: 500",
        Trouble::Cut(_) => "model: cut",
        Trouble::Stalled => "model: stalled",
        Trouble::Silent => "model: silent",
        Trouble::Slow => "model: slow",
    };
    tally.fault(name);
    match trouble {
        Trouble::Limited => {
            Reply::error(429, "rate_limit_exceeded", "too many requests").header("retry-after", "1")
        }
        Trouble::Failed => Reply::error(500, "internal_error", "an error"),
        Trouble::Cut(cut) => Reply::answer(answer).cut_after(some, cut),
        Trouble::Stalled => Reply::answer(answer).stall_after(some),
        Trouble::Silent => Reply::answer(answer).head_after(&Gate::new()),
        Trouble::Slow => {
            let (gate, wait) = (Gate::new(), Duration::from_millis(100 + random.below(1_200)));
            let opens = gate.clone();
            std::thread::spawn(move || {
                std::thread::sleep(wait);
                opens.open();
            });
            Reply::answer(answer).pause_after(some, &gate)
        }
    }
}

/// Text of a content: a string, or parts that have a `text` each.
fn flat(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}
