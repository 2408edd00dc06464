//! The terminal: lines to and from whoever sits there, off the async threads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, mpsc};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc as tokio_mpsc;

/// The controlling terminal of the process.
const TERMINAL: &str = "/dev/tty";
/// The longest line, in bytes.
const MAX_LINE: usize = 1024 * 1024;

/// The controlling terminal, whatever standard input and output are.
pub(super) struct Terminal {
    file: Arc<File>,
    /// Has one line read.
    reads: mpsc::Sender<()>,
    lines: tokio_mpsc::Receiver<io::Result<String>>,
    /// True if a line is being read: for a question that nobody needs any more, perhaps.
    reading: bool,
}

impl Terminal {
    /// Opens it, if the process has one.
    pub(super) fn open() -> io::Result<Self> {
        let open = OpenOptions::new().read(true).write(true).open(TERMINAL);
        let file = Arc::new(open.map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("there is no {TERMINAL} here: {error}"),
            )
        })?);
        let (reads, wanted) = mpsc::channel();
        let (tell, lines) = tokio_mpsc::channel(1);
        let from = file.clone();
        // A thread of its own, which nobody waits for: a read of a terminal ends when somebody
        // types, and neither the runtime nor the end of the process may wait for that.
        let thread = std::thread::Builder::new().name("terminal".to_owned());
        thread.spawn(move || {
            while wanted.recv().is_ok() {
                if tell.blocking_send(line(&from)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            file,
            reads,
            lines,
            reading: false,
        })
    }

    /// Forgets what has been typed so far.
    pub(super) fn discard_input(&mut self) {
        if self.lines.try_recv().is_ok() {
            self.reading = false;
        }
        // What cannot be flushed is no terminal, which reading will say.
        let _ = tcflush(&self.file, QueueSelector::IFlush);
    }

    /// Writes the words, and answers the next line that is typed. Safe to drop while it waits.
    pub(super) async fn ask(&mut self, words: String) -> io::Result<String> {
        let file = self.file.clone();
        let write = move || (&*file).write_all(words.as_bytes());
        tokio::task::spawn_blocking(write)
            .await
            .map_err(io::Error::other)??;
        if !self.reading {
            self.reads.send(()).map_err(io::Error::other)?;
            self.reading = true;
        }
        let line = self.lines.recv().await;
        self.reading = false;
        line.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

/// Reads one line, and nothing beyond it: a terminal gives a line at a time.
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
