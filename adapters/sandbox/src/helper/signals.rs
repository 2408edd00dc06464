//! Signals that ask a command to end. They reach the supervisor, which shares a group with nobody, and go
//! on to the session of the command.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal as Kind};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{Step, step};

/// Signals that are passed on.
const PASSED_ON: [(Kind, Signal); 4] = [
    (Kind::SIGHUP, Signal::HUP),
    (Kind::SIGINT, Signal::INT),
    (Kind::SIGQUIT, Signal::QUIT),
    (Kind::SIGTERM, Signal::TERM),
];

/// Signals of this process, none of which interrupts it.
pub(super) struct Signals(SignalFd);

impl Signals {
    pub(super) fn hold() -> Step<Self> {
        SigSet::all().thread_block().map_err(step("block signals"))?;
        let set: SigSet = PASSED_ON.iter().map(|row| row.0).collect();
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        SignalFd::with_flags(&set, flags).map(Self).map_err(step("read signals"))
    }

    /// Passes on what arrived to the session of the next stage, or to the stage before it has one.
    pub(super) fn pass_on(&self, stage: Pid) {
        while let Ok(Some(info)) = self.0.read_signal() {
            let number = i32::try_from(info.ssi_signo).unwrap_or_default();
            let known = PASSED_ON.iter().find(|row| row.0 as i32 == number);
            let Some((_, signal)) = known else { continue };
            for signal in [*signal, Signal::CONT] {
                // A stage that has ended needs none.
                if kill_process_group(stage, signal).is_err() {
                    let _ = kill_process(stage, signal);
                }
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
