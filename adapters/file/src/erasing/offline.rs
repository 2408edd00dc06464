//! Erasing offline: also what no claim can be had of, because its log is damaged.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::disk::RealDisk;
use crate::erasing::{self, Search};
use crate::error;
use crate::format::Key;
use crate::locks::Locks;
use crate::lost::Stretch;
use crate::places::Places;
use crate::shelf::Shelf;
use crate::store::FileStore;

impl FileStore {
    /// Erases a session whatever its log is like, with its snapshot and its long outputs. No other
    /// process may hold it.
    ///
    /// Damaged bytes that do not say whose they were stay: [`damage`](Self::damage) tells of them.
    ///
    /// # Errors
    /// `Locked` when a process holds the session, `Unknown` when there is none, `Corrupt` when nothing
    /// is there but damage that does not say whose it was, `Full`, `ReadOnly`, `Io`.
    pub fn erase_offline(dir: &Path, session: &SessionId) -> Result<(), StoreError> {
        let places = Arc::new(Places::new(dir.to_owned()));
        let at = |error| error::from_io(error, "erasing a session in", places.root());
        places.create().map_err(at)?;
        let mut locks = Locks::default();
        if !locks.take(&places, Key::of(session)).map_err(at)? {
            return Err(error::locked(session, places.root()));
        }
        if !erasing::is_begun(&places, session) {
            exists(&Shelf::new(places.clone()), session)?;
        }
        erasing::begin(&places, session)?;
        let one = std::slice::from_ref(session);
        erasing::finish(&places, &RealDisk, one, Search::Whole)?;
        Ok(())
    }
}

/// Whether anything there is says that it is the session's.
fn exists(shelf: &Shelf, session: &SessionId) -> Result<(), StoreError> {
    let standing = shelf.standing(session)?;
    let says = standing
        .damages
        .iter()
        .any(|(_, damage)| damage.half.is_some());
    if says || !standing.parts.is_empty() {
        return Ok(());
    }
    Err(match standing.damages.first() {
        Some((place, damage)) => {
            let stretch = Stretch::of(*place, damage);
            error::stretch(session, &shelf.path(*place), Seq::ZERO, &stretch)
        }
        None => error::unknown(session, shelf.places().root()),
    })
}
