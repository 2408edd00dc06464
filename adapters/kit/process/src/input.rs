//! Input of a process: none, bytes, or parts that arrive while it runs, also through a terminal.

use std::io::{Error, ErrorKind};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetpgrp, tcsetwinsize};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::process::ChildStdin;
use tokio::sync::mpsc::Receiver;

use crate::pipes::{Pipes, StderrMode};

/// Character by which a terminal interrupts the processes in its foreground (Ctrl-C).
const INTERRUPT: u8 = 3;

/// Input of a process.
#[derive(Debug)]
pub enum ProcessInput {
    /// `/dev/null`.
    Empty,
    /// Bytes, after which stdin is closed.
    Bytes(Vec<u8>),
    /// Parts that are written as they arrive. stdin is closed once their sender is dropped.
    Parts(Receiver<Vec<u8>>),
    /// Parts that are typed at a terminal, which is stdin, stdout and stderr of the process.
    Terminal(Receiver<Vec<u8>>, TerminalSize),
}

/// Size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Number of lines.
    pub rows: u16,
    /// Number of characters of a line.
    pub columns: u16,
}

/// Streams of a process that is about to be started: its output, and its input as far as it is known
/// before the start.
pub(crate) struct Streams {
    pub(crate) pipes: Pipes,
    pub(crate) inlet: Inlet,
}

/// Input that is written to a process.
pub(crate) enum Inlet {
    None,
    Bytes(Vec<u8>),
    Parts(Receiver<Vec<u8>>),
    Terminal(Sender, Receiver<Vec<u8>>),
}

impl ProcessInput {
    /// Connects the streams of `command`. The command holds their other ends.
    pub(crate) fn connect(
        self,
        command: &mut Command,
        errors: StderrMode,
    ) -> Result<Streams, Error> {
        let inlet = match self {
            Self::Empty => {
                command.stdin(Stdio::null());
                Inlet::None
            }
            Self::Bytes(bytes) => {
                command.stdin(Stdio::piped());
                Inlet::Bytes(bytes)
            }
            Self::Parts(parts) => {
                command.stdin(Stdio::piped());
                Inlet::Parts(parts)
            }
            Self::Terminal(parts, size) => return terminal(command, parts, size),
        };
        Ok(Streams { pipes: Pipes::connect(command, errors)?, inlet })
    }
}

/// Connects a command to a new terminal.
fn terminal(
    command: &mut Command,
    parts: Receiver<Vec<u8>>,
    size: TerminalSize,
) -> Result<Streams, Error> {
    let (ours, theirs) = open_terminal(size)?;
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    let inlet = Inlet::Terminal(Sender::from_owned_fd_unchecked(ours.try_clone()?)?, parts);
    Ok(Streams { pipes: Pipes::terminal(ours)?, inlet })
}

/// Opens a terminal, and returns the end of this process, which does not block, and that of the other.
fn open_terminal(size: TerminalSize) -> Result<(OwnedFd, OwnedFd), Error> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name, flags, rustix::fs::Mode::empty())?;
    let TerminalSize { rows, columns } = size;
    tcsetwinsize(&ours, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    Ok((ours, theirs))
}

impl Inlet {
    /// Writes the input. A process need not read all of it.
    pub(crate) async fn feed(self, pipe: Option<ChildStdin>, group: Option<Pid>) {
        // An error says that the process reads no more.
        let _ = match (self, pipe) {
            (Self::Bytes(bytes), Some(mut pipe)) => pipe.write_all(&bytes).await,
            (Self::Parts(parts), Some(pipe)) => write_parts(pipe, parts).await,
            (Self::Terminal(terminal, parts), _) => type_parts(terminal, parts, group).await,
            (Self::None, _) | (Self::Bytes(_) | Self::Parts(_), None) => Ok(()),
        };
    }
}

async fn write_parts(mut pipe: ChildStdin, mut parts: Receiver<Vec<u8>>) -> Result<(), Error> {
    while let Some(part) = parts.recv().await {
        pipe.write_all(&part).await?;
    }
    Ok(())
}

async fn type_parts(
    mut terminal: Sender,
    mut parts: Receiver<Vec<u8>>,
    group: Option<Pid>,
) -> Result<(), Error> {
    while let Some(part) = parts.recv().await {
        terminal.write_all(&part).await?;
        // A terminal that controls no session has nothing in its foreground that it could interrupt.
        let interrupts = part.contains(&INTERRUPT) && tcgetpgrp(&terminal).is_err();
        if let (true, Some(group)) = (interrupts, group) {
            match kill_process_group(group, Signal::INT).map_err(Error::from) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}
