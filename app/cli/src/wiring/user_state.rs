//! State folder of the user: the default store, and the record of trusted workspaces.
//!
//! It is never in a workspace: a repository must not bring sessions or trust along.

use std::env;
use std::path::PathBuf;

use crate::exit::Failure;

/// Variable that names the folder.
const OVERRIDE: &str = "WINDLASS_HOME";
/// Folder of the default store in it.
const STORE: &str = "store";

/// Returns the state folder of the user: `WINDLASS_HOME`, else the platform's place.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    match env::var_os(OVERRIDE).filter(|named| !named.is_empty()) {
        Some(named) => absolute_override(named.into()),
        None => platform_folder().ok_or_else(|| {
            Failure::usage(format!(
                "cannot find your state folder: set HOME or {OVERRIDE}, or name a store with --store"
            ))
        }),
    }
}

/// Returns the folder of the default store.
pub(super) fn default_store() -> Result<PathBuf, Failure> {
    Ok(state_folder()?.join(STORE))
}

/// Rejects a relative folder: it would be another one in each workspace.
fn absolute_override(named: PathBuf) -> Result<PathBuf, Failure> {
    match named.is_absolute() {
        true => Ok(named),
        false => Err(Failure::usage(format!(
            "{OVERRIDE} is {}, which is not an absolute path: name your state folder from the root",
            named.display()
        ))),
    }
}

/// Returns `$XDG_STATE_HOME/windlass`, by default `~/.local/state/windlass` (XDG Base Directory), or
/// on a Mac `~/Library/Application Support/windlass`.
fn platform_folder() -> Option<PathBuf> {
    let folder =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let usual = match cfg!(target_os = "macos") {
        true => "Library/Application Support",
        false => ".local/state",
    };
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(usual)))?;
    Some(state.join("windlass"))
}
