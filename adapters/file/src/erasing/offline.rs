//! Erasing offline, also sessions that cannot be claimed because their log is damaged.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::catalog::SegmentCatalog;
use crate::disk::RealDisk;
use crate::erasing::{self, UnitSearch};
use crate::error;
use crate::format::SessionKey;
use crate::locks::SessionLocks;
use crate::paths::StorePaths;
use crate::segment_map::Damage;
use crate::store::FileStore;
use crate::unattributed::UnattributedDamage;

impl FileStore {
    /// Erases a session with its snapshot and its long outputs, even if its log is damaged. No
    /// other process may hold it.
    ///
    /// Damaged bytes of an unknown session stay; [`damage`](Self::damage) reports them.
    ///
    /// # Errors
    /// `Locked` when a process holds the session, `Unknown` when there is none, `Corrupt` when nothing
    /// is there but damage that does not say whose it was, `Full`, `ReadOnly`, `Io`.
    pub fn erase_offline(dir: &Path, session: &SessionId) -> Result<(), StoreError> {
        let paths = Arc::new(StorePaths::new(dir.to_owned()));
        let at = |error| error::from_io(error, "erasing a session in", paths.root());
        paths.create().map_err(at)?;
        let mut locks = SessionLocks::default();
        if !locks.acquire(&paths, SessionKey::of(session)).map_err(at)? {
            return Err(error::locked(session, paths.root()));
        }
        if !erasing::is_begun(&paths, session) {
            exists(&SegmentCatalog::new(paths.clone()), session)?;
        }
        erasing::begin(&paths, session)?;
        let one = std::slice::from_ref(session);
        erasing::finish(&paths, &RealDisk, one, UnitSearch::Whole)?;
        Ok(())
    }
}

/// Checks that some unit or damage belongs to the session.
fn exists(catalog: &SegmentCatalog, session: &SessionId) -> Result<(), StoreError> {
    let layout = catalog.layout(session)?;
    let names = |damage: &Damage| damage.half.is_some() || damage.lost.is_some();
    let says = layout.damages.iter().any(|(_, damage)| names(damage));
    if says || !layout.parts.is_empty() {
        return Ok(());
    }
    Err(match layout.damages.first() {
        Some((place, damage)) => {
            let unattributed = UnattributedDamage::of(*place, damage);
            error::unattributed(session, &catalog.path(*place), Seq::ZERO, &unattributed)
        }
        None => error::unknown(session, catalog.paths().root()),
    })
}
