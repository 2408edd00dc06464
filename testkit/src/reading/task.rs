//! The task of a reading model: documents, each with a token that the answer must contain.

use std::fmt::Write as _;

use serde_json::{Value, json};
use windlass_core::{EffectClass, Observation, ObservationStatus};

use crate::tools::ScriptedTool;

/// Name of the tool that shows a document.
const TOOL: &str = "read_document";

const WORDS: [&str; 12] = [
    "anchor", "bollard", "capstan", "davit", "eyelet", "fairlead", "gypsy", "halyard", "jackstay",
    "kedge", "lanyard", "mooring",
];

/// Documents of one length, each with one token, and the order to read them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingTask {
    documents: usize,
    bytes: usize,
    order: ReadingOrder,
    shell: bool,
}

/// Order in which a reading model reads documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingOrder {
    /// One after the other, each in an answer of its own.
    OneByOne,
    /// All in one answer.
    Together,
}

impl ReadingTask {
    /// Creates a task of so many documents of so many bytes. Tokens are in the middle, at the end
    /// and at the start of documents, in turn.
    #[must_use]
    pub fn new(documents: usize, bytes: usize, order: ReadingOrder) -> Self {
        Self { documents, bytes, order, shell: false }
    }

    /// Has the documents read by the command `cat` in a tool `shell`, as files of their names.
    #[must_use]
    pub fn in_shell(mut self) -> Self {
        self.shell = true;
        self
    }

    /// Words of the user that set the task: all that a model knows of it.
    #[must_use]
    pub fn prompt(&self) -> String {
        let order = match self.order {
            ReadingOrder::OneByOne => "one by one",
            ReadingOrder::Together => "together",
        };
        let mut prompt = format!(
            "Read these documents {order}. Each has a line \"The token of NAME is TOKEN.\" Answer \
             with these lines.\n"
        );
        for name in self.names() {
            let (tool, arguments) = self.call(&name);
            let _ = writeln!(prompt, "- {name}: {tool} {arguments}");
        }
        prompt
    }

    /// Names of the documents, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        (1..=self.documents).map(|number| format!("doc-{number}")).collect()
    }

    /// Text of a document.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let number: usize = name.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let line = format!("{}\n", token_line(name));
        let room = self.bytes.saturating_sub(line.len());
        let before = match number % 3 {
            1 => room / 2,
            2 => room.saturating_sub(200.min(room / 10)),
            _ => 200.min(room / 10),
        };
        let mut text = String::with_capacity(self.bytes);
        filler(number, before, &mut text);
        text.push_str(&line);
        filler(number.wrapping_add(7), self.bytes, &mut text);
        text
    }

    /// The tool that shows a document whole, whatever its length.
    #[must_use]
    pub fn tool(&self) -> ScriptedTool {
        let task = self.clone();
        let parameters = json!({
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
        });
        let tool = ScriptedTool::new(TOOL, EffectClass::ReadOnly).taking(parameters.to_string());
        tool.runs(move |call, _| {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            let name = arguments["name"].as_str().unwrap_or_default();
            Ok(Observation::new(ObservationStatus::Done, task.text(name)))
        })
    }

    /// Number of requests that the task takes with an unbounded window.
    #[must_use]
    pub fn fewest_requests(&self) -> usize {
        match self.order {
            ReadingOrder::OneByOne => self.documents + 1,
            ReadingOrder::Together => 2,
        }
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// The names of the documents whose tokens it lacks.
    pub fn check(&self, answer: &str) -> Result<(), String> {
        let lacks = |name: &String| !answer.contains(&token_line(name));
        let lacking: Vec<String> = self.names().into_iter().filter(lacks).collect();
        match lacking.is_empty() {
            true => Ok(()),
            false => Err(format!("no token of {}: {answer:?}", lacking.join(", "))),
        }
    }

    fn call(&self, name: &str) -> (&'static str, Value) {
        match self.shell {
            true => ("shell", json!({ "command": format!("cat {name}") })),
            false => (TOOL, json!({ "name": name })),
        }
    }
}

/// The line of a document that has its token.
fn token_line(name: &str) -> String {
    format!("The token of {name} is {}.", token(name))
}

/// A token that nobody guesses from the name: FNV-1a.
fn token(name: &str) -> String {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Appends lines of prose until the text has so many bytes.
fn filler(seed: usize, bytes: usize, text: &mut String) {
    let mut at = seed;
    while text.len() < bytes {
        let line = (0..9).map(|word| WORDS[(at.wrapping_mul(31) + word * 5 + at / 12) % 12]);
        let line = format!("{at} {}\n", line.collect::<Vec<_>>().join(" "));
        let room = bytes.saturating_sub(text.len());
        match line.get(..room) {
            Some(short) if room > 0 => {
                text.push_str(short.get(..room.saturating_sub(1)).unwrap_or_default());
                text.push('\n');
            }
            Some(_) | None => text.push_str(&line),
        }
        at += 1;
    }
}
