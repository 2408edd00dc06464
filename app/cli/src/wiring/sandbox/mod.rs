//! Sandbox: confines the processes that tools start.
//!
//! It is on unless the user turns it off by name. A profile of the user comes from the user's
//! configuration folder, never from a workspace.

#[cfg(feature = "sandbox")]
mod file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_engine::core::Permissions;
#[cfg(not(feature = "sandbox"))]
use windlass_engine::ports::{
    ConfinedLaunch, NoSandbox, ProcessLaunch, Sandbox, SandboxError, SandboxErrorKind,
    SandboxProfile, SandboxStrength,
};
use windlass_localfs::ToolSandbox;

use super::workspace::Workspace;
use crate::exit::Failure;

/// Name that turns the sandbox off.
const OFF: &str = "off";

/// Describes the profile and what enforces it, or returns the reason why nothing does.
pub(crate) fn describe(own: &ToolSandbox) -> Result<String, Failure> {
    let strength = own.sandbox.strength(&own.profile);
    let strength = strength.map_err(|error| Failure::usage(error.to_string()))?;
    Ok(format!("{}, {}: {}", own.profile.name, strength.tier, strength.mechanisms))
}

/// Names the profile and the tier that enforces it, in a few words.
pub(crate) fn confinement(own: &ToolSandbox) -> String {
    let profile = &own.profile.name;
    match own.sandbox.strength(&own.profile) {
        _ if !is_on(own) => "no sandbox".to_owned(),
        Ok(strength) => format!("sandbox {profile} by {}", strength.tier),
        Err(_) => {
            format!("sandbox {profile}, which this machine does not have: see windlass doctor")
        }
    }
}

/// Returns the sandbox of a profile, by default the user's or `workspace`, for tools in a folder. It
/// hides the state of this program, and the further paths.
pub(crate) fn sandbox(
    name: Option<&str>,
    site: &Workspace,
    folder: &Path,
    hidden: &[PathBuf],
) -> Result<ToolSandbox, Failure> {
    if name == Some(OFF) {
        return Ok(off());
    }
    on(name, site, folder, hidden)
}

/// Returns the permissions of a command that names none: what the sandbox contains runs, and without
/// it a person is asked. `named` is the profile that the command names.
///
/// # Errors
/// If the command names `auto`, and nothing but a file turns the sandbox off.
pub(crate) fn default_permissions(
    own: &ToolSandbox,
    named: Option<&str>,
    permissions: Option<Permissions>,
) -> Result<Permissions, Failure> {
    let contained = is_on(own);
    if !contained && named != Some(OFF) && permissions == Some(Permissions::Auto) {
        return Err(Failure::usage(
            "permissions auto without a sandbox need both by name: sandbox.toml turns the sandbox off. \
             Add --sandbox off, or a profile that confines, or use --permissions ask",
        ));
    }
    Ok(if contained { Permissions::Auto } else { Permissions::Ask })
}

/// Returns true if the sandbox confines processes.
pub(super) fn is_on(own: &ToolSandbox) -> bool {
    own.profile.name != OFF
}

fn off() -> ToolSandbox {
    ToolSandbox::default()
}

#[cfg(feature = "sandbox")]
fn on(
    name: Option<&str>,
    site: &Workspace,
    folder: &Path,
    hidden: &[PathBuf],
) -> Result<ToolSandbox, Failure> {
    use windlass_sandbox::{ProfileScope, SandboxConfig, SystemSandbox};

    let state = super::user_state::state_folder().ok();
    let files = ["providers.toml", "server.toml", "mcp.toml", super::encryption::NAME]
        .map(super::tools::configured);
    let own = state.into_iter().chain(site.private_paths()).chain(files.into_iter().flatten());
    let scope = ProfileScope {
        workspace: folder.to_owned(),
        // Without `HOME`, the one that the system knows of the user.
        home: std::env::home_dir().filter(|home| home.is_absolute()),
        hidden: own.chain(hidden.iter().cloned()).collect(),
    };
    let file = match super::tools::configured("sandbox.toml") {
        Some(path) => file::SandboxFile::read(&path)?,
        None => file::SandboxFile::default(),
    };
    let name = name.or(file.profile.as_deref()).unwrap_or("workspace");
    if name == OFF {
        return Ok(off());
    }
    let profile = file.find(name, &scope)?;
    let config = SandboxConfig { tier: file.tier(), ..SandboxConfig::default() };
    Ok(ToolSandbox { sandbox: Arc::new(SystemSandbox::new(config)), profile: Arc::new(profile) })
}

/// A build without the sandbox refuses every launch.
#[cfg(not(feature = "sandbox"))]
fn on(name: Option<&str>, _: &Workspace, _: &Path, _: &[PathBuf]) -> Result<ToolSandbox, Failure> {
    let profile =
        SandboxProfile { name: name.unwrap_or("workspace").to_owned(), ..NoSandbox::profile() };
    Ok(ToolSandbox { sandbox: Arc::new(Missing), profile: Arc::new(profile) })
}

#[cfg(not(feature = "sandbox"))]
#[derive(Debug)]
struct Missing;

#[cfg(not(feature = "sandbox"))]
impl Sandbox for Missing {
    fn confine(
        &self,
        _: ProcessLaunch,
        _: &SandboxProfile,
    ) -> Result<ConfinedLaunch, SandboxError> {
        Err(missing())
    }

    fn strength(&self, _: &SandboxProfile) -> Result<SandboxStrength, SandboxError> {
        Err(missing())
    }
}

#[cfg(not(feature = "sandbox"))]
fn missing() -> SandboxError {
    SandboxError::new(
        SandboxErrorKind::Unavailable,
        "this build of windlass has no sandbox: build it with the feature `sandbox`, or run commands \
         unconfined with --sandbox off",
    )
}
