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

    /// Kills every process of the group.
    pub(crate) fn kill(&self) {
        if let Some(pid) = self.pid
            && test_kill_process_group(pid).is_ok()
        {
            // It may be gone by now, which is what the signal was for.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    /// Kills the group and reaps the leader. From here on the group is not signalled any more.
    pub(crate) async fn reap(&mut self) -> std::io::Result<ExitStatus> {
        self.kill();
        let status = self.child.wait().await;
        self.pid = None;
        status
    }

    /// The leader.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
