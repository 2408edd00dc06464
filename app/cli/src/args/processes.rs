//! Arguments of `windlass processes`, and limits of the processes.

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use windlass_localfs::LocalFsConfig;

use super::parse::{duration, size};
use super::shared::LocationArgs;
use crate::wiring::SessionRef;

/// Arguments of `windlass processes`.
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("workspace", |arg| arg.global(true)),
    mut_arg("store", |arg| arg.global(true))
)]
pub(crate) struct ProcessesArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(subcommand)]
    pub(crate) command: Option<ProcessesCommand>,
}

/// What to do with the processes.
#[derive(Debug, Subcommand)]
pub(crate) enum ProcessesCommand {
    /// List the processes (the default).
    List,
    /// Stop a process, with all that it started.
    Stop {
        /// Id of the process.
        process: u64,
    },
}

/// Limits of the processes that run beyond the calls that started them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ClapArgs)]
pub(crate) struct ProcessLimitArgs {
    /// Most processes of a session that run beyond their calls [default: 8].
    #[arg(long, value_name = "N", value_parser = process_count)]
    pub(crate) processes: Option<usize>,
    /// Most output of such a process that is kept until the model reads it, for example 4MiB: the end
    /// of it [default: 1MiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) process_output: Option<u64>,
    /// Longest life of such a process, for example 8h; it is stopped then [default: 2h].
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) process_life: Option<Duration>,
}

impl ProcessLimitArgs {
    /// Returns a configuration of the workspace's tools with these limits.
    pub(crate) fn apply(self, config: LocalFsConfig) -> LocalFsConfig {
        let processes = self.processes.unwrap_or(config.processes);
        let bytes = |size| usize::try_from(size).unwrap_or(usize::MAX);
        let life = |life: Duration| u64::try_from(life.as_millis()).unwrap_or(u64::MAX);
        LocalFsConfig {
            processes,
            processes_in_all: config.processes_in_all.max(processes),
            process_output_bytes: self.process_output.map_or(config.process_output_bytes, bytes),
            process_timeout_ms: self.process_life.map_or(config.process_timeout_ms, life),
            ..config
        }
    }
}

/// Parses a number of processes.
fn process_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 0..=1_000) => Ok(number),
        _ => Err("it is a number from 0 to 1000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays() {
        let usual = LocalFsConfig::default();
        assert_eq!(ProcessLimitArgs::default().apply(usual.clone()), usual);
        let life = Some(Duration::from_secs(1));
        let named =
            ProcessLimitArgs { processes: Some(100), process_output: Some(5), process_life: life };
        let applied = named.apply(usual.clone());
        assert_eq!((applied.processes, applied.processes_in_all), (100, 100));
        assert_eq!((applied.process_output_bytes, applied.process_timeout_ms), (5, 1_000));
        assert_eq!(applied.grace_ms, usual.grace_ms);
    }
}
