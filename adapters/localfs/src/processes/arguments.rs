//! Arguments of the tools for processes.

use serde::Deserialize;
use windlass_ports::ToolContext;

use crate::config::LocalFsConfig;
use crate::fault::CallFailure;
use crate::shell::{self, OUTPUT_BYTES};

/// Longest wait for the end of a process that was started, in milliseconds. The tool's description has
/// it.
const START_YIELD_MS: u64 = 10_000;
/// Longest wait after characters, in milliseconds. The tool's description has it.
const WRITE_YIELD_MS: u64 = 250;
/// Longest wait without characters, in milliseconds. The tool's description has it.
const POLL_YIELD_MS: u64 = 5_000;
/// Most bytes of characters in one call.
const CHARS: usize = 64 * 1024;

/// Arguments of `exec_command`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartArguments {
    pub(crate) cmd: String,
    #[serde(default)]
    pub(crate) workdir: Option<String>,
    #[serde(default)]
    pub(crate) tty: bool,
    #[serde(default)]
    yield_time_ms: Option<u64>,
    #[serde(default)]
    max_output_bytes: Option<usize>,
    #[serde(default)]
    pub(crate) outside_sandbox: bool,
}

/// Arguments of `write_stdin`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) chars: String,
    #[serde(default)]
    yield_time_ms: Option<u64>,
    #[serde(default)]
    max_output_bytes: Option<usize>,
}

/// Arguments of `list_processes`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArguments {}

/// Arguments of `stop_process`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopArguments {
    pub(crate) id: u64,
}

/// Bounds of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerBounds {
    /// Longest wait for the end of the process, in milliseconds.
    pub(crate) yield_ms: u64,
    /// Most bytes of output that are shown.
    pub(crate) room: usize,
}

impl StartArguments {
    pub(crate) fn checked(self) -> Result<Self, CallFailure> {
        shell::check_line(&self.cmd)?;
        Ok(self)
    }

    pub(crate) fn bounds(&self, config: &LocalFsConfig, context: &ToolContext) -> AnswerBounds {
        let yield_ms = self.yield_time_ms.unwrap_or(START_YIELD_MS);
        bounds(yield_ms, self.max_output_bytes, config, context)
    }
}

impl WriteArguments {
    pub(crate) fn checked(self) -> Result<Self, CallFailure> {
        match self.chars.len() > CHARS {
            true => Err(CallFailure::Message(format!(
                "chars has more than {CHARS} bytes: write a file, and have the process read that"
            ))),
            false => Ok(self),
        }
    }

    pub(crate) fn bounds(&self, config: &LocalFsConfig, context: &ToolContext) -> AnswerBounds {
        let usual = if self.chars.is_empty() { POLL_YIELD_MS } else { WRITE_YIELD_MS };
        let yield_ms = self.yield_time_ms.unwrap_or(usual);
        bounds(yield_ms, self.max_output_bytes, config, context)
    }
}

/// Bounds of the answer of a call that stops a process.
pub(crate) fn stop_bounds(config: &LocalFsConfig, context: &ToolContext) -> AnswerBounds {
    bounds(0, None, config, context)
}

fn bounds(
    yield_ms: u64,
    bytes: Option<usize>,
    config: &LocalFsConfig,
    context: &ToolContext,
) -> AnswerBounds {
    // The call itself ends within its limit, with time to store its output.
    let most = context.timeout_ms.saturating_sub(context.timeout_ms / 4);
    let room = config.room_within(bytes.unwrap_or(OUTPUT_BYTES));
    AnswerBounds { yield_ms: yield_ms.min(most), room }
}
