//! Runs a case of the log store suite over each mutated store, in a process of its own: the number of
//! a mutation on the command line, or none for the unchanged store and all cases.

#![allow(dead_code, unused, clippy::all, reason = "the mutations leave what they leave")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::{fs, io};

use tempfile::TempDir;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::{
    CASES, FactDamage, FactDamageKind, Inspection, StoreFixture, bytes_of, copy_of, damage_files,
};

type Open = fn(&Path) -> Arc<dyn LogStore>;

/*MODULES*/

/// The unchanged store, then each mutation with the case that must find it.
const STORES: &[(&str, Open)] = &[/*STORES*/];

struct Place {
    folder: TempDir,
    copies: TempDir,
    open: Open,
}

impl Place {
    fn copy(&self) -> std::path::PathBuf {
        copy_of(self.folder.path(), self.copies.path()).expect("a copy")
    }
}

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        (self.open)(self.folder.path())
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        Some((self.open)(&self.copy()))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = self.copy();
        match damage.kind {
            FactDamageKind::Changed => damage_files(&copy, damage.text).expect("damage"),
            FactDamageKind::Removed => {
                let path = copy.join(format!("{}.lines", damage.session));
                let lines = fs::read_to_string(&path).expect("lines");
                let stay = lines.split_inclusive('\n').filter(|line| !line.contains(damage.text));
                fs::write(path, stay.collect::<String>()).expect("lines");
            }
        }
        Inspection::Found(Ok((self.open)(&copy)))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Found(bytes_of(self.folder.path()).expect("bytes"))
    }

    fn patience(&self) -> std::time::Duration {
        std::time::Duration::from_secs(2)
    }
}

fn main() -> ExitCode {
    let number = std::env::args().nth(1).map_or(0, |number| number.parse().expect("a number"));
    let (wanted, open) = STORES[number];
    let mut found = false;
    for (name, case) in CASES.iter().filter(|(name, _)| wanted.is_empty() || *name == wanted) {
        let (folder, copies) = (TempDir::new().expect("a folder"), TempDir::new().expect("one"));
        if let Err(violation) = case(&Place { folder, copies, open }) {
            println!("{name}: {violation}");
            found = true;
        }
    }
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
