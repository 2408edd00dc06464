//! The store of `docs/adapters.md` passes its suite, and does not with the bug that its flag
//! switches on: then the suite names the law that is broken, and a world that breaks it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/new_store/store.rs"]
mod store;

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use store::{Bug, LinesStore};
use tempfile::TempDir;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::{
    CASES, FactDamage, FactDamageKind, Inspection, StoreFixture, bytes_of, copy_of, damage_files,
};
use windlass_testkit::world::{Script, Step};

struct Place {
    folder: TempDir,
    copies: TempDir,
    bug: Option<Bug>,
}

impl Place {
    fn new(bug: Option<Bug>) -> Self {
        let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Self { folder, copies, bug }
    }
}

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(LinesStore::open(self.folder.path(), self.bug))
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(self.folder.path(), self.copies.path()).unwrap();
        Some(Arc::new(LinesStore::open(&copy, self.bug)))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(self.folder.path(), self.copies.path()).unwrap();
        match damage.kind {
            FactDamageKind::Changed => damage_files(&copy, damage.text).unwrap(),
            FactDamageKind::Removed => remove_line(&copy, damage).unwrap(),
        }
        Inspection::Found(Ok(Arc::new(LinesStore::open(&copy, self.bug))))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Found(bytes_of(self.folder.path()).unwrap())
    }
}

/// Removes the line that holds a fact.
fn remove_line(folder: &Path, damage: FactDamage<'_>) -> io::Result<()> {
    let path = folder.join(format!("{}.lines", damage.session));
    let lines = fs::read_to_string(&path)?;
    let stay = lines.split_inclusive('\n').filter(|line| !line.contains(damage.text));
    fs::write(path, stay.collect::<String>())
}

windlass_testkit::log_store_suite!(Place::new(None));

#[test]
fn with_its_bug_it_breaks_a_law_in_a_world_that_reads_as_a_script() {
    let bug = Some(Bug::ForgetsTheLastFact);
    let name = "the_laws_hold_in_worlds_that_it_keeps";
    let (_, case) = CASES.iter().find(|(case, _)| *case == name).unwrap();
    let broken = case(&Place::new(bug)).unwrap_err().to_string();
    assert!(broken.starts_with("law 1 is broken"), "{broken}");
    let (_, script) = broken.split_once("keeps:\n").unwrap();
    let script: Script = script.parse().unwrap();
    let crashes = |step: &&Step| matches!(step, Step::Crash { .. });
    assert_eq!(script.steps.iter().filter(crashes).count(), 1, "{broken}");
    assert!(script.steps.len() <= 5, "{broken}");
}

#[test]
fn a_line_that_was_torn_off_is_cut_and_reported() {
    use windlass_testkit::store::numbered_facts;

    let runtime = tokio::runtime::Builder::new_current_thread();
    let place = Place::new(None);
    let told = { runtime }.build().unwrap().block_on(async {
        let id = windlass_core::SessionId::new("torn").unwrap();
        let store = place.open().await;
        let claim = store.claim(&id).await.unwrap();
        let facts = numbered_facts(&id, claim.last, 3);
        let appended = store.append(&id, claim.epoch, claim.last, &facts).await;
        appended.unwrap();
        let path = place.folder.path().join("torn.lines");
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"[{\"v\":1");
        fs::write(&path, text).unwrap();
        place.open().await.claim(&id).await.unwrap()
    });
    assert_eq!(told.last.0, 3);
    assert_eq!(told.repaired.unwrap().cut_bytes, 7);
}
