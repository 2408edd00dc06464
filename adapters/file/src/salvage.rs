//! Salvage: finds the facts of a session from the bytes of all segments alone, unit by unit, also
//! behind damage that no read can pass.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::ControlFlow;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::catalog::SegmentCatalog;
use crate::disk::{LogFile, SegmentBytes, most_bytes, read_full_at, read_segment};
use crate::error;
use crate::format::{self, FIRST, SegmentId, SessionKey, UnitContent, UnitHeader};
use crate::paths;

/// Most damaged bytes in one piece.
const PIECE: u64 = 192 * 1024;

/// A piece of data that is about to be overwritten.
#[derive(Debug)]
pub enum SalvagedData<'a> {
    /// Encoded fact of a unit with valid checksums. The facts before it may be damaged.
    Fact(&'a [u8]),
    /// Bytes with invalid checksums.
    Damaged {
        /// Path of the file in the folder of the store.
        file: &'a str,
        /// Offset of the bytes in the file.
        offset: u64,
        /// Damaged bytes as read.
        bytes: &'a [u8],
    },
}

/// Receives pieces until it returns `Break`.
pub(crate) type SalvageVisitor<'t> = &'t mut dyn FnMut(SalvagedData<'_>) -> ControlFlow<()>;

/// Finds all data of a session behind a position.
pub(crate) struct Salvage<'a> {
    pub(crate) catalog: &'a SegmentCatalog,
    pub(crate) session: &'a SessionId,
    pub(crate) after: Seq,
}

/// A unit with valid checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SoundUnit {
    first: Seq,
    segment: SegmentId,
    offset: u64,
    len: u32,
}

impl Salvage<'_> {
    /// Passes each fact once, by position, and then the damaged bytes.
    pub(crate) fn run(&self, take: SalvageVisitor<'_>) -> Result<(), StoreError> {
        let (sound, damaged) = self.find()?;
        let mut seen = HashSet::new();
        for unit in sound {
            let path = self.catalog.path(unit.segment);
            let at = |error| error::reading(error, &path);
            let Some(file) = paths::open_to_read(&path).map_err(at)? else {
                continue;
            };
            let mut bytes = vec![0; unit.len as usize];
            read_full_at(&file, &mut bytes, unit.offset).map_err(at)?;
            let head = format::read_header(unit.segment, unit.offset, &bytes);
            let held = head.and_then(|head| format::read_unit_content(&head, &bytes));
            let texts = held.iter().flat_map(UnitContent::texts);
            for (text, seq) in texts.zip(unit.first.0..) {
                if self.fact(Seq(seq), text, &mut seen, take).is_break() {
                    return Ok(());
                }
            }
        }
        for ((place, offset), end) in damaged {
            let path = self.catalog.path(place);
            let at = |error| error::reading(error, &path);
            let Some(file) = paths::open_to_read(&path).map_err(at)? else {
                continue;
            };
            let name = segment_name(place);
            if raw(&file, &name, offset, end, take).map_err(at)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Passes a fact that was not passed before.
    fn fact(
        &self,
        seq: Seq,
        text: &[u8],
        seen: &mut HashSet<(Seq, u32)>,
        take: SalvageVisitor<'_>,
    ) -> ControlFlow<()> {
        // A unit may hold facts on both sides of the position, and a fact may stand twice.
        let wanted = seq > self.after && seen.insert((seq, crc32c::crc32c(text)));
        match wanted {
            true => take(SalvagedData::Fact(text)),
            false => ControlFlow::Continue(()),
        }
    }

    /// Finds the sound units of the session, and its damaged bytes with their ends.
    #[expect(clippy::type_complexity, reason = "it is taken apart where it is asked for")]
    fn find(&self) -> Result<(Vec<SoundUnit>, BTreeMap<(SegmentId, u64), u64>), StoreError> {
        let (key, paths) = (SessionKey::of(self.session), self.catalog.paths());
        let (mut sound, mut damaged) = (Vec::new(), BTreeMap::new());
        let folder = paths.writers_folder();
        for place in paths.list_all().map_err(|error| error::reading(error, &folder))? {
            let path = paths.segment(place);
            let at = |error| error::reading(error, &path);
            let Some(file) = paths::open_to_read(&path).map_err(at)? else {
                continue;
            };
            each_unit(&file, place, &mut |offset, head, unit| {
                if head.erased || head.key != key || head.last() <= self.after {
                    return;
                }
                if format::read_unit_content(head, unit).is_none() {
                    damaged.insert((place, offset), offset + u64::from(head.len));
                    return;
                }
                sound.push(SoundUnit { first: head.first, segment: place, offset, len: head.len });
            })
            .map_err(at)?;
        }
        let stands: HashSet<(SegmentId, u64)> =
            sound.iter().map(|unit| (unit.segment, unit.offset)).collect();
        for (place, damage) in self.catalog.layout(self.session)?.damages {
            let at = (place, damage.offset);
            if damage.half.is_some() && !stands.contains(&at) {
                damaged.entry(at).or_insert(damage.end);
            }
        }
        sound.sort_unstable();
        Ok((sound, damaged))
    }
}

/// Path of a segment in the folder of the store.
pub(crate) fn segment_name(place: SegmentId) -> String {
    format!("lanes/{:04x}/{:08x}.seg", place.writer, place.number)
}

/// Passes bytes of a file unchanged.
pub(crate) fn raw(
    file: &dyn LogFile,
    name: &str,
    from: u64,
    to: u64,
    take: SalvageVisitor<'_>,
) -> io::Result<ControlFlow<()>> {
    let mut at = from;
    while at < to {
        let size = usize::try_from((to - at).min(PIECE)).unwrap_or_default();
        let mut bytes = vec![0; size];
        let read = read_full_at(file, &mut bytes, at)?;
        bytes.truncate(read);
        let piece = SalvagedData::Damaged { file: name, offset: at, bytes: &bytes };
        if read == 0 {
            break;
        }
        if take(piece).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        at += read as u64;
    }
    Ok(ControlFlow::Continue(()))
}

/// Visits the units of a segment with sound heads and skips damage between them.
pub(crate) fn each_unit(
    file: &dyn LogFile,
    place: SegmentId,
    take: &mut dyn FnMut(u64, &UnitHeader, &[u8]),
) -> io::Result<()> {
    let SegmentBytes { bytes, .. } = read_segment(file, 0, most_bytes(place))?;
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let mut at = FIRST as usize;
    while at <= written {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(head) = format::read_header(place, at as u64, rest) else {
            // Damage: go on at the next unit.
            at += 4;
            continue;
        };
        let size = (head.len as usize).min(rest.len());
        take(at as u64, &head, rest.get(..size).unwrap_or_default());
        at += head.len as usize;
    }
    Ok(())
}
