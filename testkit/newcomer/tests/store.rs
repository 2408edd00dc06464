//! The store of the guide, held to the suite of its port, and killed.

mod fixtures;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fixtures::Place;
use newcomer::store::LinesStore;
use windlass_ports::{LogStore, StoreError, StoreErrorKind};

fn open(folder: &Path) -> Arc<dyn LogStore> {
    Arc::new(LinesStore::open(folder, None))
}

fn open_folder(folder: &Path) -> Result<Arc<dyn LogStore>, StoreError> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| StoreError::new(StoreErrorKind::Io, error.to_string()))?;
    Ok(open(folder))
}

windlass_testkit::log_store_suite!(Place::new(open, Duration::from_secs(30)));
windlass_testkit::kill_suite!(open_folder);

#[test]
fn its_own_cases_hold() {
    for (name, case) in fixtures::own::CASES {
        let checked = case(&Place::new(open, Duration::from_secs(30)));
        assert!(checked.is_ok(), "{name}: {checked:?}");
    }
}
