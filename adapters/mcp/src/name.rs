//! Names of servers, and names of their tools as a model sees them.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::error::McpError;

/// Longest name of a tool: the least of what providers take.
const MAX_TOOL_NAME: usize = 64;
/// Longest name of a server, so that a tool's own name has room.
const MAX_SERVER_NAME: usize = 24;
/// Hexadecimal digits of the digest in a name that was changed.
const DIGITS: usize = 8;

/// Name of a server: 1 to 24 of `A-Z a-z 0-9 - _`, with no `_` at an end and no `__`, so that the
/// names of two servers' tools never meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

impl ServerName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`McpError`] when it is too long, or has other characters.
    pub fn new(name: &str) -> Result<Self, McpError> {
        let fits = (1..=MAX_SERVER_NAME).contains(&name.len())
            && name.bytes().all(is_safe)
            && !name.contains("__")
            && !name.starts_with('_')
            && !name.ends_with('_');
        match fits {
            true => Ok(Self(name.to_owned())),
            false => Err(McpError::new(format!(
                "{name:?} is no name for a server: use 1 to {MAX_SERVER_NAME} letters, digits, `-` \
                 and single `_`"
            ))),
        }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the name of a server's tool for models: `mcp__SERVER__TOOL`, of at most 64 safe
/// characters. A tool's name that does not fit is cut in its middle, where a digest of the whole
/// name takes the place of what is left out. So it depends on nothing but the two names.
#[must_use]
pub fn tool_name(server: &ServerName, tool: &str) -> String {
    let prefix = format!("mcp__{server}__");
    let room = MAX_TOOL_NAME.saturating_sub(prefix.len());
    if !tool.is_empty() && tool.len() <= room && tool.bytes().all(is_safe) {
        return prefix + tool;
    }
    let safe: Vec<char> = tool.chars().map(|c| if is_safe_char(c) { c } else { '_' }).collect();
    let digest = Sha256::digest(tool.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let middle = format!("_{}_", digest.get(..DIGITS).unwrap_or_default());
    let shown = room.saturating_sub(middle.len()).min(safe.len());
    let (head, tail) = (shown.div_ceil(2), shown / 2);
    let head = safe.iter().take(head);
    let tail = safe.iter().skip(safe.len().saturating_sub(tail));
    let mut name = prefix;
    name.extend(head);
    name.push_str(&middle);
    name.extend(tail);
    name
}

fn is_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_safe_char(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str) -> ServerName {
        ServerName::new(name).unwrap()
    }

    #[test]
    fn a_plain_name_stays_as_it_is() {
        assert_eq!(tool_name(&server("files"), "read_file"), "mcp__files__read_file");
        let longest = "x".repeat(MAX_TOOL_NAME - "mcp__files__".len());
        assert_eq!(tool_name(&server("files"), &longest), format!("mcp__files__{longest}"));
    }

    #[test]
    fn hostile_names_are_safe_short_and_of_their_own() {
        let long = "x".repeat(500);
        let other = format!("{}y{}", "x".repeat(250), "x".repeat(249));
        let hostile = [
            "",
            " ",
            "a b",
            "a.b",
            "a/b",
            "ä",
            "\u{202e}evil",
            "a\nb",
            "😀",
            &long,
            &other,
            "a\0b",
        ];
        let mut seen = std::collections::BTreeSet::new();
        for tool in hostile {
            let name = tool_name(&server("twenty-four-characters-x"), tool);
            assert!(name.len() <= MAX_TOOL_NAME, "{name}");
            assert!(name.bytes().all(is_safe), "{name}");
            assert!(seen.insert(name.clone()), "{name} twice");
            assert_eq!(name, tool_name(&server("twenty-four-characters-x"), tool));
        }
    }

    #[test]
    fn a_long_name_keeps_both_of_its_ends() {
        let name = tool_name(&server("s"), &format!("begin{}end", "-".repeat(100)));
        assert!(name.starts_with("mcp__s__begin-") && name.ends_with("-end"), "{name}");
        assert_eq!(name.len(), MAX_TOOL_NAME);
    }

    #[test]
    fn names_of_servers_cannot_be_mistaken_for_one_another() {
        for name in ["a", "a-b", "a_b", "A1"] {
            assert_eq!(server(name).as_str(), name);
        }
        for name in ["", "a__b", "_a", "a_", "a b", "a.b", "é", &"x".repeat(25)] {
            assert!(ServerName::new(name).is_err(), "{name}");
        }
    }
}
