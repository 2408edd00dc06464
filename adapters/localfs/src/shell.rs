//! `shell`: a command line run by `sh` in the workspace folder.

use std::path::PathBuf;

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};
use windlass_kit_process::allowed;
use windlass_ports::{ProcessLaunch, ToolContext, ToolError};

use crate::config::LocalFsConfig;
use crate::confinement::ToolSandbox;
use crate::fault::CallFailure;
use crate::files::parse;
use crate::planned::planned;
use crate::process::{CommandJob, CommandNames, run};
use crate::report;
use crate::root::WorkspaceRoot;

/// The longest command line; the kernel takes 128 KiB in one argument.
const LONGEST: usize = 100_000;
/// Time limit of a command line that asks for none, in milliseconds. The tool's description has it.
pub(crate) const TIMEOUT_MS: u64 = 120_000;
/// Most bytes that are shown of an output, unless the call asks for more. The tool's description has
/// it.
pub(crate) const OUTPUT_BYTES: usize = 32 * 1024;
/// Most bytes of a line that are shown. The tool's description has it.
pub(crate) const LINE_BYTES: usize = 2_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShellArguments {
    command: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    output_bytes: Option<usize>,
}

/// Runs a command line.
pub(crate) async fn shell(
    arguments: &str,
    root: &WorkspaceRoot,
    config: &LocalFsConfig,
    sandbox: &ToolSandbox,
    context: &ToolContext,
) -> Result<Observation, ToolError> {
    let arguments = match parse(arguments).and_then(check) {
        Ok(arguments) => arguments,
        Err(fault) => return Ok(fault.observation()),
    };
    if context.cancel.is_cancelled() {
        return Ok(Observation::new(
            ObservationStatus::Aborted,
            "[not begun, because it was asked to stop]",
        ));
    }
    let timeout_ms = limit(&arguments, context);
    let launch = ProcessLaunch {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), arguments.command.into()],
        folder: root.path().to_owned(),
        environment: allowed(std::env::vars_os(), &config.env),
    };
    let action = format!("run /bin/sh in `{}`", root.path().display());
    let job = CommandJob {
        launch,
        sandbox,
        names: CommandNames {
            action: &action,
            remedy: "check that the folder is there and that processes can be started",
        },
        input: None,
        separate_errors: None,
        room: config.room_within(arguments.output_bytes.unwrap_or(OUTPUT_BYTES)),
        line_room: LINE_BYTES,
        timeout_ms,
        grace_ms: config.grace_ms(),
        cancel: &context.cancel,
        progress: &*context.progress,
        outputs: &context.outputs,
    };
    let ran = run(job).await?;
    Ok(report::shell(ran, timeout_ms, context.timeout_ms))
}

/// Says which command line would run.
pub(crate) fn plan(arguments: &str, config: &LocalFsConfig, context: &ToolContext) -> Observation {
    let arguments = match parse(arguments).and_then(check) {
        Ok(arguments) => arguments,
        Err(fault) => return fault.observation(),
    };
    let would = format!(
        "run this command line with sh in the workspace folder, for at most {} ms:\n{}",
        limit(&arguments, context),
        arguments.command
    );
    planned(&would, config.room())
}

/// Time limit of a command line, in milliseconds.
fn limit(arguments: &ShellArguments, context: &ToolContext) -> u64 {
    let own = arguments.timeout_ms.unwrap_or(TIMEOUT_MS);
    own.min(context.timeout_ms)
}

fn check(arguments: ShellArguments) -> Result<ShellArguments, CallFailure> {
    let ShellArguments { command, timeout_ms, output_bytes: _ } = &arguments;
    if command.contains('\0') {
        return Err(CallFailure::Message(String::from("a command line has no zero bytes")));
    }
    if command.len() > LONGEST {
        return Err(CallFailure::Message(format!(
            "the command line is longer than {LONGEST} bytes: write a script with write_file and \
             run that"
        )));
    }
    if *timeout_ms == Some(0) {
        return Err(CallFailure::Message(String::from("timeout_ms is at least 1")));
    }
    Ok(arguments)
}
