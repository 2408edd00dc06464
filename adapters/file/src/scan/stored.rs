//! Scans of stored segments against their witnesses. A segment that is missing or cannot be read is
//! damaged as a whole, which affects the sessions that may have facts in it and no others.

use crate::format::FIRST;
use crate::paths::{self, StorePaths};
use crate::scan::{ExpectedEnd, ScanError, scan};
use crate::segment_map::{Damage, SegmentMap};
use crate::witness::{self, Witness, attribute};

/// Scans a stored segment from the end of its map on. Returns false if there is no such segment.
///
/// # Errors
/// `Newer` alone: bytes that cannot be read are damage.
pub(crate) fn scan_stored(
    paths: &StorePaths,
    map: &mut SegmentMap,
    ending: ExpectedEnd,
) -> Result<bool, ScanError> {
    // Before the segment, which is never behind it.
    let mut known = witness(paths, map);
    expect_summaries(paths, map);
    match paths::open_to_read(&paths.segment(map.segment)) {
        Ok(Some(file)) => match scan(&file, map, ending, known.as_ref()) {
            Ok(()) => {}
            Err(ScanError::Io(error)) => unreadable(map, known.as_ref(), &error),
            Err(newer @ ScanError::Newer(_)) => return Err(newer),
        },
        Ok(None) => {
            // A segment that is removed in order loses its witness first.
            known = witness(paths, map);
            let Some(known) = &known else {
                return Ok(false);
            };
            let what = "the segment is missing".to_owned();
            map.damages.push(Damage::unattributed(FIRST, known.end(), what));
        }
        Err(error) => unreadable(map, known.as_ref(), &error),
    }
    if let Err(error) = attribute(paths, known.as_ref(), map) {
        tracing::debug!(%error, "a witness cannot be read");
    }
    Ok(true)
}

/// Reads the witness of a segment; one that cannot be read states nothing.
pub(crate) fn witness(paths: &StorePaths, map: &SegmentMap) -> Option<Witness> {
    let known = Witness::read(paths, map.segment);
    known.unwrap_or_else(|error| {
        tracing::debug!(%error, "a witness cannot be read");
        None
    })
}

/// Reads the summaries that the witness has of an unread segment. A log without one is folded when
/// its summary is needed.
pub(crate) fn expect_summaries(paths: &StorePaths, map: &mut SegmentMap) {
    if map.end < FIRST {
        map.summarized = witness::summaries(paths, map.segment).unwrap_or_default();
    }
}

fn unreadable(map: &mut SegmentMap, known: Option<&Witness>, error: &std::io::Error) {
    // The units before were read.
    let offset = map.end.max(FIRST);
    let end = known.map_or(offset, Witness::end).max(offset);
    let mut damage = Damage::unattributed(offset, end, format!("it cannot be read: {error}"));
    damage.unreadable = true;
    map.damages.push(damage);
}
