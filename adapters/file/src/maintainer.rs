//! The maintenance thread: one per piece of work, so that no append waits for it.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_ports::StoreError;

use crate::catalog::SegmentCatalog;
use crate::disk::Disk;
use crate::maintenance::{MaintenancePass, MaintenancePolicy, MaintenanceReport};

/// Pauses between two pieces: after work was done, and after none was found.
const BUSY: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(10 * 60);
/// Interval of checks for the end of a running piece.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs maintenance in pieces. Dropping it waits for the running piece.
pub(crate) struct Maintainer {
    maintenance: MaintenancePolicy,
    piece: Option<JoinHandle<Result<MaintenanceReport, StoreError>>>,
    due: Instant,
}

impl Maintainer {
    pub(crate) fn new(maintenance: MaintenancePolicy) -> Self {
        Self { maintenance, piece: None, due: Instant::now() + BUSY }
    }

    /// Starts a piece if it is due. Returns the delay until the next call.
    pub(crate) fn start_due(
        &mut self,
        catalog: Arc<SegmentCatalog>,
        disk: Arc<dyn Disk>,
        lane: u16,
        most: u64,
    ) -> Option<Duration> {
        if self.maintenance.merge_after.is_none() && self.maintenance.erase_after.is_none() {
            return None;
        }
        if self.piece.as_ref().is_some_and(|piece| !piece.is_finished()) {
            return Some(CHECK_INTERVAL);
        }
        if let Some(did) = self.finish() {
            self.due =
                Instant::now() + if did == MaintenanceReport::default() { IDLE } else { BUSY };
        }
        let left = self.due.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Some(left);
        }
        let maintenance = self.maintenance;
        let piece =
            move || MaintenancePass::new(&catalog, &*disk, maintenance, Some(lane), most).run();
        let thread = thread::Builder::new().name("windlass-file-maintenance".to_owned());
        match thread.spawn(piece) {
            Ok(piece) => self.piece = Some(piece),
            Err(error) => {
                tracing::warn!(%error, "there is no thread for the maintenance of a store");
                self.due = Instant::now() + IDLE;
            }
        }
        Some(CHECK_INTERVAL)
    }

    /// Returns the report of the last piece, if one ran.
    fn finish(&mut self) -> Option<MaintenanceReport> {
        match self.piece.take()?.join() {
            Ok(Ok(kept)) => {
                if kept != MaintenanceReport::default() {
                    tracing::info!(
                        merged = kept.merged,
                        erased = kept.erased,
                        removed = kept.removed,
                        "a store was kept up"
                    );
                }
                Some(kept)
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the maintenance of a store failed, and is tried again later");
                Some(MaintenanceReport::default())
            }
            Err(_) => {
                tracing::error!("the maintenance of a store panicked");
                Some(MaintenanceReport::default())
            }
        }
    }
}

impl Drop for Maintainer {
    fn drop(&mut self) {
        self.finish();
    }
}
