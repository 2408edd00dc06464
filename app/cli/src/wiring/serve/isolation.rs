//! Isolation of tenants: their tools reach nothing of another tenant, or the operator says so.

use std::path::PathBuf;

use serde::Deserialize;

use super::tenant::TenantWorkspace;
use crate::exit::Failure;
use crate::wiring::sandbox::describe;

/// Barrier between the tools of tenants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Isolation {
    /// The sandbox of each tenant hides the others, the store and the configuration.
    #[default]
    Sandbox,
    /// None: a tenant's tools may do whatever the server's user may.
    None,
}

impl Isolation {
    /// Rejects several tenants of which one can reach another.
    pub(super) fn check(
        self,
        tenants: &[(&str, &TenantWorkspace)],
        hidden: &[PathBuf],
    ) -> Result<(), Failure> {
        if self == Self::None || tenants.len() < 2 {
            return Ok(());
        }
        for (at, (name, place)) in tenants.iter().enumerate() {
            let others = tenants.iter().enumerate().filter(|(other, _)| *other != at);
            let others = others.map(|(_, (_, other))| &other.folder);
            let mut foreign = hidden.iter().filter(|path| **path != place.folder).chain(others);
            let profile = &place.sandbox.profile;
            if profile.name == "off" {
                return Err(refused(name, "has no sandbox"));
            }
            if let Some(path) = foreign.find(|path| !profile.hidden.contains(path)) {
                let why = format!("can read {} from its workspace", path.display());
                return Err(refused(name, &why));
            }
            describe(&place.sandbox).map_err(|failure| {
                refused(name, &format!("has no working sandbox ({})", failure.message))
            })?;
        }
        Ok(())
    }
}

fn refused(name: &str, why: &str) -> Failure {
    Failure::usage(format!(
        "the tenants are not isolated: {name} {why}. Give each tenant a sandbox and a workspace of its \
         own, or accept it with isolation = \"none\" in the configuration"
    ))
}
