//! Starts the process of a server.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_kit_process::PipedProcess;
use windlass_ports::{NoSandbox, ProcessLaunch, Sandbox as _};

use crate::config::{McpTransport, ServerSandbox, environment};

/// Variable of the processes of servers. A server that is this program itself starts no servers: one
/// that is configured as its own server would start itself without end.
pub const NESTED: &str = "WINDLASS_MCP_NESTED";

/// Starts the process of a server, confined where the user said so.
///
/// # Errors
/// When the program is not found, or cannot be confined or started; in words.
pub(crate) async fn start(
    transport: &McpTransport,
    workspace: &Path,
    label: String,
) -> Result<PipedProcess, String> {
    let McpTransport::Stdio { command, args, env, cwd, sandbox } = transport else {
        return Err("it has no command".into());
    };
    let folder = cwd.as_deref().map_or(workspace.to_owned(), |cwd| workspace.join(cwd));
    let mut environment = environment(env);
    environment.push((NESTED.into(), "1".into()));
    let launch = ProcessLaunch {
        program: program(command, &folder, &environment)?,
        arguments: args.iter().map(Into::into).collect(),
        folder,
        environment,
    };
    let sandbox = sandbox.clone();
    // Confining may start a process, and the search for others reads files.
    let started = tokio::task::spawn_blocking(move || {
        let launch = confined(launch, sandbox.as_ref())?;
        let named = launch.program.display().to_string();
        let mut command = Command::new(launch.program);
        command.args(launch.arguments).current_dir(launch.folder);
        command.env_clear().envs(launch.environment);
        PipedProcess::start(command, &label).map_err(|error| format!("cannot run {named}: {error}"))
    });
    started.await.map_err(|error| format!("starting it broke off: {error}"))?
}

fn confined(
    launch: ProcessLaunch,
    sandbox: Option<&ServerSandbox>,
) -> Result<ProcessLaunch, String> {
    let confined = match sandbox {
        Some(own) => own.sandbox.confine(launch, &own.profile),
        None => NoSandbox.confine(launch, &NoSandbox::profile()),
    };
    Ok(confined.map_err(|error| error.to_string())?.launch)
}

/// Returns the path of a program: of the search path, unless it is named by its place.
fn program(
    command: &str,
    folder: &Path,
    environment: &[(OsString, OsString)],
) -> Result<PathBuf, String> {
    if command.contains('/') {
        return Ok(folder.join(command));
    }
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
    let mut places = path.into_iter().flat_map(env::split_paths).map(|place| place.join(command));
    places
        .find(|place| place.is_file())
        .ok_or_else(|| format!("there is no program {command:?} in the search path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_or_its_place() {
        let environment = [("PATH".into(), "/nowhere:/bin:/usr/bin".into())];
        let found = |command: &str| program(command, Path::new("/w"), &environment);
        assert!(found("sh").unwrap().ends_with("bin/sh"));
        assert_eq!(found("./a").unwrap(), Path::new("/w/./a"));
        assert_eq!(found("/a/b").unwrap(), Path::new("/a/b"));
        assert!(found("no-such-program").unwrap_err().contains("search path"));
    }
}
