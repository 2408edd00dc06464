//! Unattributed damage: damaged bytes that no longer name their session, and their removal.
//!
//! Any session may have had facts there, even one without other units. A new session of that name
//! would have a second log with the same positions. So sessions whose log may continue in the bytes
//! are refused until a person accepts the loss.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;

use windlass_ports::{StoreError, StoreErrorKind};

use crate::catalog::{LOOKS, PAUSE};
use crate::disk::{LogFile, RealDisk, most_bytes, read_segment, write_all_at};
use crate::erasing;
use crate::error;
use crate::format::{FIRST, SegmentId, SessionKey, segment_header};
use crate::paths::{self, MERGED_WRITER, StorePaths};
use crate::repairs;
use crate::salvage::{SalvagedData, raw, segment_name};
use crate::scan::{self, ExpectedEnd, ScanError, scan_stored};
use crate::segment_map::{Damage, SegmentMap};
use crate::store::FileStore;
use crate::witness::record::SegmentState;
use crate::witness::{self, compare};

/// Most bytes of one erased unit.
const MOST: u64 = 64 * 1024 * 1024;

/// Location of damage, written as `LANE/SEGMENT@OFFSET`, for example `0000/00000001@572`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamageLocation {
    segment: SegmentId,
    pub(crate) offset: u64,
}

/// Damaged bytes of a segment that belong to no listed session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnattributedDamage {
    /// Location of the first byte.
    pub at: DamageLocation,
    /// Number of damaged bytes.
    pub bytes: u64,
    /// True if the bytes belonged to one session of unknown name.
    pub of_one_session: bool,
    /// Description of the damage.
    pub description: String,
}

impl UnattributedDamage {
    pub(crate) fn of(place: SegmentId, damage: &Damage) -> Self {
        let at = DamageLocation { segment: place, offset: damage.offset };
        Self {
            at,
            bytes: damage.end.saturating_sub(damage.offset),
            of_one_session: damage.half.is_some(),
            description: damage.what.clone(),
        }
    }
}

impl DamageLocation {
    /// Path of the segment in the folder of the store.
    #[must_use]
    pub fn file(&self) -> String {
        segment_name(self.segment)
    }
}

impl fmt::Display for DamageLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SegmentId { writer: lane, number } = self.segment;
        write!(f, "{lane:04x}/{number:08x}@{}", self.offset)
    }
}

/// Error of a text that is not `LANE/SEGMENT@OFFSET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a damaged stretch is named as in 0000/00000001@572")]
pub struct InvalidDamageLocation;

impl FromStr for DamageLocation {
    type Err = InvalidDamageLocation;

    fn from_str(text: &str) -> Result<Self, InvalidDamageLocation> {
        let (place, offset) = text.split_once('@').ok_or(InvalidDamageLocation)?;
        let (lane, number) = place.split_once('/').ok_or(InvalidDamageLocation)?;
        let place = SegmentId {
            writer: u16::from_str_radix(lane, 16).map_err(|_| InvalidDamageLocation)?,
            number: u32::from_str_radix(number, 16).map_err(|_| InvalidDamageLocation)?,
        };
        let offset = offset.parse().map_err(|_| InvalidDamageLocation)?;
        Ok(Self { segment: place, offset })
    }
}

impl FileStore {
    /// Finds damage in all segments that belongs to no listed session. Takes no lock.
    ///
    /// # Errors
    /// `Newer`, `Io`.
    pub fn damage(dir: &Path) -> Result<Vec<UnattributedDamage>, StoreError> {
        let paths = StorePaths::new(dir.to_owned());
        let folder = paths.writers_folder();
        let all = paths.list_all();
        let all = all.map_err(|error| error::reading(error, &folder))?;
        // An interrupted erasure leaves damaged units of its session.
        let erasings = paths.list_erasings().map_err(|error| error::reading(error, dir))?;
        let mut known: HashSet<u32> =
            erasings.iter().map(|session| SessionKey::of(session).half()).collect();
        let mut damages = Vec::new();
        for (at, place) in all.iter().enumerate() {
            let last = all.get(at + 1).is_none_or(|next| next.writer != place.writer);
            let Some(map) = scan_repeatedly(&paths, *place, last)? else {
                continue;
            };
            known.extend(map.tracks.keys().map(|key| key.half()));
            damages.extend(map.damages.into_iter().map(|damage| (*place, damage)));
        }
        let hidden = damages.iter().filter(|(_, damage)| match (damage.half, &damage.lost) {
            (None, None) => true,
            // The log of each of these sessions is damaged.
            (None, Some(_)) => false,
            (Some(half), _) => damage.id.is_none() && !known.contains(&half),
        });
        Ok(hidden.map(|(place, damage)| UnattributedDamage::of(*place, damage)).collect())
    }

    /// Prepares to discard damaged bytes. Their facts are lost then, and the store accepts all
    /// sessions again. No process may write to the lane.
    ///
    /// # Errors
    /// `Invalid` when nothing is damaged there, `Locked` when a process writes to the lane, `Newer`,
    /// `ReadOnly`, `Io`.
    pub fn discard(dir: &Path, at: DamageLocation) -> Result<DamageRemoval, StoreError> {
        let paths = StorePaths::new(dir.to_owned());
        let path = paths.segment(at.segment);
        let none = || {
            let context = format!("nothing is damaged at byte {} of {}", at.offset, path.display());
            StoreError::new(StoreErrorKind::Invalid, context)
        };
        let lane = paths.writer_folder(at.segment.writer);
        let lock = paths.lock_writer(at.segment.writer);
        let lock = lock.map_err(|error| error::from_io(error, "locking", &lane))?;
        let lock = lock.ok_or_else(|| error::busy_writer(&lane))?;
        let numbers = paths.list_segments(at.segment.writer);
        let numbers = numbers.map_err(|error| error::reading(error, &lane))?;
        let last = numbers.last() == Some(&at.segment.number);
        let begun = repairs::discard(&paths, at);
        let begun = begun.map_err(|error| error::reading(error, &paths.repairs()))?;
        let map = scan_repeatedly(&paths, at.segment, last)?;
        let map = map.unwrap_or_else(|| SegmentMap::empty(at.segment, 0));
        let mut damages = map.damages.iter();
        let end = match (damages.find(|damage| damage.offset == at.offset), &begun) {
            (Some(damage), _) => damage.end,
            // It was interrupted at its end.
            (None, Some(_)) => at.offset,
            (None, None) => return Err(none()),
        };
        Ok(DamageRemoval { at, end, saved: begun.flatten(), map, paths, _lock: lock })
    }
}

/// Scans a segment, as the last of its lane or as a sealed one. Repeats the scan, since damage may
/// be an unfinished write.
fn scan_repeatedly(
    paths: &StorePaths,
    place: SegmentId,
    last: bool,
) -> Result<Option<SegmentMap>, StoreError> {
    let ending = match last && place.writer != MERGED_WRITER {
        true => ExpectedEnd::Open,
        false => ExpectedEnd::Sealed,
    };
    let path = paths.segment(place);
    for again in 0..LOOKS {
        let mut map = SegmentMap::empty(place, 0);
        let there = scan_stored(paths, &mut map, ending).map_err(|refused| match refused {
            ScanError::Io(error) => error::reading(error, &path),
            ScanError::Newer(format) => error::newer(&path, format),
        })?;
        if !there {
            return Ok(None);
        }
        let known = scan::witness(paths, &map);
        let compared = compare(paths, known.as_ref(), &mut map);
        compared.map_err(|error| error::reading(error, &paths.witness(place)))?;
        if map.damages.is_empty() || again + 1 == LOOKS {
            return Ok(Some(map));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// A pending removal of damage. It changes nothing until [`finish`](Self::finish).
#[derive(Debug)]
pub struct DamageRemoval {
    paths: StorePaths,
    at: DamageLocation,
    end: u64,
    saved: Option<PathBuf>,
    /// Content of the segment.
    map: SegmentMap,
    /// Lock of the lane.
    _lock: File,
}

impl DamageRemoval {
    /// Passes the damaged bytes to `take`, so that they can be saved. It stops if `take` returns
    /// `Break`.
    ///
    /// # Errors
    /// `Io`.
    pub fn bytes(
        &self,
        take: &mut dyn FnMut(SalvagedData<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let path = self.paths.segment(self.at.segment);
        let at = |error| error::reading(error, &path);
        if let Some(file) = paths::open_to_read(&path).map_err(at)? {
            let handed = raw(&file, &self.at.file(), self.at.offset, self.end, take);
            let _wanted_all = handed.map_err(at)?;
        }
        Ok(())
    }

    /// Path of the bytes that an interrupted removal saved. Some may have been overwritten since.
    #[must_use]
    pub fn salvage_path(&self) -> Option<&Path> {
        self.saved.as_deref()
    }

    /// Records durably that the bytes were saved at this path, so that an interrupted removal need
    /// not save them again.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    pub fn record_salvage(&mut self, saved: &Path) -> Result<(), StoreError> {
        let begun = repairs::begin_discard(&self.paths, self.at, Some(saved));
        let folder = self.paths.repairs();
        begun.map_err(|error| error::from_io(error, "recording a repair in", &folder))?;
        self.saved = Some(saved.to_owned());
        Ok(())
    }

    /// Overwrites the damaged bytes, so that they refuse no session any more.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; give it up again.
    pub fn finish(self) -> Result<(), StoreError> {
        let path = self.paths.segment(self.at.segment);
        let at = |error| error::from_io(error, "giving up a stretch of", &path);
        if self.end == self.at.offset {
            return self.end().map_err(at);
        }
        // An index from before the damage tells of units that are not there.
        erasing::remove(&self.paths.index(self.at.segment)).map_err(at)?;
        if !path.exists() {
            witness::remove(&self.paths, self.at.segment).map_err(at)?;
            return self.end().map_err(at);
        }
        let file = paths::open_to_write(&path, false).map_err(at)?;
        let is_last = self.at.offset >= FIRST && self.is_last(&file).map_err(at)?;
        self.accept(is_last).map_err(at)?;
        self.erase_bytes(&file, is_last).map_err(at)?;
        file.sync().map_err(at)?;
        self.end().map_err(at)
    }

    fn end(&self) -> std::io::Result<()> {
        erasing::note(&self.paths)?;
        repairs::end(&self.paths.discarding(self.at))
    }

    /// Has the witness state what is there, before bytes are changed. While there is more damage it
    /// stays as it is.
    fn accept(&self, is_last: bool) -> std::io::Result<()> {
        let mut map = self.map.clone();
        map.damages.retain(|damage| damage.offset != self.at.offset);
        if !map.damages.is_empty() {
            return Ok(());
        }
        if is_last {
            map.end = map.end.min(self.at.offset.max(FIRST));
        }
        witness::put(&self.paths, &map, SegmentState::Closed)
    }

    fn erase_bytes(&self, file: &File, is_last: bool) -> std::io::Result<()> {
        let place = self.at.segment;
        if self.at.offset < FIRST {
            return write_all_at(file, &segment_header(place), 0);
        }
        if is_last {
            return file.set_len(self.at.offset);
        }
        // From the last part to the first, so that what is left keeps its name.
        let mut to = self.end;
        while to > self.at.offset {
            // In parts none of which is too short for a unit.
            let size = match to - self.at.offset {
                left if left <= MOST => left,
                left if left < 2 * MOST => left / 8 * 4,
                _ => MOST,
            };
            let damage = Damage::unattributed(to - size, to, String::new());
            let (paths, zero) = (&self.paths, windlass_core::Seq::ZERO);
            let blanked =
                erasing::overwrite(paths, &RealDisk, place, SessionKey(0), &damage, zero)?;
            if blanked == 0 {
                let error = "it is too short to be marked: take the segment from a copy";
                return Err(std::io::Error::other(error));
            }
            to -= size;
        }
        Ok(())
    }

    /// Returns true if only zeros follow.
    fn is_last(&self, file: &File) -> std::io::Result<bool> {
        Ok(read_segment(file, self.end, most_bytes(self.at.segment))?
            .bytes
            .iter()
            .all(|byte| *byte == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_a_name_that_reads_back() {
        let at: DamageLocation = "0001/0000000a@572".parse().unwrap();
        assert_eq!(at.to_string(), "0001/0000000a@572");
        assert_eq!(at.file(), "lanes/0001/0000000a.seg");
        for bad in ["", "1@", "1/2", "x/1@2", "1/2@-3", "10000/1@2"] {
            assert_eq!(bad.parse::<DamageLocation>(), Err(InvalidDamageLocation), "{bad}");
        }
    }
}
