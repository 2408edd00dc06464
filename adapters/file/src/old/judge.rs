//! Judging a tail that does not read: the end of the log, a torn append, or damage.
//!
//! A unit is written by one write at the log's end and acknowledged only when it has been synced,
//! and the next is not written before. So at most the last unit is unacknowledged. What a death of
//! the process or a loss of power can leave of it is bounded: the file may end within it, and
//! where room was prepared ahead, sectors of it may still be the zeros that they were. No text of
//! ours holds a zero byte. Hence a tail is *torn* when
//!
//! - the file ends before the unit does, or
//! - a sector of the unit holds nothing but zeros,
//!
//! and nothing stands behind the unit. Everything else is *damage*: bytes that differ within a
//! sector that was written, a hole before a unit that reads, anything that is no unit at all. The
//! tail of an acknowledged unit that is lost by whole sectors or by cutting the file cannot be
//! told from a torn one by what is left in the file, in this format or any other that keeps no
//! second witness; a changed byte always can.

use std::io;

use crate::disk::{LogFile, read_full_at};
use crate::old::codec::{self, HEAD, LEAST_UNIT};

/// The unit in which disks write: zeros that replace less than this were not left by a torn write.
const SECTOR: u64 = 512;
const CHUNK: usize = 64 * 1024;

/// What a tail is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Nothing but room prepared ahead.
    End,
    /// The remains of an append that was never acknowledged.
    Torn {
        /// How many bytes of it there are.
        bytes: u64,
    },
    /// Something else.
    Damaged,
}

/// Judges the tail from `start` on, which does not read as a unit.
///
/// `unit_end` is where the unit ends, when its first head says so.
pub(crate) fn judge(
    file: &dyn LogFile,
    start: u64,
    unit_end: Option<u64>,
) -> io::Result<Judgement> {
    let len = file.len()?.max(start);
    let written = last_written(file, start, len)?;
    if written == start {
        return Ok(Judgement::End);
    }
    let unit_end = match unit_end {
        Some(end) => Some(end),
        None => match find_head(file, start, written)? {
            Some((_, head)) if head.index == 1 => return Ok(Judgement::Damaged),
            Some((at, head)) => Some(at + u64::from(head.rest)),
            None => None,
        },
    };
    if unit_end.is_some_and(|end| written > end) {
        return Ok(Judgement::Damaged);
    }
    let torn = match unit_end {
        Some(end) => len < end || zero_sector(file, start, end)?,
        None if len < start + HEAD as u64 => {
            begins_a_head(file, start, len)? || zero_sector(file, start, len)?
        }
        None => zero_sector(file, start, written.max(start + LEAST_UNIT).min(len))?,
    };
    Ok(if torn {
        Judgement::Torn {
            bytes: written - start,
        }
    } else {
        Judgement::Damaged
    })
}

/// The end of the last byte that is not zero; `start` when all are.
fn last_written(file: &dyn LogFile, start: u64, len: u64) -> io::Result<u64> {
    let mut last = start;
    each_chunk(file, start, len, |at, chunk| {
        if let Some(index) = chunk.iter().rposition(|byte| *byte != 0) {
            last = at + index as u64 + 1;
        }
        true
    })?;
    Ok(last)
}

/// The first record head behind `start` that stands at a line's beginning, or behind a hole.
fn find_head(file: &dyn LogFile, start: u64, end: u64) -> io::Result<Option<(u64, codec::Head)>> {
    let mut candidates = Vec::new();
    let mut before = 1;
    let mut found = None;
    let mut failed = None;
    each_chunk(file, start, end, |at, chunk| {
        candidates.clear();
        for (byte, offset) in chunk.iter().zip(at..) {
            if matches!(before, 0 | b'\n') && *byte != 0 && offset > start {
                candidates.push(offset);
            }
            before = *byte;
        }
        for offset in &candidates {
            let mut bytes = [0; HEAD];
            match read_full_at(file, &mut bytes, *offset) {
                Ok(_) => found = codec::read_head(*offset, &bytes).map(|head| (*offset, head)),
                Err(error) => failed = Some(error),
            }
            if found.is_some() || failed.is_some() {
                return false;
            }
        }
        true
    })?;
    failed.map_or(Ok(found), Err)
}

/// Whether a sector of these bytes, as far as it is among them, is all zeros or missing.
fn zero_sector(file: &dyn LogFile, start: u64, end: u64) -> io::Result<bool> {
    let mut at = start;
    let mut buffer = [0; SECTOR as usize];
    while at < end {
        let next = (at / SECTOR + 1).saturating_mul(SECTOR).min(end);
        let want = usize::try_from(next - at).unwrap_or(SECTOR as usize);
        let piece = buffer.get_mut(..want).unwrap_or_default();
        let read = read_full_at(file, piece, at)?;
        if piece.iter().take(read).all(|byte| *byte == 0) {
            return Ok(true);
        }
        at = next;
    }
    Ok(false)
}

/// Whether all that is left of the file may be the beginning of a record.
fn begins_a_head(file: &dyn LogFile, start: u64, len: u64) -> io::Result<bool> {
    let mut bytes = [0; HEAD];
    let want = usize::try_from(len - start).unwrap_or(HEAD).min(HEAD);
    let piece = bytes.get_mut(..want).unwrap_or_default();
    let read = read_full_at(file, piece, start)?;
    Ok(codec::looks_like_a_head(
        piece.get(..read).unwrap_or_default(),
    ))
}

/// Hands the bytes to `visit` by chunks, until they end or it says to stop.
fn each_chunk(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut at = start;
    while at < end {
        let want = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        let piece = buffer.get_mut(..want).unwrap_or_default();
        let read = read_full_at(file, piece, at)?;
        let chunk = piece.get(..read).unwrap_or_default();
        if chunk.is_empty() || !visit(at, chunk) {
            break;
        }
        at += read as u64;
    }
    Ok(())
}
