//! Lost: damage that is no known session's, and what settles it.
//!
//! Where a stretch of a segment says no more whose it was, any session may have had facts there, also
//! one of which nothing else is left. Such a session, begun anew under its name, would have a second
//! log of the same positions: so nobody is let in whose log may go on in the stretch, until a person
//! accepts that what stood there is lost.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;
use std::thread;

use windlass_ports::{StoreError, StoreErrorKind};

use crate::disk::{LogFile, RealDisk, read_full_at, write_all_at};
use crate::erasing;
use crate::error;
use crate::format::{FIRST, Key, Place, segment_head};
use crate::map::{Damage, Map};
use crate::places::{self, COLD, Places};
use crate::remains::{Remains, raw, segment_name};
use crate::scan::{Ending, Refused, scan};
use crate::shelf::{LOOKS, PAUSE};
use crate::store::FileStore;

/// The most bytes that one erased unit takes the place of.
const MOST: u64 = 64 * 1024 * 1024;

/// Where a damaged stretch begins: written as `LANE/SEGMENT@OFFSET`, for example `0000/00000001@572`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StretchAt {
    place: Place,
    pub(crate) offset: u64,
}

/// A stretch of a segment that does not read, and that no session which is listed is known to have had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins.
    pub at: StretchAt,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it was one session's, whose name is not known.
    pub of_one: bool,
    /// What is wrong with it.
    pub what: String,
}

impl Stretch {
    pub(crate) fn of(place: Place, damage: &Damage) -> Self {
        let at = StretchAt {
            place,
            offset: damage.offset,
        };
        Self {
            at,
            bytes: damage.end.saturating_sub(damage.offset),
            of_one: damage.half.is_some(),
            what: damage.what.clone(),
        }
    }
}

impl StretchAt {
    /// The file that it is in, in the folder of the store.
    #[must_use]
    pub fn file(&self) -> String {
        segment_name(self.place)
    }
}

impl fmt::Display for StretchAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { lane, number } = self.place;
        write!(f, "{lane:04x}/{number:08x}@{}", self.offset)
    }
}

/// A text is not `LANE/SEGMENT@OFFSET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoStretch;

impl fmt::Display for NoStretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a damaged stretch is named as in 0000/00000001@572")
    }
}

impl std::error::Error for NoStretch {}

impl FromStr for StretchAt {
    type Err = NoStretch;

    fn from_str(text: &str) -> Result<Self, NoStretch> {
        let (place, offset) = text.split_once('@').ok_or(NoStretch)?;
        let (lane, number) = place.split_once('/').ok_or(NoStretch)?;
        let place = Place {
            lane: u16::from_str_radix(lane, 16).map_err(|_| NoStretch)?,
            number: u32::from_str_radix(number, 16).map_err(|_| NoStretch)?,
        };
        let offset = offset.parse().map_err(|_| NoStretch)?;
        Ok(Self { place, offset })
    }
}

impl FileStore {
    /// Looks through all segments for damage that no session which is listed tells of: whole sessions
    /// may have been there. Takes no lock.
    ///
    /// # Errors
    /// `Newer`, `Io`.
    pub fn damage(dir: &Path) -> Result<Vec<Stretch>, StoreError> {
        let places = Places::new(dir.to_owned());
        let folder = places.lanes();
        let all = places.list_all();
        let all = all.map_err(|error| error::reading(error, &folder))?;
        let (mut known, mut damages) = (HashSet::new(), Vec::new());
        for (at, place) in all.iter().enumerate() {
            let last = all.get(at + 1).is_none_or(|next| next.lane != place.lane);
            let Some(map) = look(&places, *place, last)? else {
                continue;
            };
            known.extend(map.tracks.keys().map(|key| key.half()));
            damages.extend(map.damages.into_iter().map(|damage| (*place, damage)));
        }
        let hidden = damages.iter().filter(|(_, damage)| match damage.half {
            None => true,
            Some(half) => damage.id.is_none() && !known.contains(&half),
        });
        Ok(hidden
            .map(|(place, damage)| Stretch::of(*place, damage))
            .collect())
    }

    /// Begins to give a damaged stretch up for good: what stood there is lost, and the store takes
    /// sessions again whose facts it may have held. No process may write to its lane meanwhile.
    ///
    /// # Errors
    /// `Invalid` when nothing is damaged there, `Locked` when a process writes to the lane, `Newer`,
    /// `ReadOnly`, `Io`.
    pub fn lose(dir: &Path, at: StretchAt) -> Result<Loss, StoreError> {
        let places = Places::new(dir.to_owned());
        let path = places.segment(at.place);
        let none = || {
            let context = format!(
                "nothing is damaged at byte {} of {}",
                at.offset,
                path.display()
            );
            StoreError::new(StoreErrorKind::Invalid, context)
        };
        if !path.exists() {
            return Err(none());
        }
        let lane = places.lane(at.place.lane);
        let lock = places.lock_lane(at.place.lane);
        let lock = lock.map_err(|error| error::from_io(error, "locking", &lane))?;
        let lock = lock.ok_or_else(|| error::busy_lane(&lane))?;
        let numbers = places.list_segments(at.place.lane);
        let numbers = numbers.map_err(|error| error::reading(error, &lane))?;
        let last = numbers.last() == Some(&at.place.number);
        let map = look(&places, at.place, last)?.ok_or_else(none)?;
        let mut damages = map.damages.iter();
        let damage = damages.find(|damage| damage.offset == at.offset);
        Ok(Loss {
            at,
            end: damage.ok_or_else(none)?.end,
            places,
            _lock: lock,
        })
    }
}

/// Scans a segment, as the last one of its lane or as one that nobody appends to. What looks damaged may
/// be a write that is under way.
fn look(places: &Places, place: Place, last: bool) -> Result<Option<Map>, StoreError> {
    let ending = match last && place.lane != COLD {
        true => Ending::Open,
        false => Ending::Sealed,
    };
    let path = places.segment(place);
    for again in 0..LOOKS {
        let opened = places::open_to_read(&path);
        let Some(file) = opened.map_err(|error| error::reading(error, &path))? else {
            return Ok(None);
        };
        let mut map = Map::empty(place, 0);
        scan(&file, &mut map, ending).map_err(|refused| match refused {
            Refused::Io(error) => error::reading(error, &path),
            Refused::Newer(format) => error::newer(&path, format),
        })?;
        if map.damages.is_empty() || again + 1 == LOOKS {
            return Ok(Some(map));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// A damaged stretch that is about to be given up. Nothing is changed until it is
/// [finished](Self::finish).
#[derive(Debug)]
pub struct Loss {
    places: Places,
    at: StretchAt,
    end: u64,
    /// It keeps other processes from the lane.
    _lock: File,
}

impl Loss {
    /// Hands over the bytes as they stand: what is to be saved before it is finished. `take` answers
    /// whether it wants more.
    ///
    /// # Errors
    /// `Io`.
    pub fn bytes(
        &self,
        take: &mut dyn FnMut(Remains<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let path = self.places.segment(self.at.place);
        let at = |error| error::reading(error, &path);
        if let Some(file) = places::open_to_read(&path).map_err(at)? {
            let handed = raw(&file, &self.at.file(), self.at.offset, self.end, take);
            let _wanted_all = handed.map_err(at)?;
        }
        Ok(())
    }

    /// Gives the stretch up: it is overwritten, and no session is asked about it any more.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; give it up again.
    pub fn finish(self) -> Result<(), StoreError> {
        let path = self.places.segment(self.at.place);
        let at = |error| error::from_io(error, "giving up a stretch of", &path);
        // An index from before the damage tells of units that are not there.
        erasing::remove(&self.places.index(self.at.place)).map_err(at)?;
        let file = places::open_to_write(&path, false).map_err(at)?;
        self.give_up(&file).map_err(at)?;
        file.sync().map_err(at)?;
        erasing::note(&self.places).map_err(at)
    }

    fn give_up(&self, file: &File) -> std::io::Result<()> {
        let place = self.at.place;
        if self.at.offset < FIRST {
            return write_all_at(file, &segment_head(place), 0);
        }
        if self.is_last(file)? {
            return file.set_len(self.at.offset);
        }
        let mut from = self.at.offset;
        while from < self.end {
            // In parts none of which is too short for a unit.
            let size = match self.end - from {
                left if left <= MOST => left,
                left if left < 2 * MOST => left / 8 * 4,
                _ => MOST,
            };
            let damage = Damage {
                offset: from,
                end: from + size,
                half: None,
                id: None,
                what: String::new(),
            };
            let blanked = erasing::blank(
                &self.places,
                &RealDisk,
                place,
                Key(0),
                &damage,
                windlass_core::Seq::ZERO,
            )?;
            if blanked == 0 {
                let error = "it is too short to be marked: take the segment from a copy";
                return Err(std::io::Error::other(error));
            }
            from += size;
        }
        Ok(())
    }

    /// Whether nothing stands behind it.
    fn is_last(&self, file: &File) -> std::io::Result<bool> {
        let behind = LogFile::len(file)?.saturating_sub(self.end);
        let mut bytes = vec![0; usize::try_from(behind).unwrap_or(usize::MAX)];
        let read = read_full_at(file, &mut bytes, self.end)?;
        Ok(bytes.iter().take(read).all(|byte| *byte == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_a_name_that_reads_back() {
        let at: StretchAt = "0001/0000000a@572".parse().unwrap();
        assert_eq!(at.to_string(), "0001/0000000a@572");
        assert_eq!(at.file(), "lanes/0001/0000000a.seg");
        for bad in ["", "1@", "1/2", "x/1@2", "1/2@-3", "10000/1@2"] {
            assert_eq!(bad.parse::<StretchAt>(), Err(NoStretch), "{bad}");
        }
    }
}
