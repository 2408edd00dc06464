//! The probe: a file beside the lanes that is written, synced, read back and emptied.

use std::io;
use std::path::Path;

use crate::disk::{Disk, read_full_at, write_all_at};
use crate::paths;

/// Bytes of a probe. As they are written to an emptied file, they need room on the disk.
const BYTES: usize = 64 * 1024;
/// Content of a probe.
const CONTENT: u8 = 0x5a;

/// Writes a probe, makes it durable, and reads it back.
pub(crate) fn run(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let file = disk.wrap(paths::open_to_write(path, true)?, path);
    file.set_len(0)?;
    let written = vec![CONTENT; BYTES];
    write_all_at(&*file, &written, 0)?;
    file.sync()?;
    let mut read = vec![0; BYTES];
    let whole = read_full_at(&*file, &mut read, 0)? == BYTES && read == written;
    file.set_len(0)?;
    match whole {
        true => Ok(()),
        false => Err(io::Error::other("the probe is not read back as it was written")),
    }
}
