//! `windlass vacuum`: runs a store's maintenance to its end.

use std::path::Path;
use std::time::Duration;

use windlass_file::{FileStore, MaintenancePolicy, MaintenanceReport};

use crate::args::VacuumArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::print_notice;
use crate::wiring::Adapters;

pub(super) async fn vacuum(args: VacuumArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    // The named store must exist.
    drop(site.open_to_read().await?);
    let Some(folder) = site.store.file_folder().map(Path::to_owned) else {
        let words =
            format!("cannot vacuum {}: only a file store has maintenance to run", site.store);
        return Err(Failure::usage(words));
    };
    let upkeep =
        MaintenancePolicy { merge_after: Some(Duration::ZERO), erase_after: args.erase_after };
    let kept = tokio::task::spawn_blocking(move || FileStore::vacuum(&folder, upkeep)).await;
    let kept = kept.map_err(|error| {
        Failure::new(ExitKind::Store, format!("cannot vacuum the store: {error}"))
    })?;
    let MaintenanceReport { merged, erased, removed } = kept?;
    print_notice(&format!(
        "{}: sessions merged: {merged}, erased: {erased}, segments removed: {removed}",
        site.store
    ));
    // Sessions that were erased now have keys that nothing needs.
    let keys = site.destroy_unused_keys().await?;
    if keys > 0 {
        print_notice(&format!("{}: keys destroyed: {keys}", site.store));
    }
    Ok(ExitKind::Completed)
}
