//! Terminal: writes and reads lines, off the async threads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, mpsc};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc as tokio_mpsc;

/// Controlling terminal of the process.
const TERMINAL: &str = "/dev/tty";
/// Longest line, in bytes.
const MAX_LINE: usize = 1024 * 1024;

/// Controlling terminal, independent of standard input and output.
pub(crate) struct Terminal {
    file: Arc<File>,
    /// Requests to read one line.
    reads: mpsc::Sender<()>,
    lines: tokio_mpsc::Receiver<io::Result<String>>,
    /// True while a line is being read, possibly for a question that is over.
    reading: bool,
}

impl Terminal {
    /// Returns true if the process has a terminal.
    pub(crate) fn exists() -> bool {
        OpenOptions::new().read(true).write(true).open(TERMINAL).is_ok()
    }

    /// Opens the terminal, if the process has one.
    pub(crate) fn open() -> io::Result<Self> {
        let open = OpenOptions::new().read(true).write(true).open(TERMINAL);
        Self::over(open.map_err(|error| {
            io::Error::new(error.kind(), format!("there is no {TERMINAL} here: {error}"))
        })?)
    }

    /// Uses an open terminal.
    pub(super) fn over(file: File) -> io::Result<Self> {
        let file = Arc::new(file);
        let (reads, wanted) = mpsc::channel();
        let (tell, lines) = tokio_mpsc::channel(1);
        let from = file.clone();
        // A separate thread that nothing waits for: a read ends when somebody types, which must
        // delay neither the runtime nor the end of the process.
        let thread = std::thread::Builder::new().name("terminal".to_owned());
        thread.spawn(move || {
            while wanted.recv().is_ok() {
                if tell.blocking_send(line(&from)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { file, reads, lines, reading: false })
    }

    /// Discards input that was typed so far.
    pub(crate) fn discard_input(&mut self) {
        if self.lines.try_recv().is_ok() {
            self.reading = false;
        }
        // A failure shows again when reading.
        let _ = tcflush(&self.file, QueueSelector::IFlush);
    }

    /// Writes the text, and returns the next typed line. Cancel safe.
    pub(crate) async fn ask(&mut self, words: String) -> io::Result<String> {
        let file = self.file.clone();
        let write = move || (&*file).write_all(words.as_bytes());
        tokio::task::spawn_blocking(write).await.map_err(io::Error::other)??;
        if !self.reading {
            self.reads.send(()).map_err(io::Error::other)?;
            self.reading = true;
        }
        let line = self.lines.recv().await;
        self.reading = false;
        line.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

/// Reads one line and nothing beyond it, since a terminal returns a line at a time.
fn line(mut file: &File) -> io::Result<String> {
    let mut line = Vec::new();
    let mut part = [0; 4096];
    while !line.contains(&b'\n') && line.len() < MAX_LINE {
        let read = match file.read(&mut part) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            let words = "the terminal gave no answer";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words));
        }
        line.extend(part.iter().take(read));
    }
    String::from_utf8(line).map_err(|_| io::Error::other("what was typed is not UTF-8 text"))
}
