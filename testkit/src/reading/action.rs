//! Actions: what a reading model does next about each document that it has no token of.

use serde_json::{Value, json};

use super::seen::{Lack, NamedCall, WantedDocument, lack, pattern};
use crate::http::Asked;

/// The tool that reads shortened outputs.
const READ_OUTPUT: &str = "read_output";

/// Next step about a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    /// Reads the document, for the first time or again.
    Read(NamedCall),
    /// Reads on in what was shown of it.
    ReadOn(NamedCall),
    /// Has tried often enough, or was shown all of it.
    GiveUp,
}

/// Words with which the model says that it reads a document. It counts its tries by them.
pub(super) fn intention(name: &str) -> String {
    format!("Reading {name}.")
}

/// Chooses the next step. `tries` is the most times that a document is read.
pub(super) fn next(document: &WantedDocument, asked: &Asked, tries: usize) -> Action {
    let own = |(_, name, arguments): &&(String, String, String)| {
        *name == document.call.tool && same(arguments, &document.call.arguments)
    };
    let Some((id, ..)) = asked.calls.iter().rfind(own) else {
        return read_again(document, asked, tries);
    };
    let Some(result) = result(asked, id) else {
        return Action::GiveUp;
    };
    let offers = asked.tools.iter().any(|tool| tool == READ_OUTPUT);
    let more = match lack(result) {
        Lack::Whole => return Action::GiveUp,
        Lack::Named(call) if offers => call,
        Lack::Unnamed if offers => {
            NamedCall { tool: READ_OUTPUT.into(), arguments: json!({ "call": id }) }
        }
        Lack::Offset(offset) => {
            let mut call = document.call.clone();
            call.arguments["offset"] = offset.into();
            return read_on(call, document, asked, tries);
        }
        Lack::Named(_) | Lack::Unnamed => return read_again(document, asked, tries),
    };
    let mut search = more;
    search.arguments["pattern"] = pattern(&document.name).into();
    read_on(search, document, asked, tries)
}

/// Makes a further call, unless it was made: then it did not help.
fn read_on(call: NamedCall, document: &WantedDocument, asked: &Asked, tries: usize) -> Action {
    let made = asked
        .calls
        .iter()
        .rfind(|(_, name, arguments)| *name == call.tool && same(arguments, &call.arguments));
    let shown = made.and_then(|(id, ..)| result(asked, id));
    match shown.map(lack) {
        None => Action::ReadOn(call),
        Some(Lack::Offset(offset)) => {
            let mut call = call;
            call.arguments["offset"] = offset.into();
            read_on(call, document, asked, tries)
        }
        Some(Lack::Named(_) | Lack::Unnamed) => read_again(document, asked, tries),
        Some(Lack::Whole) => Action::GiveUp,
    }
}

fn read_again(document: &WantedDocument, asked: &Asked, tries: usize) -> Action {
    let intention = intention(&document.name);
    let texts = asked.said.iter().chain(&asked.context);
    let made: usize = texts.map(|text| text.matches(&intention).count()).sum();
    match made < tries {
        true => Action::Read(document.call.clone()),
        false => Action::GiveUp,
    }
}

fn result<'a>(asked: &'a Asked, id: &str) -> Option<&'a str> {
    let (_, result) = asked.results.iter().find(|(of, _)| of == id)?;
    Some(result)
}

fn same(arguments: &str, other: &Value) -> bool {
    serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments == *other)
}
