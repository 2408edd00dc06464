//! Tools of the workspace, and the user's own commands.
//!
//! Command tools come from the command line or the user's configuration folder, never from a
//! workspace: opening a repository must not run its code.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_engine::Toolbox;
use windlass_engine::core::unavailable_tool;
use windlass_localfs::{CommandTools, LocalFs, LocalFsConfig, RunLocks, ToolSandbox};

use super::own_tools::offered_tools;
use crate::args::EscalationMode;
use crate::exit::Failure;
use crate::signals::COMMAND_GRACE_MS;

/// Combines the tools of a workspace with the user's own. The sandbox confines their processes,
/// and a person may be asked to let one run outside of it. They hold the locks of their calls.
pub(crate) fn toolbox(
    workspace: &Path,
    file: Option<&Path>,
    sandbox: ToolSandbox,
    escalation: EscalationMode,
    locks: Option<RunLocks>,
) -> Result<Toolbox, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let config = LocalFsConfig { grace_ms: COMMAND_GRACE_MS, ..LocalFsConfig::default() };
    let local = LocalFs::open(workspace, config.clone()).map_err(|e| usage(&e))?;
    let local = local.with_sandbox(sandbox.clone());
    let local = match &locks {
        Some(locks) => local.with_run_locks(locks.clone()),
        None => local,
    };
    let local = match escalation {
        EscalationMode::Ask if super::sandbox::is_on(&sandbox) => local.with_calls_outside(),
        EscalationMode::Ask | EscalationMode::Never => local,
    };
    let toolbox = Toolbox::new().with(Arc::new(local)).map_err(|e| usage(&e))?;
    let file = match file {
        Some(file) => file.to_owned(),
        None => match configured("tools.json") {
            Some(file) if file.is_file() => file,
            Some(_) | None => return Ok(toolbox),
        },
    };
    let commands = CommandTools::load(&file, workspace).map_err(|e| usage(&e))?;
    let commands = commands.with_config(config).with_sandbox(sandbox);
    let commands = match locks {
        Some(locks) => commands.with_run_locks(locks),
        None => commands,
    };
    let toolbox = toolbox.with(Arc::new(commands)).map_err(|e| usage(&e))?;
    let specs = offered_tools(&toolbox);
    match unavailable_tool(&specs) {
        None => Ok(toolbox),
        Some(stranger) => Err(Failure::usage(format!(
            "cannot use the tools file `{}`: {stranger}",
            file.display()
        ))),
    }
}

/// Returns the path of a file in the user's configuration folder `windlass` (XDG Base Directory).
pub(super) fn configured(name: &str) -> Option<PathBuf> {
    let folder =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("windlass").join(name))
}
