//! Processes that outlive the leader of their run, found by a mark in their environment.
//!
//! A process that leaves its group and session (`setsid`, a daemon) keeps the environment that it
//! was started with, so `/proc` shows where it comes from. A subreaper would find such processes
//! too, but it is a property of the whole engine process: orphans of an embedder's other children
//! would have to be reaped here.
//!
//! Two kinds of processes are not found: one with a cleared environment (`env -i`), and one that
//! overwrites it, as some daemons do to set their title. Only Linux has `/proc`; elsewhere nothing is
//! found, and only the group is killed. Signals go through handles of processes (Linux 5.3).

use std::env;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Variable that marks the processes of a run.
const VARIABLE: &str = "WINDLASS_RUN";
/// Separator of the marks of nested runs.
const SEPARATOR: &str = ":";

/// Processes that a run left behind, and that were killed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemainingProcesses {
    /// Number of the processes.
    pub count: usize,
    /// Command lines of the first ones, cut to a few words.
    pub commands: Vec<String>,
}

/// Mark of one run, unique on this machine.
#[derive(Debug, Clone)]
pub(crate) struct RunMark(String);

impl RunMark {
    pub(crate) fn new() -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{}-{run}", process::id(), now.as_nanos()))
    }

    /// Marks the processes that a command starts. They keep the marks of this process, which may
    /// itself belong to a run.
    pub(crate) fn mark(&self, command: &mut Command) {
        let outer = env::var(VARIABLE).map(|outer| outer + SEPARATOR).unwrap_or_default();
        command.env(VARIABLE, format!("{outer}{}", self.0));
    }

    /// Kills every marked process, and returns those that were found. Blocks while it reads `/proc`.
    pub(crate) fn kill_all(&self) -> RemainingProcesses {
        proc::kill_all(&self.0)
    }
}

#[cfg(target_os = "linux")]
mod proc {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::{RemainingProcesses, SEPARATOR, VARIABLE};

    /// Most searches. Each finds the processes that were started during the one before.
    const ROUNDS: usize = 8;
    /// Most command lines that are returned.
    const NAMED: usize = 3;
    /// Longest returned command line, in characters.
    const LONGEST: usize = 60;

    pub(super) fn kill_all(mark: &str) -> RemainingProcesses {
        let mut left = RemainingProcesses::default();
        let mut killed = BTreeSet::new();
        for _ in 0..ROUNDS {
            let found = search(mark, &mut killed);
            if found.is_empty() {
                break;
            }
            left.count = left.count.saturating_add(found.len());
            left.commands.extend(found);
        }
        left.commands.sort();
        left.commands.truncate(NAMED);
        left
    }

    /// Kills the marked processes that no search has killed, and returns their command lines.
    fn search(mark: &str, killed: &mut BTreeSet<i32>) -> Vec<String> {
        let mut found = Vec::new();
        let Ok(processes) = fs::read_dir("/proc") else {
            return found;
        };
        for process in processes.flatten() {
            let name = process.file_name();
            let id = name.to_str().and_then(|name| name.parse().ok());
            let Some(pid) = id.and_then(Pid::from_raw) else {
                continue;
            };
            if killed.contains(&pid.as_raw_nonzero().get()) {
                continue;
            }
            if let Some(command) = kill(&process.path(), pid, mark) {
                killed.insert(pid.as_raw_nonzero().get());
                found.push(command);
            }
        }
        found
    }

    /// Kills a process if it has the mark. The handle is opened first, so that the signal cannot
    /// reach a process that gets the same id in between.
    fn kill(folder: &Path, pid: Pid, mark: &str) -> Option<String> {
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Reading it fails for processes of other users, and gives nothing of one that has ended.
        let environment = fs::read(folder.join("environ")).ok()?;
        if !environment.split(|byte| *byte == 0).any(|variable| has_mark(variable, mark)) {
            return None;
        }
        let command = command_line(folder);
        pidfd_send_signal(handle, Signal::KILL).ok()?;
        Some(command)
    }

    fn has_mark(variable: &[u8], mark: &str) -> bool {
        let marks = variable.strip_prefix(VARIABLE.as_bytes());
        let marks = marks.and_then(|rest| rest.strip_prefix(b"="));
        let marks = marks.and_then(|marks| str::from_utf8(marks).ok());
        marks.is_some_and(|marks| marks.split(SEPARATOR).any(|one| one == mark))
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
mod proc {
    use super::RemainingProcesses;

    pub(super) fn kill_all(_: &str) -> RemainingProcesses {
        RemainingProcesses::default()
    }
}
