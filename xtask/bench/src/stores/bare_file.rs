//! The bare loop over files: one thread that gathers waiting facts, one write and one sync per
//! group, segments filled with zeros ahead. It encodes facts with a length and a checksum, and has
//! no claims and no index.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Context as _;
use async_trait::async_trait;
use tokio::sync::oneshot;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::codec;

use super::appends::Appender;

/// Bytes of a segment.
const SEGMENT: u64 = 64 * 1024 * 1024;

/// Bytes of zeros to write at a time.
const AHEAD: u64 = 8 * 1024 * 1024;

/// Most bytes of a group.
const GROUP: usize = 8 * 1024 * 1024;

struct Request {
    text: Vec<u8>,
    done: oneshot::Sender<bool>,
}

/// Bare loop over one file.
pub(super) struct BareFile {
    requests: Sender<Request>,
}

impl BareFile {
    pub(super) fn start(dir: &Path) -> anyhow::Result<Self> {
        let (requests, waiting) = channel();
        let mut log = Log::create(dir.to_owned())?;
        std::thread::spawn(move || log.run(&waiting));
        Ok(Self { requests })
    }
}

#[async_trait]
impl Appender for BareFile {
    async fn begin(&self, _: &SessionId) -> anyhow::Result<Epoch> {
        Ok(Epoch(1))
    }

    async fn append(
        &self,
        _: &SessionId,
        _: Epoch,
        _: Seq,
        fact: Arc<RecordedFact>,
    ) -> anyhow::Result<()> {
        let text = codec::encode(&fact)?;
        let (done, wait) = oneshot::channel();
        self.requests.send(Request { text, done }).context("the loop ended")?;
        anyhow::ensure!(wait.await?, "a write failed");
        Ok(())
    }
}

/// The current segment.
struct Log {
    dir: PathBuf,
    number: u32,
    file: File,
    end: u64,
    /// End of the part that is filled with zeros.
    filled: u64,
}

impl Log {
    fn create(dir: PathBuf) -> io::Result<Self> {
        let file = segment(&dir, 0)?;
        let mut log = Self { dir, number: 0, file, end: 0, filled: 0 };
        log.fill()?;
        Ok(log)
    }

    fn run(&mut self, waiting: &Receiver<Request>) {
        let mut buffer = Vec::new();
        let mut answers = Vec::new();
        while let Ok(first) = waiting.recv() {
            let mut next = Some(first);
            while let Some(Request { text, done }) = next {
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                buffer.extend_from_slice(&crc32c::crc32c(&text).to_le_bytes());
                buffer.extend_from_slice(&length.to_le_bytes());
                buffer.extend_from_slice(&text);
                answers.push(done);
                next = if buffer.len() < GROUP { waiting.try_recv().ok() } else { None };
            }
            let kept = self.write(&buffer).is_ok();
            buffer.clear();
            for answer in answers.drain(..) {
                let _ = answer.send(kept);
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.end + bytes.len() as u64 > SEGMENT && self.end > 0 {
            self.number += 1;
            self.file = segment(&self.dir, self.number)?;
            (self.end, self.filled) = (0, 0);
        }
        while self.end + bytes.len() as u64 > self.filled {
            self.fill()?;
        }
        self.file.write_all_at(bytes, self.end)?;
        self.file.sync_data()?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        let zeros = vec![0; usize::try_from(AHEAD).unwrap_or_default()];
        self.file.write_all_at(&zeros, self.filled)?;
        self.filled += AHEAD;
        self.file.sync_data()
    }
}

fn segment(dir: &Path, number: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(dir.join(format!("{number:08}.seg")))?;
    File::open(dir)?.sync_all()?;
    Ok(file)
}
