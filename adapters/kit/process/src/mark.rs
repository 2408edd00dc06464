//! Marks of runs, by which their processes are found.
//!
//! A process that leaves its group and session (`setsid`, a daemon) keeps the environment that it
//! was started with, so `/proc` shows where it comes from. A subreaper would find such processes
//! too, but it is a property of the whole engine process: orphans of an embedder's other children
//! would have to be reaped here.

use std::collections::BTreeSet;
use std::env;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::search::{self, Signal};

/// Variable that marks the processes of a run.
const VARIABLE: &str = "WINDLASS_RUN";
/// Variable that names the purpose of a process that lives as long as its starter.
const LABEL: &str = "WINDLASS_PROCESS";
/// Separator of the marks of nested runs.
const SEPARATOR: &str = ":";
/// Most searches. Each finds the processes that were started during the one before.
const ROUNDS: usize = 8;
/// Most command lines that are returned.
const NAMED: usize = 3;

/// Processes that a run left behind, and that were ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemainingProcesses {
    /// Number of the processes.
    pub count: usize,
    /// Command lines of the first ones, cut to a few words.
    pub commands: Vec<String>,
}

impl RemainingProcesses {
    /// Counts these command lines, and retains the first ones.
    pub(crate) fn of(commands: impl Iterator<Item = String>) -> Self {
        let mut commands: Vec<String> = commands.collect();
        let count = commands.len();
        commands.sort();
        commands.truncate(NAMED);
        Self { count, commands }
    }

    /// Adds others.
    pub(crate) fn extend(&mut self, others: Self) {
        self.count = self.count.saturating_add(others.count);
        self.commands.extend(others.commands);
        self.commands.truncate(NAMED);
    }
}

/// Mark of one run, unique on this machine: the process that starts it, the time, and a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunMark(String);

impl RunMark {
    pub(crate) fn new() -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{}-{run}", process::id(), now.as_nanos()))
    }

    /// Reads the text form; `None` for any other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty();
        (parts.len() == 3 && parts.iter().all(number)).then(|| Self(text.to_owned()))
    }

    /// Returns the text form.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the process that started the run.
    pub(crate) fn starter(&self) -> Option<i32> {
        self.0.split('-').next()?.parse().ok()
    }

    /// Marks the processes that a command starts. They keep the marks of this process, which may
    /// itself belong to a run.
    pub(crate) fn mark(&self, command: &mut Command) {
        let outer = env::var(VARIABLE).map(|outer| outer + SEPARATOR).unwrap_or_default();
        command.env(VARIABLE, format!("{outer}{}", self.0));
    }

    /// Marks them, and names their purpose.
    pub(crate) fn mark_as(&self, command: &mut Command, label: &str) {
        self.mark(command);
        command.env(LABEL, label);
    }

    /// Returns the innermost mark of an environment, as `/proc` shows it.
    fn innermost(environment: &[u8]) -> Option<Self> {
        Self::parse(value_of(environment, VARIABLE)?.rsplit(SEPARATOR).next()?)
    }

    /// Returns true if an environment, as `/proc` shows it, has the mark.
    pub(crate) fn is_in(&self, environment: &[u8]) -> bool {
        environment.split(|byte| *byte == 0).any(|variable| self.is_in_variable(variable))
    }

    fn is_in_variable(&self, variable: &[u8]) -> bool {
        let marks = variable.strip_prefix(VARIABLE.as_bytes());
        let marks = marks.and_then(|rest| rest.strip_prefix(b"="));
        let marks = marks.and_then(|marks| str::from_utf8(marks).ok());
        marks.is_some_and(|marks| marks.split(SEPARATOR).any(|one| one == self.0))
    }

    /// Kills every marked process, and returns those that were found. Blocks while it reads `/proc`.
    pub(crate) fn kill_all(&self) -> RemainingProcesses {
        let (mut commands, mut killed) = (Vec::new(), BTreeSet::new());
        for _ in 0..ROUNDS {
            let found = search::find(|process| !killed.contains(&process.id) && process.has(self));
            if found.is_empty() {
                break;
            }
            for process in found {
                killed.insert(process.id);
                commands.extend(process.signal(Signal::KILL).then_some(process.command));
            }
        }
        RemainingProcesses::of(commands.into_iter())
    }
}

/// Kills the processes with a label whose starters have ended, which were to end with them.
/// Blocks while it reads `/proc`.
pub(crate) fn end_orphans(label: &str) -> RemainingProcesses {
    let orphan = |environment: &[u8]| {
        let starter = RunMark::innermost(environment).and_then(|mark| mark.starter());
        value_of(environment, LABEL) == Some(label)
            && starter.is_some_and(|starter| !search::is_alive(starter))
    };
    let found = search::find(|process| process.is_here() && orphan(&process.environment()));
    let killed = found
        .into_iter()
        .filter_map(|process| process.signal(Signal::KILL).then_some(process.command));
    RemainingProcesses::of(killed)
}

/// Returns the value of a variable of an environment, as `/proc` shows it.
fn value_of<'a>(environment: &'a [u8], name: &str) -> Option<&'a str> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        str::from_utf8(value).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mark_is_that_of_the_starter() {
        let environment = b"A=b\0WINDLASS_RUN=1-1-1:12-345-6\0WINDLASS_PROCESS=mcp a\0";
        assert_eq!(RunMark::innermost(environment).unwrap().starter(), Some(12));
        assert_eq!(value_of(environment, LABEL), Some("mcp a"));
        assert_eq!(value_of(environment, "WINDLASS"), None);
        assert_eq!(RunMark::innermost(b"A=b\0"), None);
    }

    #[test]
    fn only_a_whole_mark_counts() {
        let mark = RunMark::parse("12-345-6").unwrap();
        assert_eq!((mark.as_str(), mark.starter()), ("12-345-6", Some(12)));
        assert_eq!(RunMark::parse(RunMark::new().as_str()).map(|_| ()), Some(()));
        for text in ["", "-", "--", "1-2", "1-2-", "1-2-3-4", "1-2-3:4", "1-2-+3", "1-2-3\n"] {
            assert_eq!(RunMark::parse(text), None, "{text:?}");
        }
        assert!(mark.is_in(b"A=b\0WINDLASS_RUN=1-1-1:12-345-6\0"));
        for other in ["WINDLASS_RUN=12-345-67\0", "WINDLASS_RUN=\0", "XWINDLASS_RUN=12-345-6\0", ""]
        {
            assert!(!mark.is_in(other.as_bytes()), "{other:?}");
        }
    }
}
