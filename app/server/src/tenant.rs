//! Tenants: owners of the sessions that a server runs, each with an engine of its own.

use std::collections::BTreeMap;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;
use windlass_engine::Engine;
use windlass_engine::core::{
    ContextPart, Fact, Limits, Mode, Permissions, ProgramTransport, RecordedFact, Settings,
};
use windlass_engine::ports::{BlobStore, FileRestorer, LogStore};

use crate::api::{LimitsShape, ModeShape, PermissionsShape, TransportShape};
use crate::client_tools::ClientTool;
use crate::object;

/// One tenant of a server.
pub struct Tenant {
    /// Name, as in the scopes of its sessions.
    pub name: String,
    /// Engine that runs its sessions. Tenants may share a store; tools, workspace and provider are
    /// their own.
    pub engine: Engine,
    /// Store of the engine.
    pub store: Arc<dyn LogStore>,
    /// Store of outputs beside the store's logs.
    pub blobs: Arc<dyn BlobStore>,
    /// Working folder of its tools, as its sessions record it.
    pub workspace: Option<String>,
    /// Restores files of that folder, if the server has them.
    pub files: Option<Arc<dyn FileRestorer>>,
    /// Sessions of the store that it serves.
    pub served: ServedSessions,
    /// Source of its sessions' settings.
    pub factory: Arc<dyn TenantFactory>,
}

/// Sessions that a tenant serves, of those that its store has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedSessions {
    /// All of them.
    All,
    /// Those that were opened for its workspace, or for none. Others do not exist for its clients.
    OfWorkspace,
}

impl Tenant {
    /// Returns true if a session with this first fact is served.
    pub(crate) fn serves(&self, first: &RecordedFact) -> bool {
        let Fact::SessionOpened(opened) = &first.fact else {
            return true;
        };
        match self.served {
            ServedSessions::All => true,
            ServedSessions::OfWorkspace => {
                opened.workspace.is_none() || opened.workspace == self.workspace
            }
        }
    }
}

/// Settings that a tenant's sessions run with.
pub trait TenantFactory: Send + Sync + 'static {
    /// Returns the settings of a new session.
    ///
    /// # Errors
    /// [`Refusal`] when the options exceed the tenant's limits, or name something that is not
    /// available.
    fn new_settings(&self, wish: &SessionOptions) -> Result<Settings, Refusal>;

    /// Returns a session's current settings: its recorded ones, with the tenant's current tools,
    /// hooks and provider address. Returns equal settings if nothing changes.
    ///
    /// # Errors
    /// [`Refusal`] when the session cannot continue here, for example since its provider is not
    /// configured.
    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal>;

    /// Returns a session's current settings with a client's changes, which may widen them up to those
    /// of a new session. Refuses them all unless it is implemented.
    ///
    /// # Errors
    /// [`Refusal`] as of [`new_settings`](Self::new_settings) and
    /// [`current_settings`](Self::current_settings).
    fn changed_settings(
        &self,
        recorded: &Settings,
        change: &SettingsChange,
    ) -> Result<Settings, Refusal> {
        let _ = (recorded, change);
        Err(Refusal("this server does not change the settings of sessions".to_owned()))
    }

    /// Returns the models that a session may be opened with; the first is the default.
    fn models(&self) -> Vec<String>;

    /// Lists the models that a session may name, the default first. May ask the provider, for a few
    /// seconds.
    fn list_models(&self) -> Pin<Box<dyn Future<Output = ModelList> + Send + '_>> {
        let models = self.models().into_iter().map(OfferedModel::new);
        Box::pin(ready(ModelList { models: models.collect(), fault: None }))
    }

    /// Returns context for the model beside each input, such as a project's instructions. Called at
    /// each input, on a thread that may block. An unchanged part is not repeated. Context from a
    /// client with the same name takes precedence.
    fn context(&self) -> Vec<ContextPart> {
        Vec::new()
    }

    /// Returns true if [`context`](Self::context) may have had a part of this name at an earlier
    /// input. A repeated request equals the first one, whatever the context is by then.
    fn is_context(&self, from: &str) -> bool {
        self.context().iter().any(|part| part.from == from)
    }
}

/// Models that a session may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelList {
    /// The models; the first is the default.
    pub models: Vec<OfferedModel>,
    /// Reason why models of the provider are missing, in words.
    pub fault: Option<String>,
}

/// Model that a session may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// Name, as the provider knows it.
    pub name: String,
    /// Tokens of its window, if known.
    pub window: Option<u64>,
    /// Efforts that it certainly takes, in the provider's words; `None` if it is not known.
    pub efforts: Option<Vec<String>>,
    /// True if it reads images; `None` if it is not known.
    pub images: Option<bool>,
}

impl OfferedModel {
    /// Creates a model of which nothing else is known.
    #[must_use]
    pub fn new(name: String) -> Self {
        Self { name, window: None, efforts: None, images: None }
    }
}

/// Reason why a session may not run, as a text for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Options of a client for a new session. They can narrow the tenant's limits, and never widen
/// them.
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
    /// One of the offered models.
    pub model: Option<String>,
    /// Reasoning effort, in the provider's words; without it, the provider's default.
    pub effort: Option<String>,
    /// Runtime of the programs that the model writes in place of single calls; one of the offered
    /// runtimes.
    pub program: Option<String>,
    /// Transport of programs. Only for a session whose model writes programs.
    #[schema(value_type = Option<TransportShape>)]
    pub program_transport: Option<ProgramTransport>,
    /// Limits of each turn. The lower one of these and the tenant's applies.
    #[schema(value_type = Option<LimitsShape>)]
    #[serde(deserialize_with = "object::numbers")]
    pub limits: Option<Limits>,
    /// Tools that a client of the session runs.
    #[serde(deserialize_with = "object::each")]
    pub client_tools: Vec<ClientTool>,
}

/// Changes of a client to the settings of a session, for turns that open from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// New mode of its turns.
    pub mode: Option<Mode>,
    /// New permissions of its calls.
    pub permissions: Option<Permissions>,
    /// New model.
    pub model: Option<String>,
    /// New reasoning effort; `Some(None)` for the provider's default.
    pub effort: Option<Option<String>>,
}

/// Tenants of a server, by name.
pub(crate) type Tenants = BTreeMap<String, Arc<Tenant>>;
