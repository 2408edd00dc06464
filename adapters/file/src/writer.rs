//! The writer of one session: holds its file and lock, appends units, and knows what is durable.

use std::fs;
use std::io;
use std::path::PathBuf;

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{Claimed, Repair, StoreError};

use crate::codec::{self, Link};
use crate::disk::{LogFile, read_full_at, write_all_at};
use crate::error;
use crate::scan::{Found, Place, Scan, Unit};

/// Room that is prepared ahead at least, and at most.
const LEAST_AHEAD: u64 = 64 * 1024;
const MOST_AHEAD: u64 = 1024 * 1024;

/// The writer of one session.
pub(crate) struct Writer {
    session: SessionId,
    path: PathBuf,
    file: Box<dyn LogFile>,
    epoch: Epoch,
    /// Where the durable log ends.
    end: Place,
    /// Where the file's prepared room ends; everything from `end.offset` to here is zeros.
    room_end: u64,
    /// Whether room is prepared ahead: not any more once the disk was full.
    ahead: bool,
    /// Whether a write could not be made durable, so that nobody knows what the disk holds.
    poisoned: bool,
    buffer: Vec<u8>,
}

impl Writer {
    /// Takes over a file whose lock is held: checks all of it and cuts a torn tail off.
    pub(crate) fn recover(
        session: &SessionId,
        path: PathBuf,
        file: Box<dyn LogFile>,
        epoch: Epoch,
    ) -> Result<(Self, Claimed), StoreError> {
        let reading = |error| error::from_io(error, "checking", &path);
        let mut scan = Scan::new(&*file, session, None);
        let mut last_unit = None;
        let torn_bytes = loop {
            match scan.next().map_err(reading)? {
                Found::Unit(unit) => last_unit = Some(unit),
                Found::End { torn_bytes } => break torn_bytes,
                Found::Damage(damage) => return Err(error::damaged(session, &path, &damage)),
                Found::Newer { format } => return Err(error::newer(session, &path, format)),
            }
        };
        let end = scan.place();
        drop(scan);
        let mut writer = Self {
            session: session.clone(),
            path,
            room_end: end.offset,
            file,
            epoch,
            end,
            ahead: true,
            poisoned: false,
            buffer: Vec::new(),
        };
        writer
            .settle(last_unit.as_ref(), torn_bytes)
            .map_err(|error| error::from_io(error, "claiming", &writer.path))?;
        let repaired = (torn_bytes > 0).then_some(Repair {
            kept: end.seq,
            cut_bytes: torn_bytes,
        });
        let claimed = Claimed {
            epoch,
            last: end.seq,
            repaired,
        };
        Ok((writer, claimed))
    }

    /// Makes durable what the scan found, and removes what it did not count.
    ///
    /// The last unit may be in the system's memory alone: its writer may have died before the
    /// sync, or the sync may have failed, after which the system believes it written (see
    /// "fsyncgate"). Writing it again makes the next sync tell the truth about it.
    fn settle(&mut self, last_unit: Option<&Unit>, torn_bytes: u64) -> io::Result<()> {
        let len = self.file.len()?;
        if torn_bytes > 0 {
            self.file.set_len(self.end.offset)?;
        } else {
            self.room_end = len.max(self.end.offset);
        }
        if let Some(unit) = last_unit {
            let size = usize::try_from(self.end.offset - unit.start).unwrap_or_default();
            self.buffer.resize(size, 0);
            let read = read_full_at(&*self.file, &mut self.buffer, unit.start)?;
            if read != size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            write_all_at(&*self.file, &self.buffer, unit.start)?;
        }
        if last_unit.is_some() || torn_bytes > 0 {
            self.file.sync()?;
        }
        Ok(())
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn last(&self) -> Seq {
        self.end.seq
    }

    /// Where the durable log ends in the file.
    pub(crate) fn end_offset(&self) -> u64 {
        self.end.offset
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// Hands the session to a later claim of this process.
    pub(crate) fn take_over(&mut self, epoch: Epoch) -> Claimed {
        self.epoch = epoch;
        Claimed {
            epoch,
            last: self.end.seq,
            repaired: None,
        }
    }

    /// Gives up the state and keeps the file, with its lock, to recover from it.
    pub(crate) fn into_file(mut self) -> (PathBuf, Box<dyn LogFile>) {
        self.poisoned = true;
        let file = std::mem::replace(&mut self.file, Box::new(Closed));
        (std::mem::take(&mut self.path), file)
    }

    /// Appends these bodies as one unit; durable when it returns.
    pub(crate) fn append(&mut self, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        if self.poisoned {
            return Err(error::poisoned(&self.session));
        }
        let link = self.encode(bodies)?;
        let unit_end = self.end.offset + self.buffer.len() as u64;
        if let Err(cause) = write_all_at(&*self.file, &self.buffer, self.end.offset) {
            return Err(self.roll_back(cause));
        }
        self.prepare_room(unit_end);
        if let Err(cause) = self.file.sync() {
            self.poisoned = true;
            return Err(error::from_io(cause, "making durable", &self.path));
        }
        self.end = Place {
            offset: unit_end,
            seq: self.end.seq.plus(bodies.len() as u64),
            link,
        };
        self.buffer.clear();
        self.buffer.shrink_to(LEAST_AHEAD as usize);
        Ok(())
    }

    /// Encodes a unit, and before the first one the file's first line, into the buffer.
    fn encode(&mut self, bodies: &[Vec<u8>]) -> Result<Link, StoreError> {
        self.buffer.clear();
        if self.end.offset == 0 {
            self.buffer.extend(codec::file_head(&self.session));
        }
        let offset = self.end.offset + self.buffer.len() as u64;
        let link = codec::encode_unit(&mut self.buffer, offset, &self.end.link, bodies);
        link.ok_or_else(|| {
            let bytes = bodies.iter().map(Vec::len).sum();
            error::too_large(&self.session, "a batch", bytes, codec::MOST_UNIT)
        })
    }

    /// Fills the file with zeros some way ahead, so that the syncs of the next appends find
    /// blocks that are allocated and need no change of the file's metadata.
    ///
    /// It is a matter of speed alone: when it fails, as on a full disk, the log goes on without.
    fn prepare_room(&mut self, unit_end: u64) {
        if unit_end <= self.room_end || !self.ahead {
            self.room_end = self.room_end.max(unit_end);
            return;
        }
        let ahead = (unit_end / 4).clamp(LEAST_AHEAD, MOST_AHEAD) / 4096 * 4096;
        let room_end = (unit_end / 4096 + 1) * 4096 + ahead;
        let zeros = vec![0; usize::try_from(room_end - unit_end).unwrap_or_default()];
        self.room_end = room_end;
        if write_all_at(&*self.file, &zeros, unit_end).is_err() {
            self.ahead = false;
            self.room_end = unit_end;
            // What of the zeros was written is no part of the log, whether it can be cut or not.
            let _ = self.file.set_len(unit_end);
        }
    }

    /// Takes back what a failed write left.
    fn roll_back(&mut self, cause: io::Error) -> StoreError {
        self.ahead = false;
        self.room_end = self.end.offset;
        let cut = self.file.set_len(self.end.offset);
        if cut.and_then(|()| self.file.sync()).is_err() {
            self.poisoned = true;
        }
        error::from_io(cause, "appending to", &self.path)
    }
}

impl Drop for Writer {
    /// Leaves the file as long as its log, and no file when there is no log.
    fn drop(&mut self) {
        if self.poisoned {
            return;
        }
        let left = if self.end.seq == Seq::ZERO {
            fs::remove_file(&self.path)
        } else if self.room_end > self.end.offset {
            self.file.set_len(self.end.offset)
        } else {
            Ok(())
        };
        if let Err(error) = left {
            let path = self.path.display();
            tracing::debug!(%path, %error, "a log was left with room behind its end");
        }
    }
}

/// What stands in a writer's place for the file once it was taken out.
struct Closed;

impl LogFile for Closed {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn len(&self) -> io::Result<u64> {
        Err(io::ErrorKind::NotConnected.into())
    }
}
