//! Limits of programs, as flags and as fields of the server's configuration file.

use std::time::Duration;

use clap::Args as ClapArgs;
use serde::Deserialize;
use windlass_engine::core::{Limits, ProgramLimits};

use super::parse::{duration, size};

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
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        ProgramLimits {
            steps: self.program_steps.unwrap_or(limits.steps),
            compute_ms: self.program_time.map_or(limits.compute_ms, ms),
            memory_bytes: self.program_memory.unwrap_or(limits.memory_bytes),
            calls: self.program_calls.unwrap_or(limits.calls),
            retained_bytes: self.program_kept.unwrap_or(limits.retained_bytes),
            print_bytes: self.program_prints.unwrap_or(limits.print_bytes),
            value_bytes: self.program_result.unwrap_or(limits.value_bytes),
            ..limits
        }
    }

    /// Returns true if a limit is named here.
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
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
        let size = |field: &str, said: &Option<String>| {
            let read = said.as_deref().map(size).transpose();
            read.map_err(|why| format!("program_limits: {field}: {why}"))
        };
        let time = self.time.as_deref().map(compute_time).transpose();
        Ok(ProgramLimitArgs {
            program_steps: self.steps,
            program_time: time.map_err(|why| format!("program_limits: time: {why}"))?,
            program_memory: size("memory", &self.memory)?,
            program_calls: self.calls,
            program_kept: size("kept", &self.kept)?,
            program_prints: size("prints", &self.prints)?,
            program_result: size("result", &self.result)?,
        })
    }
}
