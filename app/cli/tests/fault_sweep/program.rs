//! The program that fails: `windlass` with the kit's layer over its store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use windlass_engine::ports::LogStore;
use windlass_testkit::faults::{CallPlan, FaultingStore};

/// The variable that makes this the program with the layer: a plan.
pub(crate) const PLAN: &str = "WINDLASS_FAULT_PLAN";
/// The file that is created when the fault strikes.
pub(crate) const NOTE: &str = "WINDLASS_FAULT_NOTE";

/// The plan in the environment, if there is one.
pub(crate) fn plan() -> Option<String> {
    std::env::var(PLAN).ok()
}

pub(crate) fn run() -> ExitCode {
    windlass_cli::Command::new().layer(layer).main()
}

fn layer(store: Arc<dyn LogStore>) -> Arc<dyn LogStore> {
    let plan: Option<CallPlan> = plan().and_then(|plan| plan.parse().ok());
    let layer = FaultingStore::new(store, plan);
    Arc::new(match std::env::var_os(NOTE) {
        Some(note) => layer.noting(PathBuf::from(note)),
        None => layer,
    })
}
