//! Builder: everything that a [`Windlass`] consists of, with a default for each part but the model.

use std::env;
use std::sync::Arc;

use windlass_clock::SystemClock;
use windlass_engine::core::{
    AgentSpec, CompactionStrategy, Concurrency, EditTools, EffectClass, HookPoint, HookReply,
    Limits, Mode, ModelTools, Permissions, ProgramMode, Scope, Settings, ToolSpec,
};
use windlass_engine::ports::{
    ApprovalDecision, ApprovalRequest, Approver, BlobStore, Clock, HookCall, HookContext, Hooks,
    LogStore, NoApprover, NoHooks, Ports, ProgramRuntime, ProgramRuntimes, Provider, ToolExecutor,
    Wire,
};
use windlass_engine::{Config, Engine, Toolbox};

use crate::closures::{ApproverFunction, HookFunctions};
use crate::error::{Error, Result};
use crate::provider::{NamedProvider, ProviderRequest};
use crate::store::{OpenStore, StoreUrl};
#[cfg(feature = "typed")]
use crate::tool::Tool;
use crate::windlass::{Shared, Windlass};

/// Instructions where the program sets none.
const INSTRUCTIONS: &str = "You are a helpful assistant. Use the tools where they help.";

/// Parameters of an agent tool.
const AGENT_PARAMETERS: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"The task, with everything that it needs: nothing else is known there."}},"required":["prompt"],"additionalProperties":false}"#;

/// Builds a [`Windlass`]. Every part but the model has a default. [`builder`](crate::builder)
/// creates one.
#[must_use = "a builder does nothing until it is opened"]
pub struct Builder {
    model: String,
    provider: Option<Arc<dyn Provider>>,
    base_url: Option<String>,
    api_key: Option<String>,
    wire: Option<Arc<dyn Wire>>,
    store: StoreSource,
    specs: Vec<ToolSpec>,
    edit_tools: Option<EditTools>,
    executors: Vec<Arc<dyn ToolExecutor>>,
    hooks: Option<Arc<dyn Hooks>>,
    hook_functions: HookFunctions,
    approver: Option<Arc<dyn Approver>>,
    clock: Arc<dyn Clock>,
    programs: ProgramRuntimes,
    program: Option<ProgramMode>,
    scope: Scope,
    workspace: Option<String>,
    config: Config,
    instructions: String,
    limits: Limits,
    mode: Mode,
    permissions: Option<Permissions>,
    edits: Vec<SettingsEdit>,
    /// First fault of a part, which `open` reports.
    fault: Option<String>,
}

type SettingsEdit = Box<dyn FnOnce(&mut Settings) + Send>;

/// Source of the store.
enum StoreSource {
    Url(String),
    Own(OpenStore),
}

impl Builder {
    pub(crate) fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            provider: None,
            base_url: None,
            api_key: None,
            wire: None,
            store: StoreSource::Url("memory:".to_owned()),
            specs: Vec::new(),
            edit_tools: None,
            executors: Vec::new(),
            hooks: None,
            hook_functions: HookFunctions::default(),
            approver: None,
            clock: Arc::new(SystemClock::new()),
            programs: ProgramRuntimes::none(),
            program: None,
            scope: Scope::local("owner"),
            workspace: None,
            config: Config::default(),
            instructions: INSTRUCTIONS.to_owned(),
            limits: Limits::default(),
            mode: Mode::Build,
            permissions: None,
            edits: Vec::new(),
            fault: None,
        }
    }

    /// Uses this provider instead of one that is known by name. The builder's model is then the name
    /// of the model alone.
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Sends requests to another endpoint than the environment names. A key of the environment goes
    /// along for `openai`, `openai-chat` and `anthropic`; for other providers only to their own
    /// endpoint.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Uses this key instead of the one in the environment.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Sends the requests of a provider that is known by name over this wire instead of the network.
    /// A key is then optional. The demo model has a wire of its own.
    ///
    /// `replay::Recorder` is a wire that records what another one sends, and `replay::Replayer` one
    /// that answers from the recording (feature `replay`).
    pub fn wire(mut self, wire: impl Wire) -> Self {
        self.wire = Some(Arc::new(wire));
        self
    }

    /// Stores sessions here: `memory:` (the default, which ends with the process), `file:PATH`,
    /// `sled:PATH`, `sqlite:PATH`, `postgres://HOST/DATABASE` or `nats://HOST/PLACE`. A store needs the cargo
    /// feature of its name.
    pub fn store(mut self, url: impl Into<String>) -> Self {
        self.store = StoreSource::Url(url.into());
        self
    }

    /// Stores sessions and their long outputs in these stores.
    pub fn stores(mut self, store: impl LogStore, blobs: impl BlobStore) -> Self {
        let (store, blobs) = (Arc::new(store), Arc::new(blobs));
        self.store = StoreSource::Own(OpenStore { store, blobs, shared: None });
        self
    }

    /// Adds a typed tool. The model sees tools in the order in which they were added.
    #[cfg(feature = "typed")]
    pub fn tool(mut self, tool: Tool) -> Self {
        if let Some(fault) = tool.fault() {
            self.fault.get_or_insert(fault);
        }
        self.tools(tool)
    }

    /// Adds the tools of an executor.
    pub fn tools(mut self, executor: impl ToolExecutor) -> Self {
        self.specs.extend(executor.tools());
        self.executors.push(Arc::new(executor));
        self
    }

    /// Offers these of the tools that edit files, `apply_patch` and `edit_file`, if an executor has
    /// both. The default is the one that the model is trained on.
    pub fn edit_tools(mut self, tools: EditTools) -> Self {
        self.edit_tools = Some(tools);
        self
    }

    /// Adds an agent: a tool whose calls run as sessions of their own. Its definition names the
    /// tools that it may use.
    ///
    /// ```
    /// use windlass::AgentSpec;
    ///
    /// let reader = AgentSpec::new("Read what you are asked for, and quote it.").with_tools(["read_file"]);
    /// let builder = windlass::builder("openai/gpt-5").agent("reader", "Reads files.", reader);
    /// ```
    pub fn agent(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        agent: AgentSpec,
    ) -> Self {
        self.specs.push(ToolSpec::new(name, EffectClass::Idempotent).with(|it| {
            it.description = description.into();
            it.parameters = AGENT_PARAMETERS.to_owned();
            it.concurrency = Concurrency::Parallel;
            it.agent = Some(Box::new(agent));
        }));
        self
    }

    /// Asks these hooks, before those that are functions.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks = Some(Arc::new(hooks));
        self
    }

    /// Asks a function at this point of each turn. Hooks are asked in the order in which they were
    /// added. A hook that fails denies.
    ///
    /// A session records its hooks by name, so choose names that stay.
    ///
    /// ```
    /// use windlass::{HookPoint, HookReply, HookSubject};
    ///
    /// let builder = windlass::builder("openai/gpt-5");
    /// let builder = builder.hook("short", HookPoint::PromptSubmitted, async |call, _| {
    ///     Ok(match call.subject {
    ///         HookSubject::Prompt { text } if text.len() > 4_000 => HookReply::deny("too long"),
    ///         _ => HookReply::pass(),
    ///     })
    /// });
    /// ```
    pub fn hook<F, R>(mut self, name: impl Into<String>, point: HookPoint, hook: F) -> Self
    where
        F: Fn(HookCall, HookContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<HookReply>> + Send + 'static,
    {
        self.hook_functions.push(name.into(), point, hook);
        self
    }

    /// Asks a function for each call that changes something. Permissions are then `Ask`, unless
    /// they are set. The questions of a session wait in its log: a process that dies while a person
    /// thinks asks again when the session is opened.
    ///
    /// ```
    /// use windlass::ApprovalDecision;
    ///
    /// let builder = windlass::builder("openai/gpt-5").approver(async |request| {
    ///     Ok(match request.name.as_str() {
    ///         "send_mail" => ApprovalDecision::deny("no mail today"),
    ///         _ => ApprovalDecision::allow(),
    ///     })
    /// });
    /// ```
    pub fn approver<F, R>(self, approver: F) -> Self
    where
        F: Fn(ApprovalRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ApprovalDecision>> + Send + 'static,
    {
        self.approver_port(ApproverFunction::new(approver))
    }

    /// Asks this approver for each call that changes something. Permissions are then `Ask`, unless
    /// they are set. With [`ExternalApprover`](crate::ExternalApprover), calls wait for
    /// [`Conversation::answer`](crate::Conversation::answer).
    pub fn approver_port(mut self, approver: impl Approver) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Replaces the instructions for the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self
    }

    /// Replaces the limits of each turn.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the mode, which is `Build`.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Replaces the permissions. Without an approver they are `Auto`: every tool that the program
    /// adds may run. With one they are `Ask`.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Acts for this principal. Sessions of another tenant do not exist for it. See also
    /// [`Windlass::scoped`].
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Records the folder that the tools work in.
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Has the model write programs in this language, which call the tools, instead of single calls.
    ///
    /// [`ProgramMode`] in [`settings`](Self::settings) sets their limits, and chooses between several
    /// languages: the first one is the default.
    pub fn program_runtime(mut self, runtime: impl ProgramRuntime) -> Self {
        self.program.get_or_insert_with(|| ProgramMode::new(runtime.name()));
        self.programs = self.programs.with(Arc::new(runtime));
        self
    }

    /// Replaces the clock, which is the system's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Replaces the configuration of the engine.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Edits the settings of sessions, after all other parts have set theirs.
    ///
    /// ```
    /// let builder = windlass::builder("openai/gpt-5");
    /// let builder = builder.settings(|settings| settings.max_output_tokens = Some(2_000));
    /// ```
    pub fn settings(mut self, edit: impl FnOnce(&mut Settings) + Send + 'static) -> Self {
        self.edits.push(Box::new(edit));
        self
    }

    /// Opens the store and sets up the engine. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Config`] when a part is missing or unusable, [`Error::StoreUrl`] when the store
    /// cannot be opened or its cargo feature is off.
    pub async fn open(mut self) -> std::result::Result<Windlass, Error> {
        if let Some(fault) = self.fault.take() {
            return Err(Error::Config(fault));
        }
        let provider = self.named_provider()?;
        let hooks = self.hook_functions.after(self.hooks.take().unwrap_or(Arc::new(NoHooks)));
        let mut toolbox = Toolbox::new();
        for executor in std::mem::take(&mut self.executors) {
            toolbox = toolbox.with(executor)?;
        }
        let permissions = self.permissions.unwrap_or(match self.approver {
            Some(_) => Permissions::Ask,
            None => Permissions::Auto,
        });
        let mut settings = Settings::new(provider.name, provider.model).with(|it| {
            it.instructions = self.instructions;
            it.mode = self.mode;
            it.permissions = permissions;
            it.hooks = hooks.hooks();
            it.redaction = hooks.redaction();
            it.tools = self.specs;
            it.limits = self.limits;
            it.base_url = provider.base_url;
        });
        settings.options.program = self.program;
        settings.window.strategy = CompactionStrategy::Summary;
        settings.window.tokens =
            provider.port.model(&settings.model).window.unwrap_or(settings.window.tokens);
        let known = provider.port.model(&settings.model);
        let trained = if known.patches { EditTools::Patch } else { EditTools::Text };
        let edits = self.edit_tools.unwrap_or(trained);
        ModelTools { edits, images: known.images }.choose(&mut settings.tools);
        for edit in self.edits {
            edit(&mut settings);
        }
        self.programs.write_guide(&mut settings);
        if settings.options.web_search.is_some() {
            provider.port.check_settings(&settings)?;
        }
        let opened = match self.store {
            StoreSource::Url(url) => StoreUrl::parse(&url)?.open().await?,
            StoreSource::Own(opened) => opened,
        };
        let ports = Ports {
            provider: provider.port,
            store: opened.store,
            blobs: opened.blobs,
            tools: Arc::new(toolbox),
            hooks,
            approver: self.approver.unwrap_or(Arc::new(NoApprover)),
            clock: self.clock.clone(),
            programs: self.programs.clone(),
        };
        let shared = Shared {
            store: ports.store.clone(),
            engine: Engine::new(ports, self.config),
            settings,
            workspace: self.workspace,
            clock: self.clock,
            #[cfg(feature = "typed")]
            programs: self.programs,
            _server: provider.server,
        };
        Ok(Windlass::new(shared, self.scope))
    }

    fn named_provider(&mut self) -> std::result::Result<NamedProvider, Error> {
        if let Some(port) = self.provider.take() {
            return Ok(NamedProvider {
                name: port.name().to_owned(),
                model: self.model.clone(),
                base_url: self.base_url.clone(),
                port,
                server: None,
            });
        }
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let request = ProviderRequest {
            model: &self.model,
            base_url: self.base_url.as_deref(),
            api_key: self.api_key.as_deref(),
            wire: self.wire.take(),
            env: &variable,
        };
        request.provider()
    }
}
