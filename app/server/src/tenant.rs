//! Tenants: whose sessions a server runs, each tenant with an engine of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;
use windlass_engine::Engine;
use windlass_engine::core::{ContextPart, Limits, Mode, Permissions, ProgramTransport, Settings};
use windlass_engine::ports::{Blobs, LogStore};

use crate::api::{LimitsShape, ModeShape, PermissionsShape, TransportShape};
use crate::object;

/// Whose sessions a server runs.
pub struct Tenant {
    /// Its name, as the scopes of its sessions have it.
    pub name: String,
    /// What runs its sessions. Tenants may share a store; tools, workspace and provider are its own.
    pub engine: Engine,
    /// The store that the engine runs on.
    pub store: Arc<dyn LogStore>,
    /// What is kept beside its logs.
    pub blobs: Arc<dyn Blobs>,
    /// The folder that its tools work in, as its sessions record it.
    pub workspace: Option<String>,
    /// What its sessions are run with.
    pub house: Arc<dyn House>,
}

/// What a tenant's sessions are run with.
pub trait House: Send + Sync + 'static {
    /// The settings of a new session.
    ///
    /// # Errors
    /// [`Refusal`] when the wish is for more than the tenant allows, or for what there is not.
    fn fresh(&self, wish: &Wish) -> Result<Settings, Refusal>;

    /// What a session's settings are to be now: its own, with the tools, the hooks and the provider's
    /// address that the tenant has today. The same settings where nothing is to change.
    ///
    /// # Errors
    /// [`Refusal`] when the session cannot go on here, for example as its provider is not there.
    fn today(&self, recorded: &Settings) -> Result<Settings, Refusal>;

    /// The models that a session may be opened with; the first is the usual one.
    fn models(&self) -> Vec<String>;

    /// What the model is told beside each input, as what a project's files say: asked for at each
    /// input, on a thread that may block. A part that says the same again is not told again. What a
    /// client tells under the same name takes its place.
    fn context(&self) -> Vec<ContextPart> {
        Vec::new()
    }
}

/// Why a tenant does not run a session so: in words for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// What a client wishes of a new session. It may narrow what the tenant allows, and widen nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"permissions": "ask", "limits": {"samples": 20}}))]
pub struct Wish {
    /// What its turns are for.
    #[schema(value_type = Option<ModeShape>)]
    pub mode: Option<Mode>,
    /// What its calls may do.
    #[schema(value_type = Option<PermissionsShape>)]
    pub permissions: Option<Permissions>,
    /// One of the models that are offered.
    pub model: Option<String>,
    /// The runtime of the programs that the model writes instead of one call after the other: one of
    /// those that are offered.
    pub program: Option<String>,
    /// How a program is handed over. Only of a session whose model writes programs.
    #[schema(value_type = Option<TransportShape>)]
    pub program_transport: Option<ProgramTransport>,
    /// Limits of each turn: the tighter of these and the tenant's count.
    #[schema(value_type = Option<LimitsShape>)]
    #[serde(deserialize_with = "object::numbers")]
    pub limits: Option<Limits>,
}

/// The tenants of a server, by name.
pub(crate) type Tenants = BTreeMap<String, Arc<Tenant>>;
