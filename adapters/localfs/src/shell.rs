//! `shell`: a command line run by `sh` in the workspace folder.

use std::path::PathBuf;

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};
use windlass_kit_process::{RunLocks, allowed};
use windlass_ports::{ProcessLaunch, ToolContext, ToolError};

use crate::config::LocalFsConfig;
use crate::confinement::ToolSandbox;
use crate::fault::CallFailure;
use crate::files::parse;
use crate::planned::planned;
use crate::process::{CommandJob, CommandNames, lock, run};
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
    #[serde(default)]
    outside_sandbox: bool,
}

/// Place in which command lines run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShellPlace<'a> {
    pub(crate) root: &'a WorkspaceRoot,
    pub(crate) config: &'a LocalFsConfig,
    pub(crate) sandbox: &'a ToolSandbox,
    pub(crate) locks: Option<&'a RunLocks>,
    /// True if a person may be asked to let one run outside of the sandbox.
    pub(crate) outside: bool,
}

impl ShellPlace<'_> {
    /// Returns the sandbox of a call, which may ask to run outside of it.
    pub(crate) fn sandbox(
        &self,
        asks_outside: bool,
        context: &ToolContext,
    ) -> Result<ToolSandbox, CallFailure> {
        match (asks_outside, self.outside, context.outside_sandbox) {
            (false, _, _) => Ok(self.sandbox.clone()),
            (true, true, true) => Ok(ToolSandbox::default()),
            (true, false, _) => Err(CallFailure::Message(FORBIDDEN.into())),
            (true, true, false) => Err(CallFailure::Message(NOT_APPROVED.into())),
        }
    }

    /// Returns the launch of a command line in a folder.
    pub(crate) fn launch(&self, line: &str, folder: PathBuf) -> ProcessLaunch {
        ProcessLaunch {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), line.into()],
            folder,
            environment: allowed(std::env::vars_os(), &self.config.env),
        }
    }
}

/// The observation of a call that was told to stop before it began.
pub(crate) fn not_begun() -> Observation {
    Observation::new(ObservationStatus::Aborted, "[not begun, because it was asked to stop]")
}

/// Result of a call that asks to leave the sandbox where nobody can allow it.
const FORBIDDEN: &str = "nothing runs outside of the sandbox here: leave outside_sandbox out, or say in your answer what \
                         you could not do and why";
/// Result of a call that asks to leave the sandbox and that nobody approved.
const NOT_APPROVED: &str = "a person must approve each call outside of the sandbox, and did not";

/// Runs a command line.
pub(crate) async fn shell(
    arguments: &str,
    place: ShellPlace<'_>,
    context: &ToolContext,
) -> Result<Observation, ToolError> {
    let ShellPlace { root, config, locks, outside, .. } = place;
    let checked = parse(arguments).and_then(check).and_then(|arguments: ShellArguments| {
        Ok((place.sandbox(arguments.outside_sandbox, context)?, arguments))
    });
    let (sandbox, arguments) = match checked {
        Ok(checked) => checked,
        Err(fault) => return Ok(fault.observation()),
    };
    let hints = outside && !arguments.outside_sandbox;
    if context.cancel.is_cancelled() {
        return Ok(not_begun());
    }
    let timeout_ms = limit(&arguments, context);
    let launch = place.launch(&arguments.command, root.path().to_owned());
    let action = format!("run /bin/sh in `{}`", root.path().display());
    let job = CommandJob {
        launch,
        sandbox: &sandbox,
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
        progress: &context.progress,
        outputs: &context.outputs,
        lock: lock(locks, context),
    };
    let ran = run(job).await?;
    let mut observation = report::shell(ran, timeout_ms, context.timeout_ms);
    if hints {
        report::hint_at_sandbox(&mut observation);
    }
    Ok(observation)
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
    let ShellArguments { command, timeout_ms, output_bytes: _, outside_sandbox: _ } = &arguments;
    check_line(command)?;
    if *timeout_ms == Some(0) {
        return Err(CallFailure::Message(String::from("timeout_ms is at least 1")));
    }
    Ok(arguments)
}

/// Checks that a command line can be started.
pub(crate) fn check_line(line: &str) -> Result<(), CallFailure> {
    if line.contains('\0') {
        return Err(CallFailure::Message(String::from("a command line has no zero bytes")));
    }
    if line.len() > LONGEST {
        return Err(CallFailure::Message(format!(
            "the command line is longer than {LONGEST} bytes: write a script with write_file and \
             run that"
        )));
    }
    Ok(())
}
