//! Lines of a file, read in bounded memory however long they are.

use std::io::{BufRead, BufReader, Read};

use crate::fault::CallFailure;
use crate::stop::StopCheck;

const BUFFER: usize = 64 * 1024;
/// Bytes at the start of a file that are searched for a zero byte.
const SNIFF: usize = 8 * 1024;

/// Reader of lines with bounded memory.
pub(crate) struct BoundedLines<R> {
    reader: BufReader<R>,
    keep: usize,
    line: Vec<u8>,
}

/// Line of a file.
pub(crate) struct FileLine<'a> {
    /// Its start, as much as is kept, without the line end.
    pub(crate) bytes: &'a [u8],
    /// Its true length without the line end.
    pub(crate) len: u64,
    /// True if the line has a line end.
    pub(crate) ended: bool,
}

impl<R: Read> BoundedLines<R> {
    /// Reads lines and keeps at most `keep` bytes of each.
    pub(crate) fn new(reader: R, keep: usize) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER, reader), keep, line: Vec::new() }
    }

    /// Returns true if the file does not look like text. Call it before the first line is read.
    pub(crate) fn binary(&mut self) -> std::io::Result<bool> {
        self.reader.fill_buf().map(looks_binary)
    }

    /// The next line; `None` at the end of the file.
    pub(crate) fn next(
        &mut self,
        path: &str,
        stop: &StopCheck,
    ) -> Result<Option<FileLine<'_>>, CallFailure> {
        self.line.clear();
        let mut len: u64 = 0;
        let mut ended = false;
        while !ended {
            stop.check()?;
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(CallFailure::Message(format!("cannot read `{path}`: {error}")));
                }
            };
            if buffer.is_empty() {
                if len == 0 {
                    return Ok(None);
                }
                break;
            }
            let end = memchr::memchr(b'\n', buffer);
            ended = end.is_some();
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            let room = self.keep.saturating_sub(self.line.len()).min(part.len());
            self.line.extend_from_slice(part.get(..room).unwrap_or_default());
            len = len.saturating_add(part.len() as u64);
            let used = part.len() + usize::from(ended);
            self.reader.consume(used);
        }
        Ok(Some(FileLine { bytes: &self.line, len, ended }))
    }
}

/// Returns true if a file that begins so does not look like text.
pub(crate) fn looks_binary(start: &[u8]) -> bool {
    let sniffed = start.get(..SNIFF.min(start.len())).unwrap_or_default();
    memchr::memchr(0, sniffed).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::tests::never;

    fn read(bytes: &[u8], keep: usize) -> Vec<(String, u64, bool)> {
        let mut lines = BoundedLines::new(bytes, keep);
        let mut out = Vec::new();
        while let Some(line) = lines.next("x", &never()).unwrap() {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            out.push((text, line.len, line.ended));
        }
        out
    }

    #[test]
    fn lines_are_what_stands_between_line_ends() {
        let line = |text: &str, ended| (text.to_owned(), text.len() as u64, ended);
        assert_eq!(read(b"", 9), []);
        assert_eq!(read(b"\n", 9), [line("", true)]);
        assert_eq!(
            read(b"a\n\nb\r\nc", 9),
            [line("a", true), line("", true), line("b\r", true), line("c", false)]
        );
    }

    #[test]
    fn a_long_line_is_measured_but_not_kept() {
        let long = [vec![b'x'; 3 * BUFFER], b"\nshort".to_vec()].concat();
        let lines = read(&long, 4);
        assert_eq!(lines[0], ("xxxx".to_owned(), 3 * BUFFER as u64, true));
        assert_eq!(lines[1], ("shor".to_owned(), 5, false));
    }
}
