//! A store that somebody wrote by `docs/adapters.md`, held to the log store suite.
//!
//! `cargo run -p windlass-testkit --example new_store` passes. With `-- --bug` the store forgets
//! the last fact of each log when it is opened, and the suite says which law that breaks, and in
//! which world.

#![allow(clippy::print_stdout, reason = "it says what the suite found")]

mod store;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::{fs, io};

use store::{Bug, LinesStore};
use tempfile::TempDir;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::{
    CASES, FactDamage, FactDamageKind, Inspection, StoreFixture, bytes_of, copy_of, damage_files,
};

/// A place for one store.
struct Place {
    folder: TempDir,
    copies: TempDir,
    bug: Option<Bug>,
}

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(LinesStore::open(self.folder.path(), self.bug))
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(self.folder.path(), self.copies.path()).ok()?;
        Some(Arc::new(LinesStore::open(&copy, self.bug)))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let damaged = copy_of(self.folder.path(), self.copies.path()).and_then(|copy| {
            match damage.kind {
                FactDamageKind::Changed => damage_files(&copy, damage.text)?,
                FactDamageKind::Removed => remove_line(&copy, damage)?,
            }
            Ok(copy)
        });
        match damaged {
            Ok(copy) => Inspection::Found(Ok(Arc::new(LinesStore::open(&copy, self.bug)))),
            Err(_) => Inspection::Missing,
        }
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        match bytes_of(self.folder.path()) {
            Ok(bytes) => Inspection::Found(bytes),
            Err(_) => Inspection::Missing,
        }
    }
}

/// Removes the line that holds a fact.
fn remove_line(folder: &Path, damage: FactDamage<'_>) -> io::Result<()> {
    let path = folder.join(format!("{}.lines", damage.session));
    let lines = fs::read_to_string(&path)?;
    let stay = lines.split_inclusive('\n').filter(|line| !line.contains(damage.text));
    fs::write(path, stay.collect::<String>())
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let bug = std::env::args().any(|argument| argument == "--bug");
    let bug = bug.then_some(Bug::ForgetsTheLastFact);
    let mut broken = 0;
    for (name, case) in CASES {
        let (folder, copies) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let place = Place { folder, copies, bug };
        match case(&place) {
            Ok(()) => println!("ok     {name}"),
            Err(violation) => {
                broken += 1;
                println!("BROKEN {name}\n{violation}\n");
            }
        }
    }
    println!("{} cases, {broken} broken", CASES.len());
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
