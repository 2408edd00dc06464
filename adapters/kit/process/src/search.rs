//! Search for the processes of a run in `/proc`.
//!
//! Two kinds of processes do not show a mark: one with a cleared environment (`env -i`), and one that
//! overwrites it, as some daemons do to set their title. They are found by the lock of their run,
//! unless they closed its descriptor too. Only Linux has `/proc`; elsewhere nothing is found. Signals go
//! through handles of processes (Linux 5.3), so none reaches another process that got the id since.

pub(crate) use rustix::process::Signal;

#[cfg(target_os = "linux")]
pub(crate) use linux::{FoundProcess, find, is_alive};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{FoundProcess, find, is_alive};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::OFlags;
    use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

    use crate::mark::RunMark;

    /// Longest returned command line, in characters.
    const LONGEST: usize = 60;

    /// Process with a handle of it, which was opened first: all that is read is of this process, or
    /// the handle has no use any more.
    pub(crate) struct FoundProcess {
        pub(crate) id: i32,
        /// Command line, cut to a few words.
        pub(crate) command: String,
        folder: PathBuf,
        handle: OwnedFd,
    }

    /// Returns the processes, without this one, that `wanted` chooses. Blocks while it reads.
    pub(crate) fn find(mut wanted: impl FnMut(&FoundProcess) -> bool) -> Vec<FoundProcess> {
        let Ok(processes) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for process in processes.flatten() {
            let id = process.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(id) = id.and_then(Pid::from_raw).filter(|id| *id != getpid()) else {
                continue;
            };
            if let Some(mut process) = FoundProcess::open(id, process.path())
                && wanted(&process)
            {
                process.command = command_line(&process.folder);
                found.push(process);
            }
        }
        found
    }

    /// Returns true if a process has this id.
    pub(crate) fn is_alive(id: i32) -> bool {
        Path::new("/proc").join(id.to_string()).exists()
    }

    impl FoundProcess {
        fn open(id: Pid, folder: PathBuf) -> Option<Self> {
            let handle = pidfd_open(id, PidfdFlags::empty()).ok()?;
            let id = id.as_raw_nonzero().get();
            Some(Self { id, command: String::new(), folder, handle })
        }

        /// Returns true if it has the mark in its environment.
        pub(crate) fn has(&self, mark: &RunMark) -> bool {
            mark.is_in(&self.environment())
        }

        /// Returns its environment; nothing of a process of another user, or one that has ended.
        pub(crate) fn environment(&self) -> Vec<u8> {
            fs::read(self.folder.join("environ")).unwrap_or_default()
        }

        /// Returns true if ids of processes mean the same to it as to this process.
        pub(crate) fn is_here(&self) -> bool {
            let space = |folder: &Path| fs::read_link(folder.join("ns/pid")).ok();
            let own = space(Path::new("/proc/self"));
            own.is_some() && own == space(&self.folder)
        }

        /// Returns true if it inherited the lock at this path. A process that opened the lock to test
        /// it did not: its descriptor is closed when it starts a program.
        pub(crate) fn inherited(&self, lock: &Path) -> bool {
            let Ok(descriptors) = fs::read_dir(self.folder.join("fd")) else {
                return false;
            };
            let mut held = descriptors.flatten().filter(|descriptor| {
                fs::read_link(descriptor.path()).is_ok_and(|path| path == lock)
            });
            held.any(|descriptor| self.passes_on(&descriptor.file_name().to_string_lossy()))
        }

        /// Returns true if programs that it starts get the descriptor.
        fn passes_on(&self, descriptor: &str) -> bool {
            let info = fs::read_to_string(self.folder.join("fdinfo").join(descriptor));
            let flags = info.ok().and_then(|info| {
                let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
                u32::from_str_radix(flags.trim(), 8).ok()
            });
            flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() == 0)
        }

        /// Sends a signal, and returns true if the process was still there.
        pub(crate) fn signal(&self, signal: Signal) -> bool {
            pidfd_send_signal(&self.handle, signal).is_ok()
        }
    }

    fn command_line(folder: &Path) -> String {
        let line = fs::read(folder.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\0').replace(char::is_control, " ");
        let mut short: String = line.chars().take(LONGEST).collect();
        if short.len() < line.len() {
            short.push_str(" ...");
        }
        short
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::path::Path;

    use super::Signal;
    use crate::mark::RunMark;

    pub(crate) struct FoundProcess {
        pub(crate) id: i32,
        pub(crate) command: String,
    }

    pub(crate) fn find(_: impl FnMut(&FoundProcess) -> bool) -> Vec<FoundProcess> {
        Vec::new()
    }

    pub(crate) fn is_alive(_: i32) -> bool {
        true
    }

    impl FoundProcess {
        pub(crate) fn has(&self, _: &RunMark) -> bool {
            false
        }

        pub(crate) fn environment(&self) -> Vec<u8> {
            Vec::new()
        }

        pub(crate) fn is_here(&self) -> bool {
            false
        }

        pub(crate) fn inherited(&self, _: &Path) -> bool {
            false
        }

        pub(crate) fn signal(&self, _: Signal) -> bool {
            false
        }
    }
}
