//! Programs: how a reading model reads documents where its instructions ask for programs.
//!
//! A program gets results whole, and the model is shown a part of what a program ends with. So the
//! model first has a program end with the document. If it was not shown the token, it has the next
//! one end with the lines that match.

use serde_json::Value;

use super::action::intention;
use super::seen::{NamedCall, WantedDocument, pattern};
use crate::answer::Answer;
use crate::http::Asked;

/// Tool that takes a program.
const TOOL: &str = "run_program";
/// Beginning of the frame with the end of a program that was written as text.
pub(super) const FRAME: &str = "<context from=\"program\">";

/// Contract of programs, as the instructions state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProgramContract {
    language: Language,
    /// True if a program is a call, false if it is in the text of the answer.
    by_call: bool,
}

/// Language of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    JavaScript,
    PtcLisp,
}

/// What a program does with a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProgramStep {
    /// Ends with all of it.
    Read(NamedCall),
    /// Ends with its lines that have this text.
    Search(NamedCall, String),
}

/// Returns the contract of programs; `None` if the request asks for none.
pub(super) fn contract(asked: &Asked) -> Option<ProgramContract> {
    let mut texts = asked.context.iter().chain(&asked.instructions);
    let language = texts.find_map(|text| {
        [
            ("# Programs in PTC-Lisp", Language::PtcLisp),
            ("JavaScript program", Language::JavaScript),
        ]
        .into_iter()
        .find_map(|(words, language)| text.contains(words).then_some(language))
    });
    let by_call = asked.tools.iter().any(|tool| tool == TOOL);
    Some(ProgramContract { language: language?, by_call })
}

/// Chooses the next step about a document; `None` to give it up. `tries` is the most times that it
/// is searched.
pub(super) fn next(document: &WantedDocument, asked: &Asked, tries: usize) -> Option<ProgramStep> {
    let texts = || asked.said.iter().chain(&asked.context);
    let count = |words: &str| texts().map(|text| text.matches(words).count()).sum::<usize>();
    let call = document.call.clone();
    match (count(&intention(&document.name)), count(&search(&document.name))) {
        (0, _) => Some(ProgramStep::Read(call)),
        (_, made) if made < tries => Some(ProgramStep::Search(call, pattern(&document.name))),
        (_, _) => None,
    }
}

/// Words with which the model says that it searches a document. It counts its tries by them.
pub(super) fn search(name: &str) -> String {
    format!("Searching {name}.")
}

impl ProgramContract {
    /// Returns an answer with a program of these steps.
    pub(super) fn program(self, text: &str, steps: Vec<ProgramStep>) -> Answer {
        let mut values: Vec<String> = steps.iter().map(|step| self.value(step)).collect();
        let source = match (self.language, values.len()) {
            (_, 1) => values.remove(0),
            (Language::JavaScript, _) => format!("[{}]", values.join(", ")),
            (Language::PtcLisp, _) => format!("(vec [{}])", values.join(" ")),
        };
        self.answer(text, source)
    }

    /// Returns an answer with the program that ends the task with a text.
    pub(super) fn result(self, text: &str) -> Answer {
        let literal = Value::from(text).to_string();
        let source = match self.language {
            Language::JavaScript => format!("return {literal}"),
            Language::PtcLisp => format!("(return {literal})"),
        };
        self.answer("", source)
    }

    fn answer(self, text: &str, source: String) -> Answer {
        if self.by_call {
            return match text.is_empty() {
                true => Answer::new(),
                false => Answer::new().text(text),
            }
            .call(TOOL, serde_json::json!({ "source": source }));
        }
        let mark = match self.language {
            Language::JavaScript => "javascript",
            Language::PtcLisp => "clojure",
        };
        Answer::new().text(format!("{text}```{mark}\n{source}\n```\n"))
    }

    /// Returns the expression of a step.
    fn value(self, step: &ProgramStep) -> String {
        let (call, line) = match step {
            ProgramStep::Read(call) => (call, None),
            ProgramStep::Search(call, line) => (call, Some(Value::from(line.as_str()))),
        };
        match (self.language, line) {
            (Language::JavaScript, None) => {
                format!("await tools.{}({})", call.tool, call.arguments)
            }
            (Language::JavaScript, Some(line)) => format!(
                "(await tools.{}({})).split(\"\\n\").filter((line) => line.includes({line}))",
                call.tool, call.arguments
            ),
            (Language::PtcLisp, None) => lisp_call(call),
            (Language::PtcLisp, Some(line)) => {
                format!("(filter #(includes? % {line}) (split-lines {}))", lisp_call(call))
            }
        }
    }
}

fn lisp_call(call: &NamedCall) -> String {
    format!("(tool/{} {})", call.tool, lisp(&call.arguments))
}

/// Returns a JSON value as a literal of PTC-Lisp.
fn lisp(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(lisp).collect::<Vec<_>>().join(" "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!(":{name} {}", lisp(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(" "))
        }
    }
}
