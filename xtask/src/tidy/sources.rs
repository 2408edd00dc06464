//! Checks of files: their first line, their length, and texts that they must not contain.

use crate::tidy::Finding;
use crate::tidy::rules::{Before, FORBIDDEN, Forbidden, LINES, LONG};
use crate::tidy::workspace::Workspace;

/// Finds files that break the rules on sources.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = lengths(workspace, LONG);
    for (path, text) in &workspace.texts {
        findings.extend(opening(path, text));
        findings.extend(FORBIDDEN.iter().flat_map(|rule| holding(path, text, rule)));
    }
    findings
}

/// Checks that a source file opens with a `//!` sentence or, for a crate, with its README.
fn opening(path: &str, text: &str) -> Option<Finding> {
    let opens = text.starts_with("//! ") || text.starts_with("#![doc = include_str!(");
    if !path.ends_with(".rs") || opens {
        return None;
    }
    Some(Finding::new(
        format!("{path}:1"),
        "the file does not open with a `//!` sentence",
        "say what is in it",
    ))
}

/// Finds files that are too long, and exceptions that no file needs any more.
fn lengths(workspace: &Workspace, long: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &workspace.texts {
        let lines = text.lines().count();
        let excused = long.iter().any(|(excused, _)| excused == path);
        if path.ends_with(".rs") && lines > LINES && !excused {
            findings.push(Finding::new(
                path,
                format!("{lines} lines are more than {LINES}"),
                "split it by type or phase, or add it to LONG in xtask/src/tidy/rules.rs with \
                 the reason",
            ));
        }
    }
    for (path, _) in long {
        let text = workspace.texts.get(*path);
        if text.is_none_or(|text| text.lines().count() <= LINES) {
            findings.push(Finding::new(
                *path,
                "it is on the list of long files and is none",
                "take it off LONG in xtask/src/tidy/rules.rs",
            ));
        }
    }
    findings
}

/// Finds lines with a forbidden text.
fn holding(path: &str, text: &str, rule: &Forbidden) -> Vec<Finding> {
    if !rule.files.iter().any(|ending| path.ends_with(ending)) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| holds(line, rule))
        .map(|(index, _)| {
            let wrong = format!("it holds `{}`", spelled(rule.text));
            Finding::new(format!("{path}:{}", index + 1), wrong, rule.remedy)
        })
        .collect()
}

fn holds(line: &str, rule: &Forbidden) -> bool {
    line.match_indices(rule.text).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        match (rule.before, before) {
            (Before::Anything, _) | (_, None) => true,
            (Before::NoWord, Some(before)) => !before.is_alphanumeric() && before != '_',
            (Before::NoQuote, Some(before)) => {
                !before.is_alphanumeric() && !"_\"`".contains(before)
            }
            (Before::NoPath, Some(before)) => {
                !before.is_alphanumeric() && !"_-./~*}>$".contains(before)
            }
        }
    })
}

/// Escapes characters outside of ASCII: some dashes look alike.
fn spelled(text: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii() { letter.to_string() } else { letter.escape_unicode().to_string() }
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::workspace;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&workspace(&[], &[(path, text)])).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_plain_file_is_fine() {
        assert_eq!(findings("a.rs", "//! Says what is in it.\n"), [""; 0]);
        assert_eq!(findings("b.rs", "#![doc = include_str!(\"../README.md\")]\n"), [""; 0]);
    }

    #[test]
    fn a_file_without_an_opening_is_found() {
        let found = findings("a.rs", "use std::fmt;\n");
        assert!(found[0].starts_with("a.rs:1: the file does not open with"), "{found:?}");
    }

    #[test]
    fn a_long_file_is_found_unless_it_is_excused() {
        let text = format!("//! Long.\n{}", "\n".repeat(LINES));
        let long = workspace(&[], &[("a.rs", &text)]);
        assert_eq!(lengths(&long, &[])[0].wrong, "501 lines are more than 500");
        assert_eq!(lengths(&long, &[("a.rs", "a table")]), []);
    }

    #[test]
    fn an_excuse_that_nothing_needs_is_found() {
        let short = workspace(&[], &[("a.rs", "//! Short.\n")]);
        let wrong = "it is on the list of long files and is none";
        assert_eq!(lengths(&short, &[("a.rs", "a table")])[0].wrong, wrong);
        assert_eq!(lengths(&short, &[("gone.rs", "a table")])[0].wrong, wrong);
    }

    #[test]
    fn each_forbidden_text_is_found_where_its_rule_looks() {
        for rule in FORBIDDEN {
            let text = format!("//! A.\nlet x = {}x;\n", rule.text);
            assert!(findings("a.rs", &text)[0].starts_with("a.rs:2: it holds"), "{rule:?}");
            let in_docs = rule.files.contains(&".md");
            assert_eq!(findings("docs/a.md", &text).is_empty(), !in_docs, "{rule:?}");
            assert_eq!(findings("a.bin", &text), [""; 0], "{rule:?}");
        }
    }

    #[test]
    fn parts_of_longer_words_and_paths_are_fine() {
        let text = concat!("//! PHOTO", "DO, dir/wo", "rk/x, ../tm", "p/x.\n");
        assert_eq!(findings("a.rs", text), [""; 0]);
    }

    #[test]
    fn a_quoted_mark_is_fine() {
        let text = concat!("//! Finds `TO", "DO` and \"FIX", "ME\".\n");
        assert_eq!(findings("a.rs", text), [""; 0]);
    }

    #[test]
    fn a_dash_is_named_by_its_number() {
        let found = findings("a.md", "one \u{2014} two\n");
        assert!(found[0].contains("it holds `\\u{2014}`"), "{found:?}");
    }
}
