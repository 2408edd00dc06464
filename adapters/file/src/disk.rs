//! The seam to the disk: what the store asks of an open log file. Tests put failing disks here.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Gives access to log files that are open.
pub(crate) trait Disk: Send + Sync {
    /// Takes an open log file over, which stands at this path.
    fn take(&self, file: File, path: &Path) -> Box<dyn LogFile>;
}

/// An open log file. The lock on it goes when it is dropped.
pub(crate) trait LogFile: Send {
    /// Reads into `buffer` from `offset` on; 0 at the file's end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some of `bytes` at `offset`, and answers how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts the file off, or fills it up with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes what was written durable.
    fn sync(&self) -> io::Result<()>;

    /// How long the file is.
    fn len(&self) -> io::Result<u64>;
}

/// The disk itself.
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn take(&self, file: File, _: &Path) -> Box<dyn LogFile> {
        Box::new(file)
    }
}

impl LogFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
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

/// Reads into `buffer` from `offset` on until it is full or the file ends; answers how much.
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
