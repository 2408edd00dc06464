//! Output pipes of a process, and the sink that receives their bytes.

use std::io::Error;
use std::os::fd::OwnedFd;
use std::process::Command;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

const BUFFER: usize = 64 * 1024;

/// Destination of a process's stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrMode {
    /// Interleaved with stdout, in the order of writing.
    Merged,
    /// A pipe of its own.
    Separate,
}

/// Pipe that output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPipe {
    /// Stdout, including stderr if that is merged.
    Stdout,
    /// Stderr, if that is separate.
    Stderr,
}

/// Result of passing output to a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkFlow {
    /// The process may write more.
    Continue,
    /// The process is stopped: it wrote more than it may.
    Stop,
}

/// Receiver of a process's output.
pub trait OutputSink: Send + Sync {
    /// Waits until the sink accepts more output of this pipe. Dropping the future loses nothing.
    fn ready(&self, source: OutputPipe) -> impl Future<Output = ()> + Send;

    /// Accepts a part of the output. [`SinkFlow::Stop`] has no effect after the process exited.
    fn accept(&mut self, source: OutputPipe, bytes: &[u8]) -> SinkFlow;
}

/// Read ends of a process's output.
pub(crate) struct Pipes {
    out: Pipe,
    err: Pipe,
}

impl Pipes {
    /// Connects the output of `command` to new pipes. The command holds their write ends.
    pub(crate) fn connect(command: &mut Command, errors: StderrMode) -> Result<Self, Error> {
        let (out, out_end) = std::io::pipe()?;
        let err = match errors {
            StderrMode::Merged => {
                command.stderr(out_end.try_clone()?);
                None
            }
            StderrMode::Separate => {
                let (err, err_end) = std::io::pipe()?;
                command.stderr(err_end);
                Some(err)
            }
        };
        command.stdout(out_end);
        Ok(Self { out: Pipe::new(Some(out.into()))?, err: Pipe::new(err.map(OwnedFd::from))? })
    }

    /// Reads from a terminal, which does not block. Its end is that of the last process with it.
    pub(crate) fn terminal(terminal: OwnedFd) -> Result<Self, Error> {
        let end = Receiver::from_owned_fd_unchecked(terminal)?;
        let out = Pipe { end: Some(end), buffer: vec![0; BUFFER] };
        Ok(Self { out, err: Pipe::new(None)? })
    }

    /// Passes the next part of the output to the sink; `None` once both pipes are at their end.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn next<S: OutputSink>(&mut self, sink: &mut S) -> Option<SinkFlow> {
        let (source, pipe, read) = {
            let sink = &*sink;
            tokio::select! {
                read = self.out.read(sink, OutputPipe::Stdout), if self.out.is_open() => {
                    (OutputPipe::Stdout, &mut self.out, read)
                }
                read = self.err.read(sink, OutputPipe::Stderr), if self.err.is_open() => {
                    (OutputPipe::Stderr, &mut self.err, read)
                }
                else => return None,
            }
        };
        if read == 0 {
            pipe.end = None;
            return Some(SinkFlow::Continue);
        }
        Some(sink.accept(source, pipe.buffer.get(..read).unwrap_or_default()))
    }
}

/// Read end of one pipe.
struct Pipe {
    end: Option<Receiver>,
    buffer: Vec<u8>,
}

impl Pipe {
    fn new(end: Option<OwnedFd>) -> Result<Self, Error> {
        Ok(Self {
            buffer: vec![0; if end.is_some() { BUFFER } else { 0 }],
            end: end.map(Receiver::from_owned_fd).transpose()?,
        })
    }

    fn is_open(&self) -> bool {
        self.end.is_some()
    }

    /// Reads into the buffer; 0 is the end of the pipe or a read error.
    async fn read<S: OutputSink>(&mut self, sink: &S, source: OutputPipe) -> usize {
        sink.ready(source).await;
        match &mut self.end {
            Some(end) => end.read(&mut self.buffer).await.unwrap_or(0),
            None => 0,
        }
    }
}
