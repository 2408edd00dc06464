//! JSON Schema: compiles the schemas of tools and answers, and finds where a value does not fit one. Pure.
//!
//! It takes the keywords of the drafts 4 to 2020-12 in one document. Nothing is fetched: a reference leads
//! into the document. `format`, `contentEncoding` and other annotations are not checked. Patterns run in
//! linear time, since they match text that a model wrote. Work and depth of one check are bounded.

mod check;
mod evaluate;
mod keyword;
mod number;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct JsonSchema {
    root: Value,
    /// Patterns of the schema, as they are written there.
    patterns: HashMap<String, Regex>,
    /// Pointers to the schemas with anchors.
    anchors: HashMap<String, String>,
    /// Keywords beside `$ref` count: from draft 2019-09 on.
    counts_siblings: bool,
    /// Some schema asks which parts of a value were evaluated.
    asks_evaluated: bool,
}

/// A place where a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaFault {
    /// JSON pointer to it.
    pub(crate) place: String,
    /// Description of the fault.
    pub(crate) words: String,
}

impl JsonSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// A description of the first keyword that cannot be used: of a wrong form, a pattern that is none, a
    /// reference that leads out of the schema or to nothing.
    pub(crate) fn compile(root: Value) -> Result<Self, String> {
        check::compile(root)
    }

    /// Returns the first faults of a value, `most` at most. A value that is too large or too deep to be
    /// checked has one.
    pub(crate) fn faults(&self, value: &Value, most: usize) -> Vec<SchemaFault> {
        evaluate::faults(self, value, most)
    }

    /// Returns the schema that a reference names.
    fn referenced(&self, reference: &str) -> Option<&Value> {
        referenced(&self.root, &self.anchors, reference)
    }
}

/// Returns the schema that a reference in a document names.
fn referenced<'a>(
    root: &'a Value,
    anchors: &HashMap<String, String>,
    reference: &str,
) -> Option<&'a Value> {
    let own = root.get("$id").or_else(|| root.get("id")).and_then(Value::as_str);
    let own = own.map(|own| own.trim_end_matches('#')).filter(|own| !own.is_empty());
    let local = own.and_then(|own| reference.strip_prefix(own)).unwrap_or(reference);
    let fragment = match local {
        "" => "",
        local => local.strip_prefix('#')?,
    };
    let fragment = decoded(fragment)?;
    match fragment.is_empty() || fragment.starts_with('/') {
        true => root.pointer(&fragment),
        false => root.pointer(anchors.get(&fragment)?),
    }
}

/// Decodes the `%XX` of a fragment.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}
