//! A child process that leads a process group, which dies as a whole.
//!
//! The leader is reaped last. Until then its number cannot be given to another process, so a
//! signal to the group never reaches a stranger.

use std::process::ExitStatus;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::process::Child;
use tokio::task::JoinHandle;

/// A process group. Dropping it kills what is left of it.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    pid: Option<Pid>,
}

impl Group {
    /// Takes over a child that was spawned as the leader of its own group.
    pub(crate) fn new(child: Child) -> Self {
        let raw = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = raw.and_then(Pid::from_raw);
        Self { child, pid }
    }

    /// Waits, on a thread of its own, until the leader has exited, without reaping it.
    pub(crate) fn exit(&self) -> JoinHandle<()> {
        let pid = self.pid;
        tokio::task::spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            if let Some(pid) = pid {
                // An error means that there is no such child any more, which is an exit too.
                let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options));
            }
        })
    }

    /// Asks every process of the group to end; those that are stopped are woken to hear it.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Kills every process of the group.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Reaps the leader, which has exited. From here on the group is not signalled any more.
    pub(crate) async fn reap(&mut self) -> std::io::Result<ExitStatus> {
        self.kill();
        self.pid = None;
        self.child.wait().await
    }

    /// Takes the pipe to the leader's input.
    pub(crate) fn input(&mut self) -> Option<tokio::process::ChildStdin> {
        self.child.stdin.take()
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid
            && test_kill_process_group(pid).is_ok()
        {
            // It may be gone by now, which is what the signal was for.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
