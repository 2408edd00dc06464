//! Reading: what a model finds in the texts of its request.

use std::collections::BTreeMap;

use serde_json::Value;

use super::task::ReadingOrder;

/// Longest token.
const TOKEN: usize = 64;

/// A call that a text names: `TOOL JSON`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// A document that the user asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedDocument {
    pub(super) name: String,
    pub(super) call: NamedCall,
}

/// The task in a user's words; `None` if they set none.
pub(super) fn task(words: &str) -> Option<(ReadingOrder, Vec<WantedDocument>)> {
    let documents = words.lines().filter_map(|line| {
        let (name, call) = line.strip_prefix("- ")?.split_once(": ")?;
        let tool = call.split(' ').next()?;
        Some(WantedDocument { name: name.into(), call: named_call(call, tool)? })
    });
    let documents: Vec<WantedDocument> = documents.collect();
    let order = match words.contains("together") {
        true => ReadingOrder::Together,
        false => ReadingOrder::OneByOne,
    };
    (!documents.is_empty()).then_some((order, documents))
}

/// The first call of a tool that a text names.
pub(super) fn named_call(text: &str, tool: &str) -> Option<NamedCall> {
    let start = format!("{tool} {{");
    let at = text.find(&start)?;
    let json = text.get(at + tool.len() + 1..)?;
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let arguments = values.next()?.ok()?;
    Some(NamedCall { tool: tool.into(), arguments })
}

/// The tokens that texts state, by document.
pub(super) fn tokens<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for text in texts {
        for rest in text.split("The token of ").skip(1) {
            // A text may have been cut in the middle of the line.
            let Some((name, rest)) = rest.split_once(" is ") else { continue };
            let Some((token, _)) = rest.split_once('.') else { continue };
            let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
            if !name.contains(char::is_whitespace) && token.len() <= TOKEN && hex(token) {
                found.insert(name.to_owned(), token.to_owned());
            }
        }
    }
    found
}

/// Pattern that finds the token of a document in an output.
pub(super) fn pattern(name: &str) -> String {
    format!("The token of {name} is")
}

/// Words of a result that lacks its token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lack {
    /// It names a call of `read_output` that shows more.
    Named(NamedCall),
    /// It says that something is missing, and does not say how to get it.
    Unnamed,
    /// It says where the tool goes on.
    Offset(u64),
    /// It looks whole.
    Whole,
}

/// Reads a result that lacks its token.
pub(super) fn lack(result: &str) -> Lack {
    if let Some(call) = named_call(result, "read_output") {
        return Lack::Named(call);
    }
    let offset = result.rsplit_once("go on with offset ").map(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse()
    });
    if let Some(Ok(offset)) = offset {
        return Lack::Offset(offset);
    }
    let says = |word: &&str| result.contains(*word);
    match ["cleared", "omitted", "left out"].iter().any(says) {
        true => Lack::Unnamed,
        false => Lack::Whole,
    }
}
