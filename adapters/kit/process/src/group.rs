//! A process group led by a child process, signalled as a whole.
//!
//! The leader is reaped last. Until then the kernel cannot reuse its process id, so a signal to the
//! group never reaches another process.

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::process::Child;
use tokio::task::JoinHandle;

use crate::lock::RunLock;
use crate::mark::{RemainingProcesses, RunMark};

/// Longest wait for the search for processes that left the group.
const SEARCH: Duration = Duration::from_secs(2);
/// Longest wait for the end of processes that hold the lock of a run.
const RELEASE: Duration = Duration::from_millis(300);

/// Process group, with the processes that left it. Dropping it kills all of them.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Child,
    pid: Option<Pid>,
    /// Mark of the processes, and their lock if they have one; `None` once all of them were killed.
    run: Option<(RunMark, Option<RunLock>)>,
}

impl ProcessGroup {
    /// Adopts a child that was spawned as the leader of its own group, with this mark and this lock.
    pub(crate) fn new(child: Child, mark: RunMark, lock: Option<RunLock>) -> Self {
        let raw = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = raw.and_then(Pid::from_raw);
        Self { child, pid, run: Some((mark, lock)) }
    }

    /// Waits on a separate thread until the leader exits, without reaping it.
    pub(crate) fn exit(&self) -> JoinHandle<()> {
        let pid = self.pid;
        tokio::task::spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            if let Some(pid) = pid {
                // An error means that the child no longer exists, which counts as an exit.
                let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options));
            }
        })
    }

    /// Sends SIGTERM to the group, and SIGCONT so that stopped processes receive it.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Sends SIGKILL to the group.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Kills every process of the run, also outside of the group, and returns those that were still
    /// there beside an exited leader.
    pub(crate) async fn kill_all(&mut self) -> RemainingProcesses {
        let left = match self.run.take() {
            Some((mark, lock)) => {
                let search = tokio::task::spawn_blocking(move || kill_run(&mark, lock.as_ref()));
                // Reading the environment of a stuck process may block; the search goes on.
                let found = tokio::time::timeout(SEARCH, search).await;
                found.ok().and_then(Result::ok).unwrap_or_default()
            }
            None => RemainingProcesses::default(),
        };
        self.kill();
        left
    }

    /// Kills the group and reaps its leader. No signal is sent to the group afterwards.
    pub(crate) async fn reap(&mut self) -> std::io::Result<ExitStatus> {
        self.kill();
        self.pid = None;
        self.child.wait().await
    }

    /// Returns the id of the group until its leader is reaped.
    pub(crate) fn id(&self) -> Option<Pid> {
        self.pid
    }

    /// Takes the pipe to the leader's stdin.
    pub(crate) fn input(&mut self) -> Option<tokio::process::ChildStdin> {
        self.child.stdin.take()
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid
            && test_kill_process_group(pid).is_ok()
        {
            // The group may have ended in between, which is the intended result.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
        if let Some((mark, lock)) = self.run.take() {
            // The search reads files, which the dropping thread should not wait for.
            let search = move || kill_run(&mark, lock.as_ref());
            let _ = std::thread::Builder::new().spawn(search);
        }
    }
}

/// Kills the processes of a run, by their mark and by their lock.
fn kill_run(mark: &RunMark, lock: Option<&RunLock>) -> RemainingProcesses {
    let mut left = mark.kill_all();
    if let Some(lock) = lock {
        left.extend(lock.release(mark, RELEASE));
    }
    left
}
