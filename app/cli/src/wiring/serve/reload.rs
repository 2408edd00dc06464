//! Reload of the configuration while the server runs.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_server::{Access, Grant, TokenHash};

use super::file::ServerFile;
use crate::exit::Failure;

/// Reads the configuration again.
pub(crate) struct Reload {
    path: Option<PathBuf>,
    /// Configuration at the start of the server.
    started: ServerFile,
    /// Tenants of the running server.
    tenants: Vec<String>,
    /// Token of a server without configured ones.
    own: Option<(TokenHash, Grant)>,
    access: Arc<Access>,
}

impl Reload {
    pub(super) fn new(
        path: Option<PathBuf>,
        started: ServerFile,
        tenants: Vec<String>,
        own: Option<(TokenHash, Grant)>,
        access: Arc<Access>,
    ) -> Self {
        Self { path, started, tenants, own, access }
    }

    /// Reads the file again, and describes the result. An invalid file changes nothing.
    pub(crate) fn reload(&self) -> Result<String, Failure> {
        let Some(path) = &self.path else {
            return Ok("there is no configuration to reload".to_owned());
        };
        let file = ServerFile::load(path)?;
        self.apply(&file)?;
        let tokens = match file.tokens.len() {
            1 => "1 token".to_owned(),
            many => format!("{many} tokens"),
        };
        Ok(match file.fixed() == self.started.fixed() {
            true => format!("the configuration was read again: {tokens}"),
            false => format!(
                "the configuration was read again: {tokens}; what else has changed (listen, hosts, \
                 origins, bounds, tenants) needs a restart"
            ),
        })
    }

    /// Replaces all tokens and quotas by those of this file.
    pub(super) fn apply(&self, file: &ServerFile) -> Result<(), Failure> {
        let mut grants = file.grants().map_err(Failure::usage)?;
        if let Some((_, grant)) =
            grants.iter().find(|(_, grant)| !self.tenants.contains(&grant.tenant))
        {
            return Err(Failure::usage(format!(
                "a token is for the tenant {:?}, which does not run here: there are {}; a new one \
                 needs a restart",
                grant.tenant,
                self.tenants.join(", ")
            )));
        }
        if grants.is_empty() {
            let own = self.own.clone().ok_or_else(|| {
                Failure::usage("the configuration has no tokens: no client could call")
            })?;
            grants.push(own);
        }
        self.access.replace(grants, file.quotas());
        Ok(())
    }
}
