//! Reading the configuration again, while the server runs.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_server::{Access, Grant, TokenHash};

use super::file::ServerFile;
use crate::exit::Failure;

/// Reads the configuration again.
pub(crate) struct Reload {
    path: Option<PathBuf>,
    /// As the server was started.
    started: ServerFile,
    /// The tenants that it runs sessions of.
    tenants: Vec<String>,
    /// The one token of a server that none are configured for.
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
        Self {
            path,
            started,
            tenants,
            own,
            access,
        }
    }

    /// Reads the file again, and says in words what came of it. One that does not read changes
    /// nothing.
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

    /// Knows the tokens and the quotas of this file from now on, and no others.
    pub(super) fn apply(&self, file: &ServerFile) -> Result<(), Failure> {
        let mut grants = file.grants().map_err(Failure::usage)?;
        if let Some((_, grant)) = grants
            .iter()
            .find(|(_, grant)| !self.tenants.contains(&grant.tenant))
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
