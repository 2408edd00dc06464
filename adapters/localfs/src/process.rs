//! Runs one process group to its end: by itself, at its time limit, or when asked to stop.

use std::io::Error;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout};
use windlass_ports::{CancelSignal, OutputKeeper, Progress};

use crate::capture::Capture;
use crate::group::Group;
use crate::live::Live;
use crate::whole::{Fate, Whole};

/// How long the output is read on after the group was killed. Only a process that has left the
/// group can hold it open for longer.
const DRAIN: Duration = Duration::from_millis(300);
const BUFFER: usize = 64 * 1024;
/// The longest that a run waits for its output to be kept after it has ended by itself.
const KEEPING: Duration = Duration::from_secs(20);

/// A process to run.
pub(crate) struct Job<'a> {
    /// What to run; its streams and its group are set here.
    pub(crate) command: Command,
    /// What it reads; nothing when absent.
    pub(crate) input: Option<Vec<u8>>,
    /// Where what it writes to stderr goes.
    pub(crate) errors: Errors,
    /// Bytes of its output that are kept.
    pub(crate) room: usize,
    /// How long all of it may take, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// From asking it to end until it is killed, in milliseconds.
    pub(crate) grace_ms: u64,
    /// Fires when it is to stop.
    pub(crate) cancel: &'a CancelSignal,
    /// Shown its output while it comes.
    pub(crate) progress: &'a dyn Progress,
    /// Keeps its output where that is too long to be shown.
    pub(crate) outputs: &'a OutputKeeper,
}

/// Where a process's stderr goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// Among its stdout, in the order of writing.
    Merged,
    /// Apart, of which so many bytes are kept.
    Apart(usize),
}

/// A process that was run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How it ended.
    pub(crate) end: End,
    /// What it wrote.
    pub(crate) out: Capture,
    /// What became of the whole of that.
    pub(crate) fate: Fate,
    /// What it wrote to stderr, where that is kept apart.
    pub(crate) err: Capture,
    /// Whether a process outside the group still holds the output open.
    pub(crate) held_open: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// It was asked to stop.
    Cancelled,
    /// It took too long.
    TimedOut,
}

/// Why a process was not run, or not to an end that is known.
#[derive(Debug)]
pub(crate) struct Unrun {
    /// Whether it had begun.
    pub(crate) began: bool,
    /// The cause.
    pub(crate) error: Error,
}

/// Runs a process. Dropping the future kills its group.
pub(crate) async fn run(job: Job<'_>) -> Result<Ran, Unrun> {
    // The signals are early enough for the run to be over at its limit.
    let grace_ms = job.grace_ms.min(job.timeout_ms / 8);
    let limit = Duration::from_millis(job.timeout_ms.saturating_sub(grace_ms.saturating_mul(2)));
    let start = Instant::now();
    let far = start + Duration::from_secs(86_400 * 365);
    let mut alarm = start.checked_add(limit).unwrap_or(far);
    let spawned = spawn(
        job.command,
        job.input.is_some(),
        job.errors,
        job.room,
        job.outputs,
    );
    let (mut group, mut streams) = spawned.map_err(|error| Unrun {
        began: false,
        error,
    })?;
    let mut exit = group.exit();
    let feed = feed(group.input(), job.input.unwrap_or_default());
    tokio::pin!(feed);
    let mut feeding = true;
    let mut reading = true;
    let mut exited = false;
    let mut stage = Stage::Running;
    // The leader's exit ends a run that nobody ended. When it was told to end, its children have
    // the rest of the grace too; that they hold the output open says that they are there.
    while !exited || (reading && stage != Stage::Running) {
        tokio::select! {
            biased;
            _ = &mut exit, if !exited => exited = true,
            () = job.cancel.cancelled(), if stage == Stage::Running => {
                stage = Stage::Ending(End::Cancelled);
                alarm = Instant::now() + Duration::from_millis(job.grace_ms);
                group.terminate();
            }
            () = sleep_until(alarm) => match stage {
                Stage::Running => {
                    stage = Stage::Ending(End::TimedOut);
                    alarm = Instant::now() + Duration::from_millis(grace_ms);
                    group.terminate();
                }
                Stage::Ending(end) => {
                    stage = Stage::Killing(end);
                    alarm = Instant::now() + DRAIN;
                    group.kill();
                }
                Stage::Killing(_) => break,
            },
            () = &mut feed, if feeding => feeding = false,
            more = streams.next(job.progress), if reading => reading = more,
        }
    }
    group.kill();
    let drained = timeout(DRAIN, async { while streams.next(job.progress).await {} }).await;
    let end = match stage {
        Stage::Running => {
            let status = group.reap().await;
            End::Exited(status.map_err(|error| Unrun { began: true, error })?)
        }
        Stage::Ending(end) | Stage::Killing(end) => {
            // A process that not even a kill ends at once hangs in the kernel; it goes when it
            // can, and is reaped then.
            let _ = timeout(DRAIN, group.reap()).await;
            end
        }
    };
    let now = Instant::now();
    let patience = match end {
        End::Exited(_) => {
            let left = Duration::from_millis(job.timeout_ms).saturating_sub(now - start);
            left.clamp(DRAIN, KEEPING)
        }
        End::Cancelled | End::TimedOut => DRAIN,
    };
    let ended = matches!(end, End::Exited(_));
    let (out, finishing) = streams.out.finish();
    let fate = tokio::select! {
        biased;
        fate = finishing => fate,
        () = job.cancel.cancelled(), if ended => Fate::Late,
        () = sleep_until(now + patience) => Fate::Late,
    };
    Ok(Ran {
        end,
        out,
        fate,
        err: streams.err.kept,
        held_open: drained.is_err(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    Ending(End),
    Killing(End),
}

fn spawn(
    mut command: Command,
    fed: bool,
    errors: Errors,
    room: usize,
    outputs: &OutputKeeper,
) -> Result<(Group, Streams), Error> {
    let (out, out_end) = std::io::pipe()?;
    let (err, err_room) = match errors {
        Errors::Merged => {
            command.stderr(out_end.try_clone()?);
            (None, 0)
        }
        Errors::Apart(err_room) => {
            let (err, err_end) = std::io::pipe()?;
            command.stderr(err_end);
            (Some(err), err_room)
        }
    };
    command.stdout(out_end);
    command.stdin(if fed { Stdio::piped() } else { Stdio::null() });
    command.process_group(0);
    let mut command = tokio::process::Command::from(command);
    let streams = Streams {
        out: Stream::new(Some(out.into()), room, Some(Whole::new(outputs.clone())))?,
        err: Stream::new(err.map(OwnedFd::from), err_room, None)?,
        live: Live::default(),
    };
    // `command` holds the pipes' other ends until it is dropped, which is on return.
    let child = command.kill_on_drop(true).spawn()?;
    Ok((Group::new(child), streams))
}

/// Writes the input. A process that does not read it to its end is free not to.
async fn feed(pipe: Option<tokio::process::ChildStdin>, input: Vec<u8>) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(&input).await;
    }
}

/// The output of a process.
struct Streams {
    out: Stream,
    err: Stream,
    live: Live,
}

impl Streams {
    /// Reads what comes next; false when there is nothing more to come. Nothing is lost when the
    /// future is dropped.
    async fn next(&mut self, progress: &dyn Progress) -> bool {
        if self.out.pipe.is_none() && self.err.pipe.is_none() {
            return false;
        }
        let (stream, read) = tokio::select! {
            read = self.out.read(), if self.out.pipe.is_some() => (&mut self.out, read),
            read = self.err.read(), if self.err.pipe.is_some() => (&mut self.err, read),
        };
        if read == 0 {
            stream.pipe = None;
        } else {
            let part = stream.buffer.get(..read).unwrap_or_default();
            keep(&mut stream.whole, &mut stream.kept, part);
            self.live.push(part, progress);
        }
        true
    }
}

/// One pipe and what is kept of it.
struct Stream {
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
    kept: Capture,
    /// Where the whole of it goes, if anywhere.
    whole: Option<Whole>,
}

/// Takes a part of the output, and hands the whole on from when it is too much to be shown.
fn keep(whole: &mut Option<Whole>, kept: &mut Capture, part: &[u8]) {
    if let Some(whole) = whole {
        if !whole.is_begun() && !kept.takes(part.len()) {
            whole.begin(kept.bytes());
        }
        whole.push(part);
    }
    kept.push(part);
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, room: usize, whole: Option<Whole>) -> Result<Self, Error> {
        Ok(Self {
            buffer: vec![0; if pipe.is_some() { BUFFER } else { 0 }],
            pipe: pipe.map(Receiver::from_owned_fd).transpose()?,
            kept: Capture::new(room),
            whole,
        })
    }

    /// What is shown, and what waits until the whole is kept.
    fn finish(self) -> (Capture, impl Future<Output = Fate>) {
        let Self {
            kept, mut whole, ..
        } = self;
        if let Some(whole) = whole.as_mut().filter(|whole| !whole.is_begun())
            && !kept.is_whole()
        {
            whole.begin(kept.bytes());
        }
        let finishing = async {
            match whole {
                Some(whole) => whole.finish().await,
                None => Fate::Unkept,
            }
        };
        (kept, finishing)
    }

    /// Reads; 0 is the end, and so is an error.
    async fn read(&mut self) -> usize {
        if let Some(whole) = &self.whole {
            whole.ready().await;
        }
        match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.buffer).await.unwrap_or(0),
            None => 0,
        }
    }
}
