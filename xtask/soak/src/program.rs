//! The program under test: `windlass` as it is, with the kit's layer of faults over its store.

use std::process::ExitCode;
use std::sync::Arc;

use windlass_ports::LogStore;
use windlass_testkit::faults::{FaultingStore, RandomFaults};

/// The variable that makes this the program under test.
pub(crate) const SERVED: &str = "WINDLASS_SOAK_SERVED";
/// Faults of its store: seed and distance. Without it there are none.
pub(crate) const FAULTS: &str = "WINDLASS_SOAK_FAULTS";

pub(crate) fn run() -> ExitCode {
    windlass_cli::Command::new().layer(layer).main()
}

fn layer(store: Arc<dyn LogStore>) -> Arc<dyn LogStore> {
    let faults = std::env::var(FAULTS).ok();
    match faults.and_then(|text| text.parse::<RandomFaults>().ok()) {
        Some(faults) => Arc::new(FaultingStore::random(store, faults)),
        None => store,
    }
}
