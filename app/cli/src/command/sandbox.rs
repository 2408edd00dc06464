//! `windlass sandbox`: runs a command as the commands of tools run.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;

use windlass_engine::ports::{ConfinedLaunch, ProcessLaunch};

use crate::args::SandboxArgs;
use crate::exit::{ExitKind, Failure};
use crate::wiring::{self, Adapters};

/// Runs the command, and ends with its exit code.
pub(super) fn sandbox(args: SandboxArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let own = wiring::sandbox(args.sandbox.profile.as_deref(), &site, &site.workspace, &[])?;
    let mut words = args.command.into_iter();
    let program = words.next().unwrap_or_default();
    let launch = ProcessLaunch {
        program: found(&program).ok_or_else(|| {
            Failure::usage(format!("cannot find the program {}", program.display()))
        })?,
        arguments: words.collect(),
        folder: site.workspace.clone(),
        environment: std::env::vars_os().collect(),
    };
    let confined = own.sandbox.confine(launch, &own.profile);
    let ConfinedLaunch { launch, .. } =
        confined.map_err(|error| Failure::usage(error.to_string()))?;
    let status = Command::new(&launch.program)
        .args(&launch.arguments)
        .current_dir(&launch.folder)
        .env_clear()
        .envs(launch.environment)
        .status()
        .map_err(|error| {
            Failure::new(ExitKind::Failed, format!("cannot start the command: {error}"))
        })?;
    let signal = || status.signal().map(|signal| signal.saturating_add(128));
    let code = status.code().or_else(signal).unwrap_or(1);
    Ok(ExitKind::Command(u8::try_from(code).unwrap_or(1)))
}

/// Returns the path of a program, which may be searched for.
fn found(program: &OsStr) -> Option<PathBuf> {
    let path = PathBuf::from(program);
    if path.components().count() > 1 {
        return Some(path);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&path)).find(|path| path.is_file())
}
