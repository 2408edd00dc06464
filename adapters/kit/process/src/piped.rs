//! A process that is spoken to over its standard streams for as long as it lives.

use std::io::Error;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::process::ChildStdin;
use tokio::time::timeout;

use crate::group::ProcessGroup;
use crate::lock::start_alone;
use crate::mark::{RunMark, end_orphans};

/// Longest wait for a killed process.
const REAP: Duration = Duration::from_millis(300);

/// Process with its own group, and the streams to it. Dropping it kills the group, and on Linux the
/// processes that left it.
#[derive(Debug)]
pub struct PipedProcess {
    group: ProcessGroup,
    streams: Option<PipedStreams>,
}

/// Standard streams of a process, seen from outside.
#[derive(Debug)]
pub struct PipedStreams {
    /// Write end of its input.
    pub input: ChildStdin,
    /// Read end of its output.
    pub output: Receiver,
    /// Read end of its errors.
    pub errors: Receiver,
}

impl PipedProcess {
    /// Starts a process. Its environment carries `label`, a name of the process's purpose.
    ///
    /// Kills processes with the same label whose starters were killed, first.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command, label: &str) -> Result<Self, Error> {
        let ended = end_orphans(label);
        if ended.count > 0 {
            tracing::warn!(
                %label, processes = ended.count, commands = ?ended.commands,
                "killed what a killed process had left running"
            );
        }
        let mark = RunMark::new();
        mark.mark_as(&mut command, label);
        let (output, output_end) = std::io::pipe()?;
        let (errors, errors_end) = std::io::pipe()?;
        command.stdin(Stdio::piped()).stdout(output_end).stderr(errors_end);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // The command holds the write ends of the pipes until it is dropped on return.
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true);
        let child = start_alone(|| command.spawn())?;
        let mut group = ProcessGroup::new(child, mark, None);
        let input = group.input().ok_or_else(|| Error::other("the process has no input"))?;
        let output = Receiver::from_owned_fd(output.into())?;
        let errors = Receiver::from_owned_fd(errors.into())?;
        Ok(Self { group, streams: Some(PipedStreams { input, output, errors }) })
    }

    /// Takes the streams, once.
    pub fn streams(&mut self) -> Option<PipedStreams> {
        self.streams.take()
    }

    /// Ends the process: waits until it exits by itself, which the end of its input asks for, then sends
    /// SIGTERM, and SIGKILL to what is left. Each of the first two takes at most `grace`.
    pub async fn stop(mut self, grace: Duration) {
        drop(self.streams.take());
        let mut exit = self.group.exit();
        if timeout(grace, &mut exit).await.is_err() {
            self.group.terminate();
            // What does not exit is killed.
            let _ = timeout(grace, &mut exit).await;
        }
        self.group.kill_all().await;
        // A process that survives SIGKILL hangs in the kernel; the runtime reaps it later.
        let _ = timeout(REAP, self.group.reap()).await;
    }
}
