//! Recovery of a lane's last segment after its writer died.

use std::io;
use std::path::Path;

use windlass_ports::StoreError;

use crate::disk::{LogFile, read_full_at, write_all_at};
use crate::error;
use crate::format::{FIRST, segment_header};
use crate::scan::{ExpectedEnd, ScanError, scan};
use crate::segment_map::{SegmentMap, TornTail};
use crate::witness::Witness;

/// Makes the last segment of a lane durable and cuts off torn units. Returns `None` if the segment
/// is damaged or cannot be read, and leaves it unchanged.
///
/// The last group may be only in the system's memory: its writer may have died before the sync, or
/// the sync may have failed. Writing it again makes the next sync reliable.
pub(crate) fn settle(
    file: &dyn LogFile,
    map: &mut SegmentMap,
    path: &Path,
    known: Option<&Witness>,
) -> Result<Option<Option<TornTail>>, StoreError> {
    let at = |error| error::from_io(error, "claiming", path);
    match scan(file, map, ExpectedEnd::Open, known) {
        Ok(()) => {}
        Err(ScanError::Newer(format)) => return Err(error::newer(path, format)),
        Err(ScanError::Io(error)) => {
            tracing::warn!(path = %path.display(), %error, "a segment cannot be read");
            return Ok(None);
        }
    }
    if !map.damages.is_empty() {
        return Ok(None);
    }
    if map.end < FIRST {
        file.set_len(0).map_err(at)?;
        write_all_at(file, &segment_header(map.segment), 0).map_err(at)?;
        file.sync().map_err(at)?;
        map.end = FIRST;
        map.group = FIRST;
        return Ok(Some(None));
    }
    let torn = map.torn.take();
    if let Some(torn) = &torn {
        let (bytes, sessions) = (torn.bytes, torn.parts.len());
        match torn.proven {
            true => tracing::warn!(
                path = %path.display(), bytes, sessions,
                "torn appends that were never acknowledged were cut off"
            ),
            false => tracing::warn!(
                path = %path.display(), bytes, sessions, "unfinished appends were cut off"
            ),
        }
        file.set_len(map.end).map_err(at)?;
    }
    let size = usize::try_from(map.end - map.group).unwrap_or_default();
    let mut group = vec![0; size];
    if read_full_at(file, &mut group, map.group).map_err(at)? != size {
        return Err(at(io::ErrorKind::UnexpectedEof.into()));
    }
    write_all_at(file, &group, map.group).map_err(at)?;
    file.sync().map_err(at)?;
    Ok(Some(torn))
}
