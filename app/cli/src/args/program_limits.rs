//! Limits of programs, as flags and as fields of the server's configuration file.

use std::time::Duration;

use clap::Args as ClapArgs;
use serde::Deserialize;
use windlass_engine::Config;
use windlass_engine::core::{Limits, ProgramLimits};

use super::parse::{duration, size};

/// Deepest nesting that a program may be allowed.
const MOST_DEPTH: i64 = 2_000;

/// Longest source that a program may be allowed, in bytes.
const MOST_SOURCE: u64 = 64 << 10;

/// How the programs of a process share it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ClapArgs)]
pub(crate) struct ProgramSharingArgs {
    /// Most programs that compute at the same time in this process [default: one more than it has
    /// processors].
    #[arg(long, value_name = "N", value_parser = at_once)]
    pub(crate) programs_at_once: Option<usize>,
    /// Time for which a program that waits for its calls keeps its memory, for example 30s. After
    /// that it is run again from the record once they have ended [default: 5s].
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) program_idle: Option<Duration>,
}

impl ProgramSharingArgs {
    /// Returns these arguments, and those of `other` where these name none.
    #[cfg(feature = "server")]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            programs_at_once: self.programs_at_once.or(other.programs_at_once),
            program_idle: self.program_idle.or(other.program_idle),
        }
    }

    /// Applies the arguments to the configuration of an engine.
    pub(crate) fn apply(self, config: Config) -> Config {
        config.with(|it| {
            it.programs_at_once = self.programs_at_once.unwrap_or(config.programs_at_once);
            it.program_idle_ms = self.program_idle.map_or(config.program_idle_ms, milliseconds);
        })
    }
}

/// Parses a number of programs.
fn at_once(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000) => Ok(number),
        _ => Err("it is a number from 1 to 1000".to_owned()),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Limits of one program. A session keeps them until a flag changes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, ClapArgs)]
pub(crate) struct ProgramLimitArgs {
    /// Most steps of a program, as its runtime counts them [default: 10000000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) program_steps: Option<u64>,
    /// Longest computation of a program between two waits for its calls, at most 10m, for example
    /// 30s [default: 10m].
    #[arg(long, value_name = "DUR", value_parser = compute_time)]
    pub(crate) program_time: Option<Duration>,
    /// Most memory of a program, for example 64MiB [default: 128MiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) program_memory: Option<u64>,
    /// Deepest nesting of a program's own calls, at most 2000 [default: 2000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_DEPTH))]
    pub(crate) program_depth: Option<u32>,
    /// Most rounds of one loop of a program; with 0 only the steps limit it [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) program_rounds: Option<u32>,
    /// Most bytes of a program's text, at most 64KiB [default: 64KiB].
    #[arg(long, value_name = "SIZE", value_parser = source_size)]
    pub(crate) program_source: Option<u64>,
    /// Most calls of a program [default: 1000].
    #[arg(long, value_name = "N")]
    pub(crate) program_calls: Option<u32>,
    /// Most bytes that a session's programs keep for later ones [default: 2MiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) program_kept: Option<u64>,
    /// Most bytes that a program prints [default: 64KiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) program_prints: Option<u64>,
    /// Most bytes of a program's result, as JSON [default: 128KiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) program_result: Option<u64>,
}

impl ProgramLimitArgs {
    /// Returns the limits with those that are named here.
    pub(crate) fn apply(&self, limits: ProgramLimits) -> ProgramLimits {
        ProgramLimits {
            steps: self.program_steps.unwrap_or(limits.steps),
            compute_ms: self.program_time.map_or(limits.compute_ms, milliseconds),
            memory_bytes: self.program_memory.unwrap_or(limits.memory_bytes),
            depth: self.program_depth.unwrap_or(limits.depth),
            loop_rounds: self.program_rounds.unwrap_or(limits.loop_rounds),
            source_bytes: self.program_source.unwrap_or(limits.source_bytes),
            calls: self.program_calls.unwrap_or(limits.calls),
            retained_bytes: self.program_kept.unwrap_or(limits.retained_bytes),
            print_bytes: self.program_prints.unwrap_or(limits.print_bytes),
            value_bytes: self.program_result.unwrap_or(limits.value_bytes),
        }
    }

    /// Returns true if a limit is named here.
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Parses the size of a source: runtimes read no longer one.
fn source_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    match bytes <= MOST_SOURCE {
        true => Ok(bytes),
        false => Err("it is at most 64KiB".to_owned()),
    }
}

/// Parses the longest computation: the limit of a call applies to a program, too.
fn compute_time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    match time <= Duration::from_millis(Limits::default().call_ms) {
        true => Ok(time),
        false => Err("it is at most 10m".to_owned()),
    }
}

/// The same limits in a configuration file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProgramLimitFields {
    steps: Option<u64>,
    time: Option<String>,
    memory: Option<String>,
    depth: Option<u32>,
    rounds: Option<u32>,
    source: Option<String>,
    calls: Option<u32>,
    kept: Option<String>,
    prints: Option<String>,
    result: Option<String>,
}

impl ProgramLimitFields {
    /// Converts into the arguments of the command.
    pub(crate) fn args(&self) -> Result<ProgramLimitArgs, String> {
        if self.steps == Some(0) {
            return Err("program_limits: steps is at least 1".to_owned());
        }
        if !self.depth.is_none_or(|depth| (1..=MOST_DEPTH).contains(&depth.into())) {
            return Err(format!("program_limits: depth is 1 to {MOST_DEPTH}"));
        }
        let source = self.source.as_deref().map(source_size).transpose();
        let size = |field: &str, said: &Option<String>| {
            let read = said.as_deref().map(size).transpose();
            read.map_err(|why| format!("program_limits: {field}: {why}"))
        };
        let time = self.time.as_deref().map(compute_time).transpose();
        Ok(ProgramLimitArgs {
            program_steps: self.steps,
            program_time: time.map_err(|why| format!("program_limits: time: {why}"))?,
            program_memory: size("memory", &self.memory)?,
            program_depth: self.depth,
            program_rounds: self.rounds,
            program_source: source.map_err(|why| format!("program_limits: source: {why}"))?,
            program_calls: self.calls,
            program_kept: size("kept", &self.kept)?,
            program_prints: size("prints", &self.prints)?,
            program_result: size("result", &self.result)?,
        })
    }
}
