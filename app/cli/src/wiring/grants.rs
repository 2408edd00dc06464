//! Grants of a user or a tenant, from the file of the user's state folder.

use async_trait::async_trait;
use windlass::store::StoreUrl;
use windlass_engine::core::SessionId;
use windlass_engine::ports::{Grant, Grants, GrantsError, GrantsErrorKind, NewGrant};

use super::grant_file::{self, GrantPlace};
use super::workspace::Workspace;

/// Approval grants in one workspace and store.
pub(crate) struct UserGrants {
    tenant: Option<String>,
    workspace: String,
    store: StoreUrl,
}

impl UserGrants {
    /// Creates the grants of a workspace; `tenant` is that of a server.
    pub(crate) fn new(tenant: Option<&str>, workspace: String, store: &StoreUrl) -> Self {
        Self { tenant: tenant.map(str::to_owned), workspace, store: store.clone() }
    }

    fn is_here(&self, workspace: Option<&str>) -> bool {
        workspace == Some(&*self.workspace)
    }

    /// Returns the place of the grants. A store's folder may be made after this was created.
    fn place(&self) -> GrantPlace {
        GrantPlace {
            tenant: self.tenant.clone(),
            workspace: self.workspace.clone(),
            store: store_identity(&self.store),
        }
    }
}

/// Returns the place of a workspace's grants.
pub(crate) fn grant_place(site: &Workspace) -> GrantPlace {
    UserGrants::new(None, site.recorded(), &site.store).place()
}

/// Returns the identity of a store. A folder that takes the place of another one has another
/// identity, and so has each in-memory store.
fn store_identity(store: &StoreUrl) -> String {
    use std::os::unix::fs::MetadataExt as _;
    match store.path() {
        None if store.ends_with_process() => format!("{store}{}", std::process::id()),
        None => store.to_string(),
        Some(path) => {
            let found = path.metadata().map(|folder| (folder.dev(), folder.ino()));
            let (device, inode) = found.unwrap_or_default();
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            format!("{}#{device}:{inode}", path.display())
        }
    }
}

#[async_trait]
impl Grants for UserGrants {
    async fn of_session(
        &self,
        session: &SessionId,
        workspace: Option<&str>,
    ) -> Result<Vec<Grant>, GrantsError> {
        if !self.is_here(workspace) {
            return Ok(Vec::new());
        }
        let (place, session) = (self.place(), session.clone());
        blocking(move || {
            let entries = grant_file::load()?.into_iter();
            let applying = entries.filter(|entry| entry.applies(&place, &session));
            Ok(applying.map(|entry| entry.grant()).collect())
        })
        .await
    }

    async fn add(
        &self,
        session: &SessionId,
        workspace: Option<&str>,
        grant: NewGrant,
    ) -> Result<Grant, GrantsError> {
        if !self.is_here(workspace) {
            let words =
                "the session was opened for another workspace, so only this call is allowed";
            return Err(GrantsError::new(GrantsErrorKind::OtherWorkspace, words));
        }
        let (place, session) = (self.place(), session.clone());
        blocking(move || grant_file::give(&place, &session, grant)).await
    }

    async fn list(&self) -> Result<Vec<Grant>, GrantsError> {
        let place = self.place();
        blocking(move || {
            let entries = grant_file::load()?.into_iter();
            Ok(entries.filter(|entry| entry.is_of(&place)).map(|entry| entry.grant()).collect())
        })
        .await
    }

    async fn revoke(&self, id: &str) -> Result<bool, GrantsError> {
        let (place, id) = (self.place(), id.to_owned());
        blocking(move || Ok(grant_file::remove(|entry| entry.id == id && entry.is_of(&place))? > 0))
            .await
    }
}

/// Reads or writes the file on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GrantsError> + Send + 'static,
) -> Result<T, GrantsError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(GrantsError::new(GrantsErrorKind::Record, format!("reading the grants: {error}")))
    })
}
