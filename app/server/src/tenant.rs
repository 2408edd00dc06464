//! Tenants: whose sessions a server runs, each tenant with an engine of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;
use windlass_engine::Engine;
use windlass_engine::core::{ContextPart, Limits, Mode, Permissions, ProgramTransport, Settings};
use windlass_engine::ports::{BlobStore, LogStore};

use crate::api::{LimitsShape, ModeShape, PermissionsShape, TransportShape};
use crate::object;

/// One tenant of a server.
pub struct Tenant {
    /// Its name, as the scopes of its sessions have it.
    pub name: String,
    /// Engine that runs its sessions. Tenants may share a store; tools, workspace and provider are
    /// their own.
    pub engine: Engine,
    /// The store that the engine runs on.
    pub store: Arc<dyn LogStore>,
    /// Store of outputs beside its logs.
    pub blobs: Arc<dyn BlobStore>,
    /// The folder that its tools work in, as its sessions record it.
    pub workspace: Option<String>,
    /// Source of its sessions' settings.
    pub factory: Arc<dyn TenantFactory>,
}

/// Settings that a tenant's sessions run with.
pub trait TenantFactory: Send + Sync + 'static {
    /// The settings of a new session.
    ///
    /// # Errors
    /// [`Refusal`] when the wish is for more than the tenant allows, or for what there is not.
    fn new_settings(&self, wish: &SessionOptions) -> Result<Settings, Refusal>;

    /// Returns a session's current settings: its recorded ones, with the tools, the hooks and the
    /// provider's address that the tenant has today. Returns equal settings if nothing changes.
    ///
    /// # Errors
    /// [`Refusal`] when the session cannot go on here, for example as its provider is not there.
    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal>;

    /// The models that a session may be opened with; the first is the usual one.
    fn models(&self) -> Vec<String>;

    /// Returns context for the model beside each input, such as a project's instructions. Called at
    /// each input, on a thread that may block. An unchanged part is not repeated. Context from a
    /// client under the same name takes precedence.
    fn context(&self) -> Vec<ContextPart> {
        Vec::new()
    }
}

/// Reason for refusing to run a session, in words for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Wishes of a client for a new session. They can narrow the tenant's limits, and never widen them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"permissions": "ask", "limits": {"samples": 20}}))]
pub struct SessionOptions {
    /// Mode of its turns.
    #[schema(value_type = Option<ModeShape>)]
    pub mode: Option<Mode>,
    /// Permissions of its calls.
    #[schema(value_type = Option<PermissionsShape>)]
    pub permissions: Option<Permissions>,
    /// One of the models that are offered.
    pub model: Option<String>,
    /// The runtime of the programs that the model writes instead of one call after the other: one of
    /// those that are offered.
    pub program: Option<String>,
    /// Way of handing over programs. Only for a session whose model writes programs.
    #[schema(value_type = Option<TransportShape>)]
    pub program_transport: Option<ProgramTransport>,
    /// Limits of each turn: the tighter of these and the tenant's count.
    #[schema(value_type = Option<LimitsShape>)]
    #[serde(deserialize_with = "object::numbers")]
    pub limits: Option<Limits>,
}

/// The tenants of a server, by name.
pub(crate) type Tenants = BTreeMap<String, Arc<Tenant>>;
