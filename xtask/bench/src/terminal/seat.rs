//! A command at a pseudo terminal: keys in, bytes out with the time of their arrival.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Size of the terminal.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// Question for the place of the cursor, and an answer. Some programs wait for it before they draw.
const PLACE: (&[u8], &[u8]) = (b"\x1b[6n", b"\x1b[1;1R");

/// Command at a terminal of its own, killed on drop.
pub(super) struct Seat {
    /// Moment before the command was started.
    pub(super) began: Instant,
    pub(super) output: Output,
    child: Child,
    keys: File,
}

impl Seat {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let (keys, terminal) = open()?;
        command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal);
        let (output, began) = (Output::watch(keys.try_clone()?), Instant::now());
        let child = command.process_group(0).spawn();
        let child =
            child.with_context(|| format!("starting {}", command.get_program().display()))?;
        Ok(Self { began, output, child, keys })
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Writes keys and returns the moment before.
    pub(super) fn types(&mut self, keys: &str) -> anyhow::Result<Instant> {
        let now = Instant::now();
        self.keys.write_all(keys.as_bytes())?;
        Ok(now)
    }

    /// Waits for a text as [`Output::until`], and answers questions for the place of the cursor.
    pub(super) fn until(&mut self, text: &str, patience: Duration) -> anyhow::Result<Instant> {
        let Self { output, keys, .. } = self;
        output.until(text, patience, |bytes| {
            if bytes.windows(PLACE.0.len()).any(|part| part == PLACE.0) {
                keys.write_all(PLACE.1)?;
            }
            Ok(())
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Returns both ends of a new terminal.
fn open() -> anyhow::Result<(File, File)> {
    let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
    let keys = keys.context("opening a pseudo terminal")?;
    grantpt(&keys)?;
    unlockpt(&keys)?;
    let path = ptsname(&keys, Vec::new())?.into_string()?;
    let no_control = i32::try_from(OFlags::NOCTTY.bits())?;
    let terminal = OpenOptions::new().read(true).write(true).custom_flags(no_control).open(path)?;
    tcsetwinsize(&terminal, SIZE)?;
    Ok((keys.into(), terminal))
}

/// Bytes that a process writes.
pub(super) struct Output {
    chunks: Receiver<(Instant, Vec<u8>)>,
    /// Bytes after the last text that was waited for, with the arrival of the newest of them.
    seen: Vec<u8>,
    arrived: Instant,
}

impl Output {
    /// Reads in a thread, until the output ends.
    pub(super) fn watch(mut from: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                let chunk = bytes.get(..read).unwrap_or_default().to_vec();
                if sender.send((Instant::now(), chunk)).is_err() {
                    break;
                }
            }
        });
        Self { chunks, seen: Vec::new(), arrived: Instant::now() }
    }

    /// Waits for a text and returns the arrival of its end. `look` sees all bytes that come before.
    pub(super) fn until(
        &mut self,
        text: &str,
        patience: Duration,
        mut look: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Instant> {
        let (text, until) = (text.as_bytes(), Instant::now() + patience);
        let mut from = 0;
        loop {
            let rest = self.seen.get(from..).unwrap_or_default();
            if let Some(at) = rest.windows(text.len()).position(|part| part == text) {
                self.seen.drain(..from + at + text.len());
                return Ok(self.arrived);
            }
            from = self.seen.len().saturating_sub(text.len());
            let left = until.saturating_duration_since(Instant::now());
            let (arrived, bytes) = self.chunks.recv_timeout(left).map_err(|_| {
                let (text, seen) = (String::from_utf8_lossy(text), self.last());
                anyhow::anyhow!("waited in vain for {text:?}; the last bytes are {seen:?}")
            })?;
            look(&bytes)?;
            self.arrived = arrived;
            self.seen.extend(bytes);
        }
    }

    fn last(&self) -> String {
        let from = self.seen.len().saturating_sub(400);
        String::from_utf8_lossy(self.seen.get(from..).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_key_is_echoed_and_a_question_is_answered() {
        let script = r"stty raw -echo; printf 'ready\033[6n'; exec cat";
        let mut seat = Seat::start(Command::new("sh").args(["-c", script])).unwrap();
        // `cat` echoes the answer, as it would a key.
        seat.until(";1R", PATIENCE).unwrap();
        let sent = seat.types("Ā").unwrap();
        assert!(seat.until("Ā", PATIENCE).unwrap() >= sent);
        let vain = seat.until("Ā", Duration::ZERO).unwrap_err().to_string();
        assert!(vain.starts_with("waited in vain for \"Ā\""), "{vain}");
    }
}
