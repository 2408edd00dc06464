//! The keeper: a thread of its own for each piece of upkeep, so that no append waits for it.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_ports::StoreError;

use crate::disk::Disk;
use crate::shelf::Shelf;
use crate::upkeep::{Kept, Piece, Upkeep};

/// Between two pieces when there was something to do, and when there was nothing.
const BUSY: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How often a piece that is under way is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Has a store kept up, a piece at a time. Dropped, it waits for the piece that is under way.
pub(crate) struct Keeper {
    upkeep: Upkeep,
    piece: Option<JoinHandle<Result<Kept, StoreError>>>,
    due: Instant,
}

impl Keeper {
    pub(crate) fn new(upkeep: Upkeep) -> Self {
        Self {
            upkeep,
            piece: None,
            due: Instant::now() + BUSY,
        }
    }

    /// Begins a piece when it is time, and says after how long it wants to be asked again.
    pub(crate) fn keep(
        &mut self,
        shelf: Arc<Shelf>,
        disk: Arc<dyn Disk>,
        lane: u16,
        most: u64,
    ) -> Option<Duration> {
        if self.upkeep.gather_after.is_none() && self.upkeep.erase_after.is_none() {
            return None;
        }
        if self
            .piece
            .as_ref()
            .is_some_and(|piece| !piece.is_finished())
        {
            return Some(LOOK);
        }
        if let Some(did) = self.finish() {
            self.due = Instant::now() + if did == Kept::default() { IDLE } else { BUSY };
        }
        let left = self.due.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Some(left);
        }
        let upkeep = self.upkeep;
        let piece = move || Piece::new(&shelf, &*disk, upkeep, Some(lane), most).run();
        let thread = thread::Builder::new().name("windlass-file-upkeep".to_owned());
        match thread.spawn(piece) {
            Ok(piece) => self.piece = Some(piece),
            Err(error) => {
                tracing::warn!(%error, "there is no thread for the upkeep of a store");
                self.due = Instant::now() + IDLE;
            }
        }
        Some(LOOK)
    }

    /// What the piece did that was under way; nothing where there was none.
    fn finish(&mut self) -> Option<Kept> {
        match self.piece.take()?.join() {
            Ok(Ok(kept)) => {
                if kept != Kept::default() {
                    tracing::info!(
                        gathered = kept.gathered,
                        erased = kept.erased,
                        removed = kept.removed,
                        "a store was kept up"
                    );
                }
                Some(kept)
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the upkeep of a store failed, and is tried again later");
                Some(Kept::default())
            }
            Err(_) => {
                tracing::error!("the upkeep of a store panicked");
                Some(Kept::default())
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.finish();
    }
}
