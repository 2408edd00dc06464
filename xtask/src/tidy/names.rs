//! Checks that public names consist of words of the glossary and ordinary words, which `words.txt` lists.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::Finding;
use crate::tidy::items::{Item, public};
use crate::tidy::language::{folder, is_test};
use crate::tidy::rules::{Layer, layer};
use crate::tidy::workspace::Workspace;

const GLOSSARY: &str = "docs/glossary.md";
const LIST: &str = "xtask/src/tidy/words.txt";
const REMEDY: &str = "use a word of docs/glossary.md, or add an ordinary English or technical word to \
                      xtask/src/tidy/words.txt";

/// Finds words of public names that no list has, and entries of the list that are out of order or
/// not used.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let text = |path| workspace.texts.get(path).map_or("", String::as_str);
    let (glossary, list) = (terms(text(GLOSSARY)), text(LIST));
    let listed: BTreeSet<&str> = list.lines().collect();
    let mut findings = disorder(list);
    let mut used = BTreeSet::new();
    for (path, items) in names(workspace) {
        for Item { line, name } in items {
            for word in words(name) {
                if !glossary.contains(&word) && !listed.contains(word.as_str()) {
                    let wrong = format!("the public name `{name}` has the unknown word `{word}`");
                    findings.push(Finding::new(format!("{path}:{line}"), wrong, REMEDY));
                }
                used.insert(word);
            }
        }
    }
    findings.extend(idle(list, &glossary, &used));
    findings
}

/// Returns the public items of the product crates by file.
fn names(workspace: &Workspace) -> BTreeMap<&str, Vec<Item<'_>>> {
    let sources = workspace.texts.iter();
    let sources = sources.filter(|(path, _)| path.contains("src/") && path.ends_with(".rs"));
    let shipped = sources.filter(|(path, _)| !is_test(path) && is_product(workspace, path));
    shipped.map(|(path, text)| (path.as_str(), public(text))).collect()
}

fn is_product(workspace: &Workspace, path: &str) -> bool {
    let layer = folder(workspace, path).and_then(layer);
    layer.is_some_and(|layer| layer != Layer::Testkit && layer != Layer::Xtask)
}

/// Returns the words of the terms in the first columns of the tables.
fn terms(glossary: &str) -> BTreeSet<String> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    let terms = rows.filter_map(|row| row.split(" | ").next());
    let terms = terms.flat_map(|term| term.split(|letter: char| !letter.is_alphanumeric()));
    terms.flat_map(words).collect()
}

/// Splits a name at underscores, digits and capital letters; an acronym is one word.
fn words(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in name.split(|letter: char| !letter.is_alphabetic()) {
        let letters: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (at, letter) in letters.iter().enumerate() {
            let after_small = at > 0 && letters.get(at - 1).is_some_and(|last| last.is_lowercase());
            let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
            if letter.is_uppercase() && (after_small || before_small) && !word.is_empty() {
                found.push(std::mem::take(&mut word));
            }
            word.extend(letter.to_lowercase());
        }
        if !word.is_empty() {
            found.push(word);
        }
    }
    found
}

/// Finds entries that do not come after the one before them.
fn disorder(list: &str) -> Vec<Finding> {
    let pairs = list.lines().zip(list.lines().skip(1)).zip(2..);
    let disordered = pairs.filter(|((before, entry), _)| before >= entry);
    let finding = |((before, entry), line): ((&str, &str), usize)| {
        let wrong = format!("`{entry}` follows `{before}`");
        Finding::new(format!("{LIST}:{line}"), wrong, "sort the list and remove duplicates")
    };
    disordered.map(finding).collect()
}

/// Finds entries that the glossary has too, and entries that no public name uses.
fn idle(list: &str, glossary: &BTreeSet<String>, used: &BTreeSet<String>) -> Vec<Finding> {
    let entries = list.lines().zip(1..);
    let wrong = |entry: &str| {
        if glossary.contains(entry) {
            Some(format!("`{entry}` is a word of {GLOSSARY}"))
        } else if used.contains(entry) {
            None
        } else {
            Some(format!("no public name has the word `{entry}`"))
        }
    };
    let idle = entries.filter_map(|(entry, line)| Some((line, wrong(entry)?)));
    idle.map(|(line, wrong)| Finding::new(format!("{LIST}:{line}"), wrong, "remove its line"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::{package, workspace};

    const TERMS: &str = "# Glossary\n\n| word | meaning |\n|---|---|\n| hook round | questions |\n\
                         | must_return | of a sample |\n";

    fn findings(path: &str, source: &str, list: &str) -> Vec<String> {
        let packages = [package("windlass-core", "core"), package("windlass-testkit", "testkit")];
        let texts = [(GLOSSARY, TERMS), (LIST, list), (path, source)];
        let found = check(&workspace(&packages, &texts));
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_name_with_an_unknown_word_is_refused() {
        let source = "pub struct HookRound;\n\nimpl HookRound {\n    pub fn must_stand() {}\n}\n";
        let found = findings("core/src/a.rs", source, "");
        assert_eq!(
            found,
            [
                "core/src/a.rs:4: the public name `must_stand` has the unknown word `stand`; use a word \
              of docs/glossary.md, or add an ordinary English or technical word to \
              xtask/src/tidy/words.txt"
            ]
        );
        assert_eq!(findings("core/src/a.rs", source, "stand\n"), [""; 0]);
    }

    #[test]
    fn names_of_tests_and_of_the_testkit_are_left_out() {
        for path in ["core/src/a/tests.rs", "core/tests/a.rs", "testkit/src/a.rs", "a.rs"] {
            assert_eq!(findings(path, "pub fn stand() {}\n", ""), [""; 0], "{path}");
        }
    }

    #[test]
    fn an_acronym_is_one_word_and_digits_are_none() {
        assert_eq!(words("HTTPServer"), ["http", "server"]);
        assert_eq!(words("JsonRPC2Id"), ["json", "rpc", "id"]);
        assert_eq!(words("MAX_SHA256_len"), ["max", "sha", "len"]);
        let source = "pub type HTTPRound = u8;\npub const MAX_SHA256: u8 = 1;\n";
        assert_eq!(findings("core/src/a.rs", source, "http\nmax\nsha\n"), [""; 0]);
    }

    #[test]
    fn an_unsorted_or_repeated_entry_is_refused() {
        let source = "pub fn end_start() {}\n";
        let unsorted = findings("core/src/a.rs", source, "start\nend\n");
        assert_eq!(
            unsorted,
            [
                "xtask/src/tidy/words.txt:2: `end` follows `start`; sort the list and remove duplicates"
            ]
        );
        let repeated = findings("core/src/a.rs", source, "end\nend\nstart\n");
        assert!(repeated[0].contains(":2: `end` follows `end`"), "{repeated:?}");
    }

    #[test]
    fn an_unused_entry_and_one_of_the_glossary_are_refused() {
        let found = findings("core/src/a.rs", "pub fn hook() {}\n", "hook\nstart\n");
        assert_eq!(
            found,
            [
                "xtask/src/tidy/words.txt:1: `hook` is a word of docs/glossary.md; remove its line",
                "xtask/src/tidy/words.txt:2: no public name has the word `start`; remove its line",
            ]
        );
    }
}
