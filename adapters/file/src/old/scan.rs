//! Scanning: from unit to unit of a log file, each checked in full before any of it counts.

use std::io;
use std::ops::Range;

use windlass_core::{Seq, SessionId};

use crate::disk::LogFile;
use crate::old::codec::{self, FileHead, HEAD, Head, LEAST_UNIT, Link};
use crate::old::judge::{Judgement, judge};
use crate::old::window::Window;

/// A place between two units, and what is known there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The offset at which the next unit begins.
    pub(crate) offset: u64,
    /// The last position before it.
    pub(crate) seq: Seq,
    /// The link of that position.
    pub(crate) link: Link,
}

/// What a scan comes upon.
#[derive(Debug)]
pub(crate) enum Found {
    /// A unit that is whole.
    Unit(Unit),
    /// The end. So many bytes behind it are the remains of an append that was never
    /// acknowledged.
    End {
        /// How many.
        torn_bytes: u64,
    },
    /// Damage.
    Damage(Damage),
    /// A newer engine wrote the file.
    Newer {
        /// In this format.
        format: u32,
    },
}

/// Records that were written as one.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// The position before its first record.
    pub(crate) after: Seq,
    /// Where in the file the bodies are.
    pub(crate) bodies: Vec<Range<u64>>,
}

impl Unit {
    /// A unit at this place, still without a record.
    pub(crate) fn empty(at: Place) -> Self {
        Self {
            after: at.seq,
            bodies: Vec::new(),
        }
    }
}

/// Damage: bytes that no append leaves behind, not even one that was interrupted.
#[derive(Debug)]
pub(crate) struct Damage {
    /// The last position before it.
    pub(crate) after: Seq,
    /// Where it is.
    pub(crate) offset: u64,
    /// What is wrong.
    pub(crate) what: String,
    /// The records of its unit that stand before it.
    pub(crate) sound: Unit,
}

/// A scan of a session's log.
pub(crate) struct Scan<'a> {
    file: &'a dyn LogFile,
    id: &'a SessionId,
    window: Window,
    at: Place,
}

impl<'a> Scan<'a> {
    /// A scan from the beginning.
    pub(crate) fn new(file: &'a dyn LogFile, id: &'a SessionId) -> Self {
        let at = Place {
            offset: 0,
            seq: Seq::ZERO,
            link: codec::genesis(id),
        };
        Self::from(file, id, at)
    }

    /// A scan from a place that an earlier scan has passed.
    pub(crate) fn from(file: &'a dyn LogFile, id: &'a SessionId, at: Place) -> Self {
        Self {
            file,
            id,
            window: Window::default(),
            at,
        }
    }

    /// Where the scan stands.
    pub(crate) fn place(&self) -> Place {
        self.at
    }

    /// Forgets what is in memory of the file, so that the next unit is read anew.
    pub(crate) fn look_again(&mut self) {
        self.window = Window::default();
    }

    /// The bytes of a range of the unit found last.
    pub(crate) fn bytes(&mut self, range: &Range<u64>) -> io::Result<&[u8]> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        self.window.load(self.file, range.start, len)
    }

    /// Goes on to the next unit.
    pub(crate) fn next(&mut self) -> io::Result<Found> {
        if self.at.offset == 0 {
            match self.file_head()? {
                Ok(len) => self.at.offset = len,
                Err(found) => return Ok(found),
            }
        }
        let start = self.at.offset;
        let bytes = self.window.load(self.file, start, HEAD)?;
        match codec::read_head(start, bytes) {
            Some(head) if head.index == 1 => self.unit(start, head),
            Some(_) => self.trouble(
                start,
                None,
                "a record is not in its place",
                Unit::empty(self.at),
            ),
            None => self.trouble(start, None, "no record begins there", Unit::empty(self.at)),
        }
    }

    /// Reads the first line; answers its length, or what there is instead.
    fn file_head(&mut self) -> io::Result<Result<u64, Found>> {
        let bytes = self.window.load(self.file, 0, 256)?;
        Ok(match codec::read_file_head(self.id, bytes) {
            FileHead::Ours(len) => Ok(len as u64),
            FileHead::Newer(format) => Err(Found::Newer { format }),
            FileHead::Foreign(other) => {
                let what = format!("the file says that it is the log of {other}");
                Err(self.damage(0, what, Unit::empty(self.at)))
            }
            FileHead::Unreadable => {
                let head = codec::file_head(self.id);
                if bytes.len() < head.len() && head.starts_with(bytes) {
                    let torn_bytes = bytes.len() as u64;
                    return Ok(Err(Found::End { torn_bytes }));
                }
                Err(self.trouble(
                    0,
                    None,
                    "the first line is not that of a log",
                    Unit::empty(self.at),
                )?)
            }
        })
    }

    /// Reads a unit whose first head is sound.
    fn unit(&mut self, start: u64, first: Head) -> io::Result<Found> {
        let end = start + u64::from(first.rest);
        let size = first.rest as usize;
        if !(LEAST_UNIT..=codec::MOST_UNIT).contains(&u64::from(first.rest)) {
            let what = "a record has a size that none has".to_owned();
            return Ok(self.damage(start, what, Unit::empty(self.at)));
        }
        let bytes = self.window.load(self.file, start, size)?;
        if bytes.len() < size {
            return self.trouble(
                start,
                Some(end),
                "the file ends within a record",
                Unit::empty(self.at),
            );
        }
        let mut unit = Unit::empty(self.at);
        let (mut at, mut link) = (start, self.at.link);
        for index in 1..=first.count {
            match record(bytes, start, at, end, (index, first.count), &link) {
                Ok(record) => {
                    unit.bodies.push(record.body);
                    link = record.link;
                    at = record.end;
                }
                Err(what) => return self.trouble(at, Some(end), what, unit),
            }
        }
        if at != end {
            return self.trouble(at, Some(end), "a batch is longer than its records", unit);
        }
        self.at = Place {
            offset: end,
            seq: self.at.seq.plus(unit.bodies.len() as u64),
            link,
        };
        Ok(Found::Unit(unit))
    }

    /// Decides what bytes that do not read are: the end, a torn tail, or damage.
    fn trouble(
        &self,
        at: u64,
        unit_end: Option<u64>,
        what: &str,
        sound: Unit,
    ) -> io::Result<Found> {
        Ok(match judge(self.file, self.at.offset, unit_end)? {
            Judgement::End => Found::End { torn_bytes: 0 },
            Judgement::Torn { bytes } => Found::End { torn_bytes: bytes },
            Judgement::Damaged => self.damage(at, what.to_owned(), sound),
        })
    }

    fn damage(&self, offset: u64, what: String, sound: Unit) -> Found {
        Found::Damage(Damage {
            after: self.at.seq.plus(sound.bodies.len() as u64),
            offset,
            what,
            sound,
        })
    }
}

/// A record that is sound.
struct Record {
    body: Range<u64>,
    link: Link,
    end: u64,
}

/// Checks the record at `at` of the unit that `bytes` are, which stands from `start` to `end`.
fn record(
    bytes: &[u8],
    start: u64,
    at: u64,
    end: u64,
    (index, count): (u32, u32),
    before: &Link,
) -> Result<Record, &'static str> {
    let from = usize::try_from(at - start).unwrap_or(usize::MAX);
    let bytes = bytes.get(from..).unwrap_or_default();
    let head = codec::read_head(at, bytes).ok_or("no record begins there")?;
    if (head.index, head.count, at + u64::from(head.rest)) != (index, count, end) {
        return Err("a record is not in its place");
    }
    let len = head.len as usize;
    let body = bytes
        .get(HEAD..HEAD + len)
        .ok_or("a record is longer than its batch")?;
    if bytes.get(HEAD + len) != Some(&b'\n') {
        return Err("a record does not end with its line");
    }
    if crc32c::crc32c(body) != head.crc {
        return Err("a record's checksum does not match");
    }
    if codec::next_link(before, body) != head.link {
        return Err("a record does not link to the one before it");
    }
    let body_start = at + HEAD as u64;
    let body_end = body_start + u64::from(head.len);
    Ok(Record {
        body: body_start..body_end,
        link: head.link,
        end: body_end + 1,
    })
}
