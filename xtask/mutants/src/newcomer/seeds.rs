//! The defects, and the program that has all of them: each is a module with one replacement, so that one
//! build is enough.

use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::crate_folder::{read as read_text, write};

/// Folder of the program in the crate.
const PROGRAM: &str = "examples/defects";

/// Part of the newcomer's crate that defects are seeded in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Store,
    Provider,
}

impl Part {
    pub(super) const ALL: [Self; 2] = [Self::Store, Self::Provider];

    fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Provider => "provider",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedFile {
    mutant: Vec<Seed>,
}

/// A change of one file, as `testkit/mutants/store.toml` and `provider.toml` describe it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seed {
    /// Short name of the defect.
    pub(super) name: String,
    /// Case that must find it.
    pub(super) case: String,
    /// Text to replace; the file has it exactly once.
    from: String,
    /// Text in its place.
    to: String,
}

/// A seed of a part, with its number from 1 on.
#[derive(Debug, Clone)]
pub(super) struct Defect {
    pub(super) part: Part,
    number: usize,
    pub(super) seed: Seed,
}

impl Defect {
    /// Name of the module that has it.
    pub(super) fn module(&self) -> String {
        format!("{}_{}", self.part, self.number)
    }
}

/// Reads the defects of a part.
///
/// # Errors
/// When the file does not read.
pub(super) fn read(tree: &Path, part: Part) -> anyhow::Result<Vec<Defect>> {
    let path = tree.join(format!("testkit/mutants/{part}.toml"));
    let file: SeedFile = toml::from_str(&read_text(&path)?)
        .with_context(|| format!("reading {}", path.display()))?;
    let numbered = (1..).zip(file.mutant);
    Ok(numbered.map(|(number, seed)| Defect { part, number, seed }).collect())
}

/// Writes the program with all defects into the newcomer's crate.
///
/// # Errors
/// When a defect does not apply exactly once, or a file cannot be written.
pub(super) fn plant(folder: &Path, defects: &[Defect]) -> anyhow::Result<()> {
    let program = folder.join(PROGRAM);
    fs::create_dir_all(&program).with_context(|| format!("making {}", program.display()))?;
    for part in Part::ALL {
        let source = read_text(&folder.join(format!("src/{part}.rs")))?;
        for defect in defects.iter().filter(|defect| defect.part == part) {
            let file = program.join(format!("{}.rs", defect.module()));
            write(&file, &seeded(&source, &defect.seed)?)?;
        }
    }
    write(&program.join("main.rs"), &main_file(defects))
}

fn seeded(source: &str, seed: &Seed) -> anyhow::Result<String> {
    let times = source.matches(&seed.from).count();
    ensure!(times == 1, "{}: its text is there {times} times", seed.name);
    Ok(source.replacen(&seed.from, &seed.to, 1))
}

/// The source of the program.
fn main_file(defects: &[Defect]) -> String {
    let (mut modules, mut stores, mut providers) = (String::new(), String::new(), String::new());
    for defect in defects {
        let module = defect.module();
        // Writing to a string does not fail.
        let _written = writeln!(modules, "mod {module};");
        let _written = match defect.part {
            Part::Store => writeln!(stores, "    store!({module}),"),
            Part::Provider => writeln!(providers, "    provider!({module}),"),
        };
    }
    let source = include_str!("program.rs");
    let source = source.replace("/*MODULES*/", &modules).replace("/*STORES*/", &stores);
    source.replace("/*PROVIDERS*/", &providers)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_testkit::{provider, store};
    use xtask::step::root;

    use super::*;

    /// Cases of the newcomer's own, beside the suite.
    const OWN: &[&str] = &["a_torn_line_is_cut_and_reported", "verifying_reads_what_is_stored"];
    /// Defects that a provider must not have, by the words of their names.
    const NAMED: [&str; 8] = [
        "the end of the connection after a text is an answer",
        "the system prompt is dropped",
        "the choice of tools is ignored",
        "the limit is ignored",
        "descriptions are emptied",
        "is_error is dropped",
        "the answer format is not sent",
        "calls are sent under one name",
    ];

    fn each_applies(part: Part, source: &str, is_case: impl Fn(&str) -> bool) -> BTreeSet<String> {
        let source = read_text(&root().join(source)).unwrap();
        let mut names = BTreeSet::new();
        for Defect { seed, .. } in read(&root(), part).unwrap() {
            assert_ne!(seeded(&source, &seed).unwrap(), source, "{}", seed.name);
            assert!(is_case(&seed.case), "{} is no case", seed.case);
            assert!(names.insert(seed.name.clone()), "{} is there twice", seed.name);
        }
        names
    }

    #[test]
    fn each_defect_of_the_store_applies_and_names_a_case() {
        let is_case =
            |name: &str| OWN.contains(&name) || store::CASES.iter().any(|(case, _)| *case == name);
        let names = each_applies(Part::Store, "testkit/examples/new_store/store.rs", is_case);
        assert!(names.len() >= 60, "{} defects", names.len());
    }

    #[test]
    fn each_defect_of_the_provider_applies_and_names_a_case() {
        let is_case = |name: &str| provider::suite::CASES.iter().any(|(case, _)| *case == name);
        let names = each_applies(Part::Provider, "testkit/newcomer/src/provider.rs", is_case);
        assert!(names.len() >= 50, "{} defects", names.len());
        for name in NAMED {
            assert!(names.contains(name), "{name} is not among the defects");
        }
    }
}
