//! A store that somebody wrote by `docs/adapters.md`, held to the log store suite.
//!
//! `cargo run -p windlass-testkit --example new_store` passes. With `-- --bug` the store forgets
//! the last fact of each log when it is opened, and the suite says which law that breaks, and in
//! which world.

#![allow(clippy::print_stdout, reason = "it says what the suite found")]

mod store;

use std::process::ExitCode;
use std::sync::Arc;

use store::{Bug, LinesStore};
use tempfile::TempDir;
use windlass_ports::LogStore;
use windlass_testkit::store::{CASES, StoreFixture, copy_of};

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
