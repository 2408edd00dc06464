//! `windlass compact`: a store's upkeep, done until there is nothing left to do.

use std::time::Duration;

use windlass_file::{FileStore, MaintenancePolicy, MaintenanceReport};

use crate::args::Compact;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::{Site, StoreUrl};

pub(super) async fn compact(args: Compact) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    // What is named must be there.
    drop(site.open_to_read().await?);
    let StoreUrl::File(folder) = site.store.clone() else {
        let words = format!(
            "{} has no upkeep of its own to be done by hand: only a store of the kind file has",
            site.store
        );
        return Err(Failure::usage(words));
    };
    let upkeep = MaintenancePolicy {
        merge_after: Some(Duration::ZERO),
        erase_after: args.erase_after,
    };
    let kept = tokio::task::spawn_blocking(move || FileStore::compact(&folder, upkeep)).await;
    let kept = kept.map_err(|error| Failure::new(Exit::Store, format!("compacting: {error}")))?;
    let MaintenanceReport {
        merged,
        erased,
        removed,
    } = kept?;
    tell(&format!(
        "{}: sessions written together: {merged}, erased: {erased}, segments removed: {removed}",
        site.store
    ));
    Ok(Exit::Completed)
}
