//! Runs the process group of one hook to its end: by itself, at its time limit, when asked to
//! stop, or when it says too much. Nothing of the group is left when it has ended.

use std::io::Error;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use windlass_ports::CancelSignal;

use crate::group::Group;

/// How long what has been written is read on after the group was killed. Only a process that has
/// left the group can hold it open for longer.
const DRAIN: Duration = Duration::from_millis(300);
/// What a hook may write over its bound before it is stopped. It is thrown away; until then it may
/// still end with a word that counts.
const FLOOD: u64 = 1024 * 1024;
const BUFFER: usize = 16 * 1024;

/// A process to run.
pub(crate) struct Job<'a> {
    /// What to run; its streams and its group are set here.
    pub(crate) command: Command,
    /// What it may read.
    pub(crate) input: Vec<u8>,
    /// The most bytes of each of its outputs that are kept.
    pub(crate) max_bytes: u64,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// Fires when it is to stop.
    pub(crate) cancel: &'a CancelSignal,
}

/// A process that has ended by itself.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How.
    pub(crate) end: End,
    /// What it wrote.
    pub(crate) out: Kept,
    /// What it wrote to stderr.
    pub(crate) err: Kept,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// The first bytes of an output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// As many as are kept.
    pub(crate) bytes: Vec<u8>,
    /// How many there were.
    pub(crate) total: u64,
}

/// Why there is no end to judge by.
#[derive(Debug)]
pub(crate) enum Unrun {
    /// It could not be started.
    NotStarted(Error),
    /// It took too long.
    TimedOut,
    /// It was asked to stop.
    Cancelled,
    /// It wrote far more than it may.
    Flooded,
    /// Nobody can tell how it ended.
    Lost(Error),
}

/// Runs a process. Dropping the future kills its group.
pub(crate) async fn run(job: Job<'_>) -> Result<Ran, Unrun> {
    if job.cancel.is_cancelled() {
        return Err(Unrun::Cancelled);
    }
    let mut group = spawn(job.command).map_err(Unrun::NotStarted)?;
    let mut streams = Streams {
        out: Stream::new(group.child().stdout.take(), job.max_bytes),
        err: Stream::new(group.child().stderr.take(), job.max_bytes),
    };
    let stdin = group.child().stdin.take();
    let watched = watch(
        &group,
        stdin,
        job.input,
        &mut streams,
        job.limit,
        job.cancel,
    )
    .await;
    group.kill();
    if let Err(cut) = watched {
        // One that not even a kill ends at once hangs in the kernel; it is reaped when it can be.
        let _ = timeout(DRAIN, group.reap()).await;
        return Err(cut);
    }
    let _ = timeout(DRAIN, async { while streams.next().await {} }).await;
    let status = group.reap().await.map_err(Unrun::Lost)?;
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    };
    Ok(Ran {
        end,
        out: streams.out.kept,
        err: streams.err.kept,
    })
}

fn spawn(mut command: Command) -> Result<Group, Error> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut command = tokio::process::Command::from(command);
    Ok(Group::new(command.kill_on_drop(true).spawn()?))
}

/// Feeds and reads a process until its leader has exited.
async fn watch(
    group: &Group,
    stdin: Option<tokio::process::ChildStdin>,
    input: Vec<u8>,
    streams: &mut Streams,
    limit: Duration,
    cancel: &CancelSignal,
) -> Result<(), Unrun> {
    let alarm = sleep(limit);
    let feed = feed(stdin, input);
    let mut exit = group.exit();
    tokio::pin!(alarm, feed);
    let (mut feeding, mut reading) = (true, true);
    loop {
        tokio::select! {
            biased;
            _ = &mut exit => return Ok(()),
            () = cancel.cancelled() => return Err(Unrun::Cancelled),
            () = &mut alarm => return Err(Unrun::TimedOut),
            () = &mut feed, if feeding => feeding = false,
            more = streams.next(), if reading => reading = more,
        }
        if streams.out.flooded() || streams.err.flooded() {
            return Err(Unrun::Flooded);
        }
    }
}

/// Writes the input and closes it. A process that does not read it to its end is free not to.
async fn feed(pipe: Option<tokio::process::ChildStdin>, input: Vec<u8>) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(&input).await;
    }
}

/// The outputs of a process.
struct Streams {
    out: Stream<tokio::process::ChildStdout>,
    err: Stream<tokio::process::ChildStderr>,
}

impl Streams {
    /// Reads what comes next; false when there is nothing more to come. Nothing is lost when the
    /// future is dropped.
    async fn next(&mut self) -> bool {
        if self.out.pipe.is_none() && self.err.pipe.is_none() {
            return false;
        }
        tokio::select! {
            read = self.out.read(), if self.out.pipe.is_some() => self.out.keep(read),
            read = self.err.read(), if self.err.pipe.is_some() => self.err.keep(read),
        }
        true
    }
}

/// One pipe and what is kept of it.
struct Stream<P> {
    pipe: Option<P>,
    buffer: Vec<u8>,
    room: u64,
    kept: Kept,
}

impl<P: AsyncRead + Unpin> Stream<P> {
    fn new(pipe: Option<P>, room: u64) -> Self {
        Self {
            pipe,
            buffer: vec![0; BUFFER],
            room,
            kept: Kept::default(),
        }
    }

    /// Reads; 0 is the end, and so is an error.
    async fn read(&mut self) -> usize {
        match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.buffer).await.unwrap_or(0),
            None => 0,
        }
    }

    fn keep(&mut self, read: usize) {
        if read == 0 {
            self.pipe = None;
            return;
        }
        let room = self.room.saturating_sub(self.kept.bytes.len() as u64);
        let taken = read.min(usize::try_from(room).unwrap_or(usize::MAX));
        let part = self.buffer.get(..taken).unwrap_or_default();
        self.kept.bytes.extend_from_slice(part);
        self.kept.total = self.kept.total.saturating_add(read as u64);
    }

    fn flooded(&self) -> bool {
        self.kept.total > self.room.saturating_add(FLOOD)
    }
}

impl Kept {
    /// Whether there was more than is kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    /// As text, with what is no UTF-8 replaced, and without white space around it.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }
}
