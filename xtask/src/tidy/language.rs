//! Checks how public docs open. They start with a verb in the third person or a noun phrase.
//!
//! Crates that do not keep the rule yet have an allowance in `allowances`, which may only shrink.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::allowances::OPENINGS;
use crate::tidy::workspace::Workspace;

const TABLE: &str = "xtask/src/tidy/allowances.rs";

/// Words that no public doc may open with.
const WORDS: &[&str] =
    &["how", "what", "whatever", "where", "whether", "which", "who", "whoever", "whose", "why"];

/// Finds crates with more such openings than allowed, and allowances that are too large.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    judge(workspace, OPENINGS)
}

fn judge(workspace: &Workspace, allowed: &[(&str, usize)]) -> Vec<Finding> {
    let mut found = openings(workspace);
    let mut findings = Vec::new();
    for (folder, allowance) in allowed {
        let places = found.remove(*folder).unwrap_or_default();
        findings.extend(compare(folder, &places, *allowance));
    }
    for (folder, places) in found {
        findings.extend(compare(&folder, &places, 0));
    }
    findings
}

fn compare(folder: &str, places: &[Opening], allowance: usize) -> Vec<Finding> {
    let count = places.len();
    if count > allowance {
        return places.iter().map(|place| place.finding(allowance)).collect();
    }
    if count < allowance {
        return vec![Finding::new(
            TABLE,
            format!("{folder} has {count} openings to mend, and {allowance} are allowed"),
            format!("set its number to {count}, or remove its row if that is 0"),
        )];
    }
    Vec::new()
}

/// Public doc that opens with one of [`WORDS`].
#[derive(Debug, Clone, PartialEq, Eq)]
struct Opening {
    place: String,
    word: String,
}

impl Opening {
    fn finding(&self, allowance: usize) -> Finding {
        let Self { place, word } = self;
        Finding::new(
            place,
            format!("the doc opens with `{word}`, in a crate that may have {allowance} of these"),
            "open it with a verb in the third person (\"Returns ..\") or a noun phrase (\"Position of ..\")",
        )
    }
}

/// Openings to mend, by the crate's folder.
fn openings(workspace: &Workspace) -> BTreeMap<String, Vec<Opening>> {
    let mut found: BTreeMap<String, Vec<Opening>> = BTreeMap::new();
    let sources = workspace.texts.iter();
    for (path, text) in sources.filter(|(path, _)| path.ends_with(".rs") && !is_test(path)) {
        let Some(folder) = folder(workspace, path) else {
            continue;
        };
        let here = in_source(text)
            .into_iter()
            .map(|(line, word)| Opening { place: format!("{path}:{line}"), word });
        let here: Vec<Opening> = here.collect();
        if !here.is_empty() {
            found.entry(folder.to_owned()).or_default().extend(here);
        }
    }
    found
}

/// Returns true for a file that only tests are built of.
pub(super) fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs") || path.ends_with("_tests.rs")
}

/// Returns the folder of the crate that a file belongs to: the longest one that contains it.
pub(super) fn folder<'a>(workspace: &'a Workspace, path: &str) -> Option<&'a str> {
    let folders = workspace.packages.iter().map(|package| package.folder.as_str());
    let around = folders.filter(|folder| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    });
    around.max_by_key(|folder| folder.len())
}

/// Returns lines and words of the openings before the file's tests.
fn in_source(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, &str)> = None;
    let mut attribute = 0;
    let lines = text.lines().map(str::trim).zip(1..);
    for (line, number) in lines.take_while(|(line, _)| !line.starts_with("#[cfg(test)]")) {
        if let Some(doc) = line.strip_prefix("//!") {
            let (at, doc) = *block.get_or_insert((number, doc));
            found.extend(forbidden(at, doc).filter(|_| at == number));
        } else if let Some(doc) = line.strip_prefix("///") {
            block.get_or_insert((number, doc));
        } else if attribute > 0 || line.starts_with("#[") {
            attribute += line.matches('[').count();
            attribute = attribute.saturating_sub(line.matches(']').count());
        } else if let Some((at, doc)) = block.take() {
            let public = line.starts_with("pub ");
            found.extend(forbidden(at, doc).filter(|_| public));
        }
    }
    found
}

fn forbidden(line: usize, doc: &str) -> Option<(usize, String)> {
    let word: String = doc.trim().chars().take_while(|letter| letter.is_alphabetic()).collect();
    let word = word.to_lowercase();
    WORDS.contains(&word.as_str()).then_some((line, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::{package, workspace};

    const SOURCE: &str = "//! How it goes.\n\n/// What a doc says.\n#[must_use]\npub fn a() {}\n\n\
                          /// What is private.\nfn b() {}\n\n/// Returns what is asked.\npub fn c() {}\n\n\
                          #[cfg(test)]\nmod tests {\n    /// What a test needs.\n    pub fn d() {}\n}\n";

    fn findings(path: &str, allowed: &[(&str, usize)]) -> Vec<String> {
        let packages = [package("windlass-core", "core"), package("b", "core/b")];
        let found = judge(&workspace(&packages, &[(path, SOURCE)]), allowed);
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn openings_of_public_docs_are_found() {
        let found = findings("core/src/a.rs", &[]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("core/src/a.rs:1: the doc opens with `how`"), "{found:?}");
        assert!(found[1].starts_with("core/src/a.rs:3: the doc opens with `what`"), "{found:?}");
        assert_eq!(findings("core/src/a.rs", &[("core", 1)]).len(), 2);
        assert_eq!(findings("core/src/a.rs", &[("core", 2)]), [""; 0]);
    }

    #[test]
    fn an_allowance_that_is_too_large_is_found() {
        let found = findings("core/src/a.rs", &[("core", 3), ("gone", 1)]);
        assert!(found[0].contains("core has 2 openings to mend, and 3 are allowed"), "{found:?}");
        assert!(found[1].contains("gone has 0 openings"), "{found:?}");
    }

    #[test]
    fn a_file_belongs_to_the_innermost_crate_and_tests_are_left_out() {
        assert_eq!(findings("core/b/src/a.rs", &[("core/b", 2)]), [""; 0]);
        for path in ["core/tests/a.rs", "core/src/a/tests.rs", "core/src/a_tests.rs"] {
            assert_eq!(findings(path, &[]), [""; 0], "{path}");
        }
    }

    #[test]
    fn allowances_are_sorted_and_none_is_empty() {
        assert!(OPENINGS.is_sorted());
        assert!(OPENINGS.iter().all(|(_, allowance)| *allowance > 0));
    }
}
