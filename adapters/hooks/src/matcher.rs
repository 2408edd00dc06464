//! Matchers: which tools, triggers or starts a group of hooks is for.

use regex_automata::meta::Regex;

use crate::error::LoadError;

/// The most memory that one pattern may compile to, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;

/// A matcher, by the characters that it is made of.
#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    /// Absent, empty or `*`.
    All,
    /// Letters, digits, `_`, `-` and blanks, parted by `|` or `,`: these names and no other.
    Names(Vec<String>),
    /// Anything else: a regular expression that may match anywhere in a name.
    Pattern(Box<Regex>),
}

impl Matcher {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, LoadError> {
        let text = match text.map(str::trim) {
            None | Some("" | "*") => return Ok(Self::All),
            Some(text) => text,
        };
        let listed = |c: char| c.is_ascii_alphanumeric() || "_- ,|".contains(c);
        if text.chars().all(listed) {
            let names = text.split(['|', ',']).map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(String::from).collect()));
        }
        let config = Regex::config().nfa_size_limit(Some(PATTERN_BYTES));
        match Regex::builder().configure(config).build(text) {
            Ok(regex) => Ok(Self::Pattern(Box::new(regex))),
            Err(error) => Err(LoadError::new(format!(
                "the matcher {text:?} is no regular expression that is understood here (there is \
                 no look-around and no back-reference): write one without, or name the tools"
            ))
            .caused_by(error)),
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|one| one == name),
            Self::Pattern(regex) => regex.is_match(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(matcher: &str, name: &str) -> bool {
        Matcher::parse(Some(matcher)).unwrap().matches(name)
    }

    #[test]
    fn nothing_and_a_star_match_all() {
        assert!(Matcher::parse(None).unwrap().is_all());
        for all in ["", " ", "*"] {
            assert!(matches(all, "Bash"), "{all:?}");
        }
    }

    #[test]
    fn plain_names_match_exactly_and_in_lists() {
        assert!(matches("Bash", "Bash"));
        assert!(!matches("Bash", "BashOutput"));
        assert!(!matches("Bash", "bash"));
        assert!(matches("Edit|Write", "Write"));
        assert!(matches("Edit, Write", "Write"));
        assert!(!matches("Edit|Write", "NotebookEdit"));
        assert!(!matches("mcp__memory", "mcp__memory__read"));
        assert!(matches("my-tool", "my-tool"));
    }

    #[test]
    fn anything_else_is_an_expression_without_anchors() {
        assert!(matches("^Bash", "BashOutput"));
        assert!(matches("mcp__.*__write.*", "mcp__files__write_file"));
        assert!(matches("(Edit)", "NotebookEdit"));
        assert!(!matches("^(Edit)$", "NotebookEdit"));
    }

    #[test]
    fn what_cannot_be_matched_is_refused_and_not_left_out() {
        for wrong in ["[", "^(?!Bash)", r"(a)\1"] {
            let error = Matcher::parse(Some(wrong)).unwrap_err();
            assert!(error.context.contains(wrong.trim()) || wrong.contains('\\'));
            assert!(error.context.contains("name the tools"), "{error}");
        }
    }
}
