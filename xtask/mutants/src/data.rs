//! The mutations of the laws, as data: `testkit/mutants/law_NN.toml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

/// A mutation of the core that only one law kills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    /// The law that kills it.
    pub(super) law: u8,
    pub(super) change: Change,
}

/// A change of one place of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// Short name of the change.
    pub(super) name: String,
    /// The file, from the root of the tree.
    pub(super) file: String,
    /// Defect that the change causes, in one sentence.
    pub(super) why: String,
    /// Text to replace; the file has it exactly once.
    pub(super) from: String,
    /// The text that comes in its place.
    pub(super) to: String,
    /// The script of a world in which it shows, where random worlds rarely show it.
    pub(super) world: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutant: Vec<Change>,
}

/// Reads the mutations of all laws, in the order of the laws.
///
/// # Errors
/// When a law has none, or a file does not read.
pub(super) fn read(root: &Path) -> anyhow::Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for law in laws(root)? {
        let path = root.join(format!("testkit/mutants/law_{law:02}.toml"));
        let shown = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("reading {shown}"))?;
        let file: File = toml::from_str(&text).with_context(|| format!("reading {shown}"))?;
        ensure!(!file.mutant.is_empty(), "{shown} names no mutation");
        let changes = file.mutant.into_iter();
        mutants.extend(changes.map(|change| Mutant { law, change }));
    }
    Ok(mutants)
}

/// The numbers of the laws, by the files that check them. They need not follow on each other.
fn laws(root: &Path) -> anyhow::Result<BTreeSet<u8>> {
    let folder = root.join("testkit/src/laws");
    let reading = || format!("reading {}", folder.display());
    let mut laws = BTreeSet::new();
    for entry in fs::read_dir(&folder).with_context(reading)? {
        let name = entry.with_context(reading)?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_prefix("law_").and_then(|rest| rest.get(..2));
        laws.extend(number.and_then(|number| number.parse::<u8>().ok()));
    }
    Ok(laws)
}

impl Mutant {
    /// The file with the change in it.
    ///
    /// # Errors
    /// When the change no longer applies: the text that it replaces does not stand in the file, or
    /// more than once.
    pub(super) fn apply(&self, text: &str) -> anyhow::Result<String> {
        let Change { name, file, from, to, .. } = &self.change;
        let law = self.law;
        match text.matches(from.as_str()).count() {
            1 => Ok(text.replacen(from.as_str(), to, 1)),
            times => bail!(
                "the mutation of law {law} {name:?} no longer applies: what it replaces stands \
                 {times} times in {file}, and has to stand there once"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::step::root;

    #[test]
    fn each_mutation_applies_to_the_core_of_today() {
        for mutant in read(&root()).unwrap() {
            let Change { name, file, why, from, to, .. } = &mutant.change;
            assert!(file.starts_with("core/src/"), "{name}: {file}");
            assert!(why.ends_with('.'), "{name}: {why}");
            assert!(from.ends_with('\n') && to.ends_with('\n'), "{name}");
            let text = fs::read_to_string(root().join(file)).unwrap();
            let changed = mutant.apply(&text).unwrap();
            assert_ne!(changed, text, "{name} changes nothing");
        }
    }

    #[test]
    fn the_page_of_the_laws_names_each_mutation() {
        let page = fs::read_to_string(root().join("docs/laws.md")).unwrap();
        let mutants = read(&root()).unwrap();
        for Mutant { law, change } in &mutants {
            let row = format!("| {law} | {}", change.name);
            assert!(page.contains(&row), "docs/laws.md does not say: {row}");
        }
        let table = page.split("## Mutants").nth(1).unwrap();
        let table = table.split("\n## ").next().unwrap();
        let numbered = |line: &&str| {
            let first = line.split('|').nth(1);
            first.is_some_and(|cell| cell.trim().parse::<u8>().is_ok())
        };
        let rows = table.lines().filter(numbered).count();
        assert_eq!(rows, mutants.len(), "docs/laws.md names others");
    }

    #[test]
    fn a_mutation_that_no_longer_applies_says_so() {
        let mutants = read(&root()).unwrap();
        let first = mutants.first().unwrap();
        for text in [String::new(), first.change.from.repeat(2)] {
            let error = first.apply(&text).unwrap_err().to_string();
            assert!(error.contains("no longer applies"), "{error}");
        }
    }

    #[test]
    fn the_worlds_of_the_mutations_read() {
        for mutant in read(&root()).unwrap() {
            if let Some(world) = &mutant.change.world {
                let script: Result<windlass_testkit::world::Script, String> = world.parse();
                script.unwrap();
            }
        }
    }
}
