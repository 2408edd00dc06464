//! Cutting off a log at a position, offline: a person gives up the rest of a damaged log.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_kit_log::{AppendRequest, Batch, LogEnd};
use windlass_ports::{StoreError, StoreErrorKind, TailRepair};

use crate::backend::FileBackend;
use crate::catalog::{SegmentCatalog, SessionLayout};
use crate::disk::RealDisk;
use crate::format::SessionKey;
use crate::log::SessionLogReader;
use crate::maintenance::MaintenancePolicy;
use crate::paths::StorePaths;
use crate::repairs::{self, BegunTruncation};
use crate::salvage::{Salvage, SalvagedData};
use crate::store::FileStore;
use crate::writer::{KeyedRequest, SEGMENT};
use crate::{checkpoints, erasing, error};

/// Policy without maintenance.
const NONE: MaintenancePolicy = MaintenancePolicy { merge_after: None, erase_after: None };

/// A pending cut of a session's log. It holds the session's lock and changes nothing until
/// [`finish`](Self::finish).
pub struct LogTruncation {
    backend: FileBackend,
    catalog: Arc<SegmentCatalog>,
    session: SessionId,
    at: Seq,
    /// Interrupted cut at the same position.
    begun: Option<BegunTruncation>,
}

impl std::fmt::Debug for LogTruncation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogTruncation")
            .field("session", &self.session)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// Prepares to cut off a session's log behind position `at`. A damaged log then ends there and
    /// can continue; a sound one is shorter. No other process may hold the session or write to the
    /// store.
    ///
    /// # Errors
    /// `Locked` when a process holds the session, `Unknown` when there is none, `Invalid` when `at` is
    /// 0 (erase it instead) or the log cannot be read up to it, `ReadOnly`, `Io`.
    pub fn truncate(dir: &Path, session: &SessionId, at: Seq) -> Result<LogTruncation, StoreError> {
        let catalog = Arc::new(SegmentCatalog::new(Arc::new(StorePaths::new(dir.to_owned()))));
        let mut cut = LogTruncation {
            backend: FileBackend::new(catalog.clone(), Arc::new(RealDisk), SEGMENT, NONE),
            catalog,
            session: session.clone(),
            at,
            begun: None,
        };
        cut.begin()?;
        Ok(cut)
    }
}

impl LogTruncation {
    fn begin(&mut self) -> Result<(), StoreError> {
        if self.at == Seq::ZERO {
            return Err(self.invalid("nothing would be left: erase the session instead"));
        }
        self.backend.lock(&self.session, SessionKey::of(&self.session))?;
        let paths = self.catalog.paths();
        if erasing::is_begun(paths, &self.session) {
            return Err(error::unknown(&self.session, paths.root()));
        }
        let layout = self.catalog.layout(&self.session)?;
        if layout.parts.is_empty() && layout.damages.is_empty() {
            return Err(error::unknown(&self.session, paths.root()));
        }
        self.up_to(&layout)?;
        let begun = repairs::truncation(paths, &self.session);
        let begun = begun.map_err(|error| error::reading(error, &paths.repairs()))?;
        self.begun = begun.filter(|begun| begun.at == self.at);
        Ok(())
    }

    /// Path of the data that an interrupted cut at this position saved. Some of the data may have
    /// been removed since.
    #[must_use]
    pub fn salvage_path(&self) -> Option<&Path> {
        self.begun.as_ref()?.saved.as_deref()
    }

    /// Records durably that all data to be removed was saved at this path, so that an interrupted
    /// cut need not save it again.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    pub fn record_salvage(&mut self, saved: &Path) -> Result<(), StoreError> {
        let paths = self.catalog.paths();
        let begun = repairs::begin_truncation(paths, &self.session, self.at, Some(saved));
        begun.map_err(|error| error::from_io(error, "recording a repair in", &paths.repairs()))?;
        self.begun = Some(BegunTruncation { at: self.at, saved: Some(saved.to_owned()) });
        Ok(())
    }

    /// Reads the log up to the position, checked from its beginning.
    fn up_to(&self, layout: &SessionLayout) -> Result<LogPrefix, StoreError> {
        let log = SessionLogReader { catalog: &self.catalog, session: &self.session };
        let read = log.units_to(layout, self.at)?;
        match read.last == self.at {
            true => Ok(read),
            false => Err(self.unreadable(read.last)),
        }
    }

    /// Passes everything that the cut removes to `take`, unit by unit, so that it can be saved. It
    /// stops if `take` returns `Break`.
    ///
    /// # Errors
    /// `Newer`, `Io`.
    pub fn salvage(
        &self,
        take: &mut dyn FnMut(SalvagedData<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let behind = Salvage { catalog: &self.catalog, session: &self.session, after: self.at };
        behind.run(take)
    }

    /// Cuts off the log and overwrites the rest.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; the log is then as it was, or cut off in part: it is not claimed
    /// until it is cut off again.
    pub fn finish(mut self) -> Result<TailRepair, StoreError> {
        let (session, catalog, at) = (self.session.clone(), self.catalog.clone(), self.at);
        let (session, paths) = (&session, catalog.paths());
        let key = SessionKey::of(session);
        let layout = catalog.layout(session)?;
        let read = self.up_to(&layout)?;
        let mut lanes: Vec<u16> = layout
            .damages
            .iter()
            .filter(|(_, damage)| damage.half.is_none())
            .map(|(place, _)| place.writer)
            .collect();
        lanes.sort_unstable();
        lanes.dedup();
        drop(layout);
        let record = paths.truncating(session);
        let recording = |error| error::from_io(error, "recording a repair in", &record);
        if self.begun.is_none() {
            repairs::begin_truncation(paths, session, at, None).map_err(recording)?;
        }
        // The unit that ends with the position is written anew: behind the cut, where it is a part of
        // one that is erased; behind damage, so that nothing of this log can stand there.
        self.backend.rewrite_last_unit(session, key, &lanes, &read)?;
        let cut_bytes = self.erase(key)?;
        let path = paths.checkpoint(session);
        checkpoints::remove(paths, session)
            .map_err(|error| error::from_io(error, "removing", &path))?;
        repairs::end(&record).map_err(recording)?;
        Ok(TailRepair { last: at, cut_bytes })
    }

    /// Erases all units behind the position.
    fn erase(&self, key: SessionKey) -> Result<u64, StoreError> {
        let paths = self.catalog.paths();
        let folder = paths.writers_folder();
        let failed = |error| error::from_io(error, "cutting a log off in", &folder);
        let mut bytes = 0;
        for place in paths.list_all().map_err(failed)? {
            bytes += erasing::erase(paths, &RealDisk, place, key, self.at).map_err(failed)?;
        }
        for (place, damage) in self.catalog.layout(&self.session)?.damages {
            if damage.half.is_some() {
                let blanked = erasing::overwrite(paths, &RealDisk, place, key, &damage, self.at);
                bytes += blanked.map_err(failed)?;
            }
        }
        erasing::note(paths).map_err(failed)?;
        Ok(bytes)
    }

    fn unreadable(&self, last: Seq) -> StoreError {
        self.invalid(&match last {
            Seq::ZERO => "nothing of it can be read: erase the session instead".to_owned(),
            last => format!("it can be read up to position {last} and not farther: name that"),
        })
    }

    fn invalid(&self, what: &str) -> StoreError {
        let context = format!("cutting off the log of {}: {what}", self.session);
        StoreError::new(StoreErrorKind::Invalid, context)
    }
}

/// The beginning of a log up to a position, with the facts of its last unit.
pub(crate) struct LogPrefix {
    /// Last position of the beginning.
    pub(crate) last: Seq,
    /// End of the log before its last unit.
    pub(crate) before: LogEnd,
    /// Encoded facts of the last unit up to the position.
    pub(crate) texts: Vec<Vec<u8>>,
}

impl LogPrefix {
    /// Converts the piece to an append.
    pub(crate) fn request(&self, session: &SessionId) -> Result<AppendRequest, StoreError> {
        let mut facts = Vec::with_capacity(self.texts.len());
        for text in &self.texts {
            let fact = windlass_ports::codec::decode(text).map_err(|error| {
                let context = format!("reading session {session}: {error}");
                StoreError::new(StoreErrorKind::Io, context).caused_by(error)
            })?;
            facts.push(Arc::new(fact));
        }
        let batch = Batch {
            session: session.clone(),
            after: self.before.last,
            bytes: self.texts.iter().map(Vec::len).sum(),
            facts,
            texts: self.texts.clone(),
        };
        Ok(AppendRequest::new(self.before.clone(), batch))
    }
}

impl FileBackend {
    /// Writes the last unit again, as the last unit of the session in these lanes or in its own.
    fn rewrite_last_unit(
        &mut self,
        session: &SessionId,
        key: SessionKey,
        lanes: &[u16],
        read: &LogPrefix,
    ) -> Result<(), StoreError> {
        let request = &read.request(session)?;
        let mut all = lanes.to_vec();
        if all.is_empty() {
            all.push(self.writer()?.id());
        }
        for lane in all {
            let writer = self.writer_of(lane)?;
            // A separate extent, beside the existing units of the session.
            writer.note_apart(key, read.before.summary.clone());
            writer.append(&[KeyedRequest { key, request }])?;
        }
        Ok(())
    }
}
