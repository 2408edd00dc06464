//! Descriptions of faults. A model reads them, and corrects its value by them.

use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

/// Most options that are listed.
const MOST_OPTIONS: usize = 3;
/// Most bytes of a value that a description has, so that the fault follows within its length.
const MOST_SHOWN: usize = 200;

/// A value as its JSON text, of which the beginning is shown if it is long.
pub(super) struct Shown<'a>(pub(super) &'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut beginning = Beginning(Vec::new());
        let whole = serde_json::to_writer(&mut beginning, self.0).is_ok();
        let valid = beginning.0.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        out.write_str(valid)?;
        if whole { Ok(()) } else { out.write_str("...") }
    }
}

/// Takes as many bytes as are shown, and refuses more.
struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(MOST_SHOWN - self.0.len());
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Options that a value is none of.
pub(super) fn options(value: &Value, options: &[Value]) -> String {
    let value = Shown(value);
    let shown = |options: &[Value]| {
        let texts: Vec<String> = options.iter().map(Value::to_string).collect();
        texts.join(", ")
    };
    let listed = match options.split_last() {
        None => String::new(),
        Some((only, [])) => only.to_string(),
        Some((last, first)) if options.len() <= MOST_OPTIONS => {
            format!("{} or {last}", shown(first))
        }
        Some(_) => {
            let (first, rest) = options.split_at(MOST_OPTIONS - 1);
            format!("{} or {} other candidates", shown(first), rest.len())
        }
    };
    format!("{value} is not one of {listed}")
}

/// Types that a value is of none of.
pub(super) fn types(value: &Value, kind: &Value) -> String {
    let value = Shown(value);
    match kind.as_array().map(Vec::as_slice) {
        None => format!("{value} is not of type {kind}"),
        Some([kind]) => format!("{value} is not of type {kind}"),
        Some(kinds) => {
            let mut kinds: Vec<String> = kinds.iter().map(Value::to_string).collect();
            kinds.sort();
            format!("{value} is not of types {}", kinds.join(", "))
        }
    }
}

/// Parts of a value that are not allowed.
pub(super) fn unexpected(what: &str, names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let were = if names.len() == 1 { "was" } else { "were" };
    format!("{what} are not allowed ({} {were} unexpected)", quoted.join(", "))
}

/// A count that is above or below its limit.
pub(super) fn count(value: &Value, side: &str, limit: u64, (one, many): (&str, &str)) -> String {
    let value = Shown(value);
    let noun = if limit == 1 { one } else { many };
    format!("{value} {side} {limit} {noun}")
}
