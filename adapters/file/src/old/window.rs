//! A window on a log file: reads ahead, so that small records cost few calls.

use std::io;

use crate::disk::{LogFile, read_full_at};

const AHEAD: usize = 128 * 1024;

/// The part of a file that is in memory.
#[derive(Default)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Gives `len` bytes from `offset` on; fewer when the file ends before.
    pub(crate) fn load(
        &mut self,
        file: &dyn LogFile,
        offset: u64,
        len: usize,
    ) -> io::Result<&[u8]> {
        if !self.covers(offset, len) {
            self.bytes.resize(room(file, offset, len)?, 0);
            let read = read_full_at(file, &mut self.bytes, offset)?;
            self.bytes.truncate(read);
            self.start = offset;
        }
        let from = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(from..).unwrap_or_default();
        Ok(bytes.get(..len).unwrap_or(bytes))
    }

    fn covers(&self, offset: u64, len: usize) -> bool {
        let end = self.start + self.bytes.len() as u64;
        offset >= self.start && offset.saturating_add(len as u64) <= end
    }
}

/// How many bytes to read at once. What a head claims is not believed beyond the file's end: a file
/// of a few bytes may say that its record has half a gibibyte.
fn room(file: &dyn LogFile, offset: u64, len: usize) -> io::Result<usize> {
    if len <= AHEAD {
        return Ok(AHEAD);
    }
    let there = file.len()?.saturating_sub(offset);
    let there = usize::try_from(there).unwrap_or(usize::MAX);
    Ok(len.min(there).max(AHEAD))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use windlass_core::SessionId;

    use super::*;
    use crate::old::codec::{self, HEAD};
    use crate::old::scan::{Found, Scan};

    /// A file that notes the largest buffer that it was to fill.
    struct Noting {
        bytes: Vec<u8>,
        largest: AtomicUsize,
    }

    impl Noting {
        fn of(bytes: Vec<u8>) -> Self {
            let largest = AtomicUsize::new(0);
            Self { bytes, largest }
        }

        fn largest(&self) -> usize {
            self.largest.load(Ordering::SeqCst)
        }
    }

    impl LogFile for Noting {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.largest.fetch_max(buffer.len(), Ordering::SeqCst);
            let from = usize::try_from(offset).unwrap();
            let rest = self.bytes.get(from..).unwrap_or_default();
            let read = rest.len().min(buffer.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            Ok(read)
        }

        fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn set_len(&self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }
    }

    #[test]
    fn a_small_file_that_claims_a_large_record_takes_little_room() {
        let text = "windlass-log 1 s f74fa582\n\
            9dbc0749 00000001/00000001 1ffffea8 1fffff00 00000000 \
            00000000000000000000000000000000 {}";
        let head = codec::read_head(26, &text.as_bytes()[26..]).unwrap();
        assert_eq!(u64::from(head.rest), codec::MOST_UNIT - 256);
        let file = Noting::of(text.into());
        let session = SessionId::new("s").unwrap();
        let mut scan = Scan::new(&file, &session);
        let found = scan.next().unwrap();
        let torn = HEAD as u64 + 2;
        assert!(
            matches!(found, Found::End { torn_bytes } if torn_bytes == torn),
            "{found:?}"
        );
        assert!(file.largest() <= AHEAD, "{}", file.largest());
    }

    #[test]
    fn as_much_as_is_asked_for_is_read_where_it_is_there() {
        let bytes: Vec<u8> = (0..3 * AHEAD).map(|at| (at % 251) as u8).collect();
        let file = Noting::of(bytes.clone());
        let mut window = Window::default();
        let got = window.load(&file, 5, 2 * AHEAD).unwrap();
        assert_eq!(got, &bytes[5..5 + 2 * AHEAD]);
        assert_eq!(file.largest(), 2 * AHEAD);
        let got = window.load(&file, 2 * AHEAD as u64, 2 * AHEAD).unwrap();
        assert_eq!(got, &bytes[2 * AHEAD..]);
        assert_eq!(file.largest(), 2 * AHEAD);
    }
}
