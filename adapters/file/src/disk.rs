//! Access to open log files. Tests replace it with failing disks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::format::SegmentId;
use crate::paths::MERGED_WRITER;

/// Wraps open log files.
pub(crate) trait Disk: Send + Sync {
    /// Wraps an open log file at this path.
    fn wrap(&self, file: File, path: &Path) -> Box<dyn LogFile>;
}

/// An open log file. Dropping it releases its lock.
pub(crate) trait LogFile: Send {
    /// Reads into `buffer` from `offset`; returns 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some of `bytes` at `offset` and returns their number.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Truncates the file or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes all writes durable.
    fn sync(&self) -> io::Result<()>;

    /// Length of the file in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Offset of the first byte from `offset` on that may not be zero; `None` if only a hole
    /// follows.
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }
}

/// The real disk of the operating system.
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn wrap(&self, file: File, _: &Path) -> Box<dyn LogFile> {
        Box::new(file)
    }
}

impl LogFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(test)]
        calls::count();
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(target_os = "linux")]
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        use rustix::fs::{SeekFrom, seek};
        match seek(self, SeekFrom::Data(offset)) {
            Ok(data) => Ok(Some(data)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            // A file system that knows no holes.
            Err(_) => Ok(Some(offset)),
        }
    }
}

/// Writes all of `bytes` at `offset`.
pub(crate) fn write_all_at(file: &dyn LogFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    let (mut rest, mut at) = (bytes, offset);
    while !rest.is_empty() {
        match file.write_at(rest, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                rest = rest.get(written..).unwrap_or_default();
                at += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads into `buffer` from `offset` until it is full or the file ends. Returns the number of
/// bytes.
pub(crate) fn read_full_at(
    file: &dyn LogFile,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Most bytes that are read of a segment. Its content is shorter: a merged session has at most half
/// as many, and the segment of a lane is sealed after the group that makes it longer than 32 MiB.
pub(crate) fn most_bytes(segment: SegmentId) -> u64 {
    match segment.writer {
        MERGED_WRITER => 1024 * 1024 * 1024,
        _ => 256 * 1024 * 1024,
    }
}

/// Bytes of one read of a segment.
const PIECE: usize = 256 * 1024;
/// Zeros at a segment's end that are not left out: more than a sector and a unit's frame.
const LAST_ZEROS: usize = 4096;

/// Bytes of a segment from an offset to its end, without most zeros at the end.
pub(crate) struct SegmentBytes {
    pub(crate) bytes: Vec<u8>,
    /// Number of bytes up to the end of the file.
    pub(crate) len: usize,
}

/// Reads a segment from `offset` to its end or to `limit`, in pieces. Zeros at the end use no
/// memory. A file may claim any length.
pub(crate) fn read_segment(
    file: &dyn LogFile,
    offset: u64,
    limit: u64,
) -> io::Result<SegmentBytes> {
    let claimed = file.len()?.min(limit);
    let (mut bytes, mut zeros, mut at) = (Vec::new(), 0, offset);
    let mut piece = vec![0; PIECE];
    let nothing = vec![0; PIECE];
    while at < claimed {
        let data = file.next_data(at)?.unwrap_or(claimed).clamp(at, claimed);
        zeros += usize::try_from(data - at).unwrap_or_default();
        at = data;
        let size = usize::try_from(claimed - at).unwrap_or(PIECE).min(PIECE);
        let room = piece.get_mut(..size).unwrap_or_default();
        let read = read_full_at(file, room, at)?;
        if read == 0 {
            break;
        }
        at += read as u64;
        let read = room.get(..read).unwrap_or_default();
        match read == nothing.get(..read.len()).unwrap_or_default() {
            true => zeros += read.len(),
            false => {
                bytes.resize(bytes.len() + zeros, 0);
                bytes.extend_from_slice(read);
                zeros = 0;
            }
        }
    }
    let len = bytes.len() + zeros;
    bytes.resize(bytes.len() + zeros.min(LAST_ZEROS), 0);
    Ok(SegmentBytes { bytes, len })
}

/// Counts opened files and reads of this thread.
#[cfg(test)]
pub(crate) mod calls {
    use std::cell::Cell;

    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn count() {
        CALLS.set(CALLS.get() + 1);
    }

    /// Returns the number of calls that `work` makes, with its result.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (usize, T) {
        let before = CALLS.get();
        let result = work();
        (CALLS.get() - before, result)
    }
}
