//! The reading model itself: one answer for one request, in process or behind a socket.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;
use windlass_core::{FailureKind, Prompt, Retry};

use super::action::{self, Action};
use super::program::{self, ProgramContract, ProgramStep};
use super::seen::{self, WantedDocument};
use super::task::ReadingOrder;
use crate::answer::Answer;
use crate::http::{Asked, Dialect, Reply, Request, Script};
use crate::provider::{Failure, ScriptedProvider, Step};

/// Bytes of a request that count as a token.
const TOKEN_BYTES: usize = 4;
/// Most times that a document is read.
const TRIES: usize = 3;

/// A model that acts only on what its request shows. See the [module](super).
///
/// ```
/// use windlass_testkit::reading::{ReadingModel, ReadingOrder, ReadingTask};
///
/// let task = ReadingTask::new(3, 64 * 1024, ReadingOrder::OneByOne);
/// let model = ReadingModel::new().window(16_000);
/// let provider = model.provider(); // or `ModelServer::start(model.script())?`
/// # assert!(provider.misses().is_empty());
/// # assert!(task.check("nothing").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingModel {
    window: u64,
    tries: usize,
}

impl Default for ReadingModel {
    fn default() -> Self {
        Self { window: 0, tries: TRIES }
    }
}

impl ReadingModel {
    /// Creates a model with an unbounded window that reads a document three times at most.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rejects requests of more tokens, as a server does. A token has four bytes. 0 rejects none.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// Reads a document so many times at most, then gives up.
    #[must_use]
    pub fn tries(mut self, tries: usize) -> Self {
        self.tries = tries;
        self
    }

    /// Returns the model as a provider in process.
    #[must_use]
    pub fn provider(self) -> ScriptedProvider {
        ScriptedProvider::responding(move |request| {
            let tokens = prompt_tokens(&request.prompt);
            if self.is_over(tokens) {
                let kind = FailureKind::ContextOverflow;
                return Step::refused(Failure::scripted(kind, Retry::Never));
            }
            let answer = self.answer(&Asked::of_prompt(&request.prompt));
            Step::from(reporting(answer, tokens))
        })
    }

    /// Returns the model as the script of a [`ModelServer`](crate::http::ModelServer), in every
    /// dialect.
    #[must_use]
    pub fn script(self) -> Script {
        Script::respond(move |request| {
            let tokens = request_tokens(request);
            match self.is_over(tokens) {
                true => overflow(request, tokens, self.window),
                false => Reply::answer(reporting(self.answer(&request.asked()), tokens)),
            }
        })
    }

    fn is_over(self, tokens: u64) -> bool {
        self.window > 0 && tokens > self.window
    }

    /// Answers a request, by what it shows and nothing else.
    #[must_use]
    pub fn answer(self, asked: &Asked) -> Answer {
        let own = |text: &&String| !text.starts_with(program::FRAME);
        let words = || asked.said.iter().chain(asked.context.iter().filter(own));
        let noted = seen::tokens(words().map(String::as_str));
        let results = asked.results.iter().map(|(_, result)| result);
        let shown = results.chain(asked.context.iter().filter(|text| !own(text)));
        let mut known = seen::tokens(shown.map(String::as_str));
        known.extend(noted.clone());
        let Some((order, documents)) = asked.user.as_deref().and_then(seen::task) else {
            return match asked.tools.is_empty() {
                true => Answer::new().text(summary(&known)),
                false => Answer::new().text("I was not shown what to do."),
            };
        };
        let mut text = String::new();
        for (name, token) in known.iter().filter(|(name, _)| !noted.contains_key(*name)) {
            let _ = writeln!(text, "The token of {name} is {token}.");
        }
        let wanted: Vec<WantedDocument> =
            documents.into_iter().filter(|wanted| !known.contains_key(&wanted.name)).collect();
        match program::contract(asked) {
            Some(contract) => self.program(contract, asked, order, &wanted, text, &known),
            None => self.calls(asked, order, &wanted, text, &known),
        }
    }

    /// Answers in the contract of tools.
    fn calls(
        self,
        asked: &Asked,
        order: ReadingOrder,
        wanted: &[WantedDocument],
        mut text: String,
        known: &BTreeMap<String, String>,
    ) -> Answer {
        let (mut calls, mut lost) = (Vec::new(), Vec::new());
        for document in wanted {
            match action::next(document, asked, self.tries) {
                Action::Read(call) => {
                    let _ = writeln!(text, "{}", action::intention(&document.name));
                    calls.push(call);
                }
                Action::ReadOn(call) => {
                    let _ = writeln!(text, "Reading on in {}.", document.name);
                    calls.push(call);
                }
                Action::GiveUp => lost.push(document.name.as_str()),
            }
            if order == ReadingOrder::OneByOne && !calls.is_empty() {
                break;
            }
        }
        if calls.is_empty() {
            return Answer::new().text(report(known, &lost));
        }
        let answer = Answer::new().text(text);
        calls.into_iter().fold(answer, |answer, call| answer.call(call.tool, call.arguments))
    }

    /// Answers in the contract of programs.
    fn program(
        self,
        contract: ProgramContract,
        asked: &Asked,
        order: ReadingOrder,
        wanted: &[WantedDocument],
        mut text: String,
        known: &BTreeMap<String, String>,
    ) -> Answer {
        let (mut steps, mut lost) = (Vec::new(), Vec::new());
        for document in wanted {
            match program::next(document, asked, self.tries) {
                Some(step) => {
                    let words = match step {
                        ProgramStep::Read(_) => action::intention(&document.name),
                        ProgramStep::Search(..) => program::search(&document.name),
                    };
                    let _ = writeln!(text, "{words}");
                    steps.push(step);
                }
                None => lost.push(document.name.as_str()),
            }
            if order == ReadingOrder::OneByOne && !steps.is_empty() {
                break;
            }
        }
        match steps.is_empty() {
            true => contract.result(&report(known, &lost)),
            false => contract.program(&text, steps),
        }
    }
}

/// Returns the last answer.
fn report(known: &BTreeMap<String, String>, lost: &[&str]) -> String {
    let mut text = String::from("Done.\n");
    for (name, token) in known {
        let _ = writeln!(text, "The token of {name} is {token}.");
    }
    for name in lost {
        let _ = writeln!(text, "I gave up on {name}: I was not shown its token.");
    }
    text
}

/// Returns a summary of the shown parts.
fn summary(known: &BTreeMap<String, String>) -> String {
    let mut text = String::from("## Goal\nRead documents and report their tokens.\n## Done\n");
    for name in known.keys() {
        let _ = writeln!(text, "Read {name}.");
    }
    text.push_str("## Open\nThe other documents.\n## Facts\n");
    for (name, token) in known {
        let _ = writeln!(text, "The token of {name} is {token}.");
    }
    text
}

/// Reports the tokens of the request and of the answer.
fn reporting(answer: Answer, tokens: u64) -> Answer {
    let bytes: usize = answer.parts().iter().map(|part| format!("{part:?}").len()).sum();
    answer.tokens(tokens, (bytes / TOKEN_BYTES) as u64)
}

fn request_tokens(request: &Request) -> u64 {
    request.body.len().div_ceil(TOKEN_BYTES) as u64
}

/// Counts a prompt as its request in JSON would be counted.
fn prompt_tokens(prompt: &Prompt) -> u64 {
    let tools = serde_json::to_string(&prompt.settings.tools).map_or(0, |json| json.len());
    let items = prompt.items.iter().map(|item| {
        let json = serde_json::to_string(item);
        json.map_or(0, |json| json.len())
    });
    let bytes = prompt.settings.instructions.len() + tools + items.sum::<usize>();
    bytes.div_ceil(TOKEN_BYTES) as u64
}

/// Rejects a request as the servers of its dialect do.
fn overflow(request: &Request, tokens: u64, window: u64) -> Reply {
    if request.dialect() == Some(Dialect::Messages) {
        let message = format!("prompt is too long: {tokens} tokens > {window} maximum");
        let error = json!({ "type": "invalid_request_error", "message": message });
        return Reply::json(400, &json!({ "type": "error", "error": error }));
    }
    let message = format!(
        "This model's maximum context length is {window} tokens. However, your messages resulted \
         in {tokens} tokens. Please reduce the length of the messages."
    );
    Reply::error(400, "context_length_exceeded", &message)
}
