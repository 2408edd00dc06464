//! The witness of a segment, a file in a folder of its own: how far the segment is durable, and
//! where each session ends in it. Anything that a segment lacks against its witness is damage.
//!
//! A statement is written after the sync of its group and before the answer, and synced within
//! seconds. So each statement that a crash leaves is true: a segment may be ahead of its witness,
//! never behind it. A missing or damaged witness states nothing.

mod adopting;
mod loss;
pub(crate) mod record;
mod writing;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use windlass_ports::ChainLink;

use crate::disk::{read_full_at, write_all_at};
use crate::erasing;
use crate::format::{FIRST, KeyMap, SegmentId, SessionKey};
use crate::paths::{self, StorePaths};
use record::{Boot, HEADS, SegmentState, Statement, WitnessedHead};

pub(crate) use adopting::{adopt, adopt_others};
pub(crate) use loss::{attribute, compare};
pub(crate) use writing::{WitnessWriter, put};

/// Most bytes of heads that are read.
const MOST_HEADS: u64 = 256 * 1024 * 1024;

/// The newest statement about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Witness {
    statement: Statement,
}

impl Witness {
    /// Reads the newest statement. Returns `None` if there is none that claims anything.
    pub(crate) fn read(paths: &StorePaths, segment: SegmentId) -> io::Result<Option<Self>> {
        let Some(file) = paths::open_to_read(&paths.witness(segment))? else {
            return Ok(None);
        };
        let mut bytes = [0; HEADS];
        let read = read_full_at(&file, &mut bytes, 0)?;
        let bytes = bytes.get(..read).unwrap_or_default();
        let statement = record::newest_statement(segment, bytes);
        Ok(statement.filter(|said| said.end > FIRST).map(|statement| Self { statement }))
    }

    /// End of the units that were durable.
    pub(crate) fn end(&self) -> u64 {
        self.statement.end
    }

    /// Link of the unit at the end.
    pub(crate) fn link(&self) -> ChainLink {
        self.statement.link
    }

    /// Final size of the segment, if no append followed the statement.
    pub(crate) fn sealed_at(&self) -> Option<u64> {
        (self.statement.state == SegmentState::Sealed).then_some(self.statement.end)
    }

    /// Returns the statement that the segment was sealed at `end`, if nothing behind that was ever
    /// acknowledged.
    pub(crate) fn sealed_before(mut self, end: u64) -> Option<Self> {
        if !self.is_last() || end < self.statement.end {
            return None;
        }
        self.statement.state = SegmentState::Sealed;
        self.statement.end = end;
        self.statement.link = ChainLink([0; ChainLink::BYTES]);
        Some(self)
    }

    /// Returns true if nothing behind the end was ever acknowledged.
    pub(crate) fn is_last(&self) -> bool {
        match self.statement.state {
            SegmentState::Closed | SegmentState::Sealed => true,
            // The system keeps what was written until it restarts, whatever ends the process.
            SegmentState::Open => {
                self.statement.boot != Boot::default() && self.statement.boot == boot()
            }
        }
    }

    /// Returns true if the witness has the end and the heads of all of the segment.
    fn is_whole(&self) -> bool {
        self.statement.heads_end == self.statement.end
    }

    /// Reads the heads, or returns `None` if some are missing.
    fn heads(
        &self,
        paths: &StorePaths,
        segment: SegmentId,
    ) -> io::Result<Option<KeyMap<WitnessedHead>>> {
        let path = paths.witness(segment);
        let Some(bytes) = read_heads(&path)? else {
            return Ok(None);
        };
        let mut heads = KeyMap::default();
        let read = record::each_head(segment, &bytes, |_, _, head| {
            if let Some(head) = head {
                heads.insert(SessionKey::of(&head.id), head);
            }
        });
        let all = read as u64 >= self.statement.heads_bytes;
        Ok(all.then_some(heads))
    }
}

fn read_heads(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = paths::open_to_read(path)? else {
        return Ok(None);
    };
    let size = file.metadata()?.len().saturating_sub(HEADS as u64).min(MOST_HEADS);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    let read = read_full_at(&file, &mut bytes, HEADS as u64)?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Reads the latest summary of each session that has one.
pub(crate) fn summaries(
    paths: &StorePaths,
    segment: SegmentId,
) -> io::Result<KeyMap<WitnessedHead>> {
    let bytes = read_heads(&paths.witness(segment))?.unwrap_or_default();
    let mut heads = KeyMap::default();
    record::each_head(segment, &bytes, |_, _, head| {
        if let Some(head) = head.filter(|head| head.summary.is_some()) {
            heads.insert(SessionKey::of(&head.id), head);
        }
    });
    Ok(heads)
}

/// Removes a witness durably, before its segment may be removed.
pub(crate) fn remove(paths: &StorePaths, segment: SegmentId) -> io::Result<()> {
    erasing::remove(&paths.witness(segment))
}

/// Removes the heads of erased sessions from all witnesses. What is left of them names no session.
pub(crate) fn erase(paths: &StorePaths, doomed: impl Fn(SessionKey) -> bool) -> io::Result<()> {
    for writer in paths.list_witnessed_writers()? {
        for number in paths.list_witnessed(writer)? {
            erase_from(paths, SegmentId { writer, number }, &doomed)?;
        }
    }
    Ok(())
}

fn erase_from(
    paths: &StorePaths,
    segment: SegmentId,
    doomed: impl Fn(SessionKey) -> bool,
) -> io::Result<()> {
    let path = paths.witness(segment);
    let Some(bytes) = read_heads(&path)? else {
        return Ok(());
    };
    let mut found = Vec::new();
    record::each_head(segment, &bytes, |at, len, head| {
        if head.is_some_and(|head| doomed(SessionKey::of(&head.id))) {
            found.push((at, len));
        }
    });
    if found.is_empty() {
        return Ok(());
    }
    let file = match paths::open_to_write(&path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for (at, len) in found {
        write_all_at(&file, &record::removed_head(segment, len), (HEADS + at) as u64)?;
    }
    file.sync_data()
}

/// Identity of this boot of the machine.
fn boot() -> Boot {
    static BOOT: OnceLock<Boot> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        let number = u128::from_str_radix(&digits, 16).unwrap_or_default();
        number.to_le_bytes()
    })
}
