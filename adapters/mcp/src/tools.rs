//! The tools of servers as a tool executor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::JsonObject;
use serde_json::Value;
use windlass_core::{EffectClass, Observation, ObservationStatus, ToolSpec};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor, Wire};

use crate::call::{CallEnd, call};
use crate::catalogue::{CatalogueTool, CheckTool};
use crate::config::{McpServer, ToolApproval};
use crate::connection::{MakeWire, Target};
use crate::deferred::defer;
use crate::error::McpError;
use crate::excerpt::observation;
use crate::images::{self, StoredImages};
use crate::name::ServerName;
use crate::oauth::Login;
use crate::record::McpRecord;
use crate::resources::resource_tools;
use crate::result;
use crate::server::{Server, ServerReport, ServerState};

/// Place in which servers are started, and what they need.
#[derive(Clone)]
pub struct McpOptions {
    /// Folder that processes start in.
    pub(crate) workspace: PathBuf,
    record: Arc<McpRecord>,
    /// Folder of the logins; `None` means that there are none.
    pub(crate) logins: Option<PathBuf>,
    pub(crate) wire: MakeWire,
    check: CheckTool,
    /// Most estimated tokens of the tools of all servers that are offered at once; 0 for no limit.
    defer_above_tokens: u64,
}

impl McpOptions {
    /// Starts processes in this folder. Without a wire no server over HTTP is reached, and without a
    /// record nothing is remembered.
    #[must_use]
    pub fn new(workspace: PathBuf) -> Self {
        let none: MakeWire =
            Arc::new(|_| Err(McpError::new("servers over HTTP are not reached: set a wire")));
        let record = Arc::new(McpRecord::in_memory());
        Self {
            workspace,
            record,
            logins: None,
            wire: none,
            check: Arc::new(|_| Ok(())),
            defer_above_tokens: 0,
        }
    }

    /// Offers only tools that `check` accepts. The others are reported with its words.
    #[must_use]
    pub fn with_check(
        self,
        check: impl Fn(&ToolSpec) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { check: Arc::new(check), ..self }
    }

    /// Defers the tools of all servers if together they have more tokens than this, by the estimate of
    /// [`ToolSpec::estimated_tokens`]; 0 never defers them.
    #[must_use]
    pub fn with_deferred_over(self, above_tokens: u64) -> Self {
        Self { defer_above_tokens: above_tokens, ..self }
    }

    /// Remembers eras and tools in this record.
    #[must_use]
    pub fn with_record(self, record: McpRecord) -> Self {
        Self { record: Arc::new(record), ..self }
    }

    /// Keeps the logins at servers over HTTP in a folder of the user's, which is made when it is needed.
    #[cfg(feature = "oauth")]
    #[must_use]
    pub fn with_logins(self, folder: PathBuf) -> Self {
        Self { logins: Some(folder), ..self }
    }

    /// Reaches servers over HTTP with the wires that `wire` makes for their addresses.
    #[must_use]
    pub fn with_wire(
        self,
        wire: impl Fn(&str) -> Result<Arc<dyn Wire>, McpError> + Send + Sync + 'static,
    ) -> Self {
        Self { wire: Arc::new(wire), ..self }
    }
}

/// Servers with their tools. Dropping it ends their connections, and kills their processes.
pub struct McpTools {
    pub(crate) servers: Vec<Server>,
    /// Indices of the servers that declare resources.
    pub(crate) readable: Vec<usize>,
    /// Indices of the servers that declare prompts.
    pub(crate) prompting: Vec<usize>,
    offered: BTreeMap<String, OfferedTool>,
    specs: Vec<ToolSpec>,
    record: Arc<McpRecord>,
}

/// A tool as it was when it was offered.
struct OfferedTool {
    /// Index of its server.
    server: usize,
    tool: CatalogueTool,
    /// True if it is not what it was when it was approved.
    changed: bool,
}

impl McpTools {
    /// Starts servers, and waits until each is there or has failed. A server that failed offers
    /// nothing; attempts to reach it go on.
    ///
    /// # Errors
    /// [`McpError`] when a required server failed.
    pub async fn start(
        servers: impl IntoIterator<Item = (ServerName, McpServer)>,
        options: McpOptions,
    ) -> Result<Self, McpError> {
        let started: Vec<Server> =
            servers.into_iter().map(|(name, config)| start(name, config, &options)).collect();
        let mut tools = Self {
            servers: started,
            readable: Vec::new(),
            prompting: Vec::new(),
            offered: BTreeMap::new(),
            specs: Vec::new(),
            record: options.record,
        };
        for at in 0..tools.servers.len() {
            tools.settle(at).await?;
        }
        defer(&mut tools.specs, options.defer_above_tokens);
        if !tools.readable.is_empty() {
            tools.specs.extend(resource_tools());
        }
        Ok(tools)
    }

    /// Waits for a server, and offers its tools.
    async fn settle(&mut self, at: usize) -> Result<(), McpError> {
        let Some(server) = self.servers.get(at) else {
            return Ok(());
        };
        let settled = server.settled().await;
        let reason = match settled.state {
            ServerState::Degraded { reason } | ServerState::Failed { reason } => Some(reason),
            ServerState::Connecting | ServerState::Ready => None,
        };
        if let Some(reason) = reason.filter(|_| server.config.required) {
            let (name, place) = (&server.name, server.config.transport.place());
            let words = format!("cannot start the MCP server {name} ({place}): {reason}");
            return Err(McpError::new(words));
        }
        let declared = settled.link.and_then(|link| link.peer.peer_info());
        if let Some(info) = declared {
            self.readable.extend(info.capabilities.resources.as_ref().map(|_| at));
            self.prompting.extend(info.capabilities.prompts.as_ref().map(|_| at));
        }
        let all = &settled.catalogue.tools;
        let digests = all.iter().map(|tool| (tool.own_name.clone(), tool.digest.clone()));
        let changed = self.record.compare(&server.identity, &digests.collect());
        let changed = changed.unwrap_or_else(|error| {
            tracing::warn!(
                server = %server.name, %error,
                "the record of MCP servers cannot be used, so each of the server's tools counts as changed"
            );
            all.iter().map(|tool| tool.own_name.clone()).collect()
        });
        for tool in all {
            let changed = changed.contains(&tool.own_name);
            self.specs.push(tool.spec.clone());
            let offered = OfferedTool { server: at, tool: tool.clone(), changed };
            self.offered.insert(tool.spec.name.clone(), offered);
        }
        Ok(())
    }

    /// Returns the state of each server.
    #[must_use]
    pub fn reports(&self) -> Vec<ServerReport> {
        self.servers.iter().map(Server::report).collect()
    }

    /// Returns the names of the tools that are not what they were when they were approved. A person
    /// must be asked about their calls; the first call that runs approves the tool as it is now.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<&str> {
        let changed = self.offered.iter().filter(|(_, offered)| offered.changed);
        changed.map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the approval that calls of each tool need, by name, where it is not left to the
    /// permissions. A tool that changed is asked about whatever the user said before.
    #[must_use]
    pub fn approvals(&self) -> Vec<(&str, ToolApproval)> {
        let approval = |(name, offered): (_, &OfferedTool)| {
            let server = self.servers.get(offered.server)?;
            let own = server.config.approval(&offered.tool.own_name);
            let approval = match (own, offered.changed) {
                (Some(ToolApproval::Deny), _) => Some(ToolApproval::Deny),
                (_, true) => Some(ToolApproval::Ask),
                (own, false) => own,
            };
            Some((name, approval?))
        };
        let names = self.offered.iter().map(|(name, offered)| (name.as_str(), offered));
        names.filter_map(approval).collect()
    }

    fn find(&self, call: &ToolCall) -> Result<(&Server, &OfferedTool), ToolError> {
        let offered = self.offered.get(&call.name);
        let found = offered.and_then(|tool| Some((self.servers.get(tool.server)?, tool)));
        found.ok_or_else(|| {
            ToolError::unsupported(format!("no MCP server here has the tool {}", call.name))
        })
    }
}

fn start(name: ServerName, config: McpServer, options: &McpOptions) -> Server {
    let label = format!("mcp {name} {}", config.transport.identity());
    let head = config.tool_timeout.max(config.startup_timeout);
    let login = Login::of(&name, &config, options.logins.as_deref(), &options.wire);
    let target = Target {
        transport: config.transport.clone(),
        workspace: options.workspace.clone(),
        label,
        wire: options.wire.clone(),
        head_ms: u64::try_from(head.as_millis()).unwrap_or(u64::MAX),
        login,
    };
    Server::start(name, config, target, (options.record.clone(), options.check.clone()))
}

#[async_trait]
impl ToolExecutor for McpTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        if let Some(ended) = self.run_resource_tool(&call, &context).await {
            return Ok(ended);
        }
        let (server, offered) = self.find(&call)?;
        if context.cancel.is_cancelled() {
            let words = "[not begun, because it was asked to stop]";
            return Ok(Observation::new(ObservationStatus::Aborted, words));
        }
        let arguments = match serde_json::from_str(&call.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) | Err(_) => {
                let words = "Failed: the arguments are no JSON object.";
                return Ok(Observation::new(ObservationStatus::Failed, words));
            }
        };
        let run = Run { server, offered, record: &self.record, context: &context };
        run.run(arguments).await
    }

    async fn plan(&self, call: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        let (server, offered) = self.find(&call)?;
        let words = format!(
            "Not run: this is a dry run. It would call the tool {} of the MCP server {} with {}.",
            offered.tool.own_name, server.name, call.arguments
        );
        Ok(Observation::new(ObservationStatus::NotStarted, words))
    }
}

/// Returns the time of a run: a little less than its caller waits, so that its end is told.
pub(crate) fn limit(config: &McpServer, context: &ToolContext) -> Duration {
    let caller = Duration::from_millis(context.timeout_ms);
    let caller = caller.saturating_sub((caller / 8).min(Duration::from_millis(500)));
    caller.min(config.tool_timeout)
}

/// One run of a call.
struct Run<'a> {
    server: &'a Server,
    offered: &'a OfferedTool,
    record: &'a McpRecord,
    context: &'a ToolContext,
}

impl Run<'_> {
    async fn run(self, arguments: JsonObject) -> Result<Observation, ToolError> {
        let (name, tool) = (&self.server.name, &self.offered.tool);
        let within = limit(&self.server.config, self.context);
        let begun = tokio::time::Instant::now();
        let linked = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => {
                let words = "[not begun: it was asked to stop before the server was there]";
                return Ok(Observation::new(ObservationStatus::Aborted, words));
            }
            linked = self.server.link() => linked,
            () = tokio::time::sleep(within) => Err("it is not there in time".into()),
        };
        let (link, catalogue) = linked.map_err(|reason| {
            self.not_started(&format!("the MCP server {name} is not there: {reason}"))
        })?;
        match catalogue.find(&tool.spec.name) {
            Some(now) if now.digest == tool.digest => {}
            Some(_) => return Err(self.not_started(&format!(
                "the MCP server {name} has changed what this tool is since it was offered, so it was \
                 not called; a new start offers it as it is, and asks about it"
            ))),
            None => {
                let words = format!("the MCP server {name} does not have this tool any more");
                return Err(self.not_started(&words));
            }
        }
        if self.offered.changed
            && let Err(error) =
                self.record.approve(&self.server.identity, &tool.own_name, &tool.digest)
        {
            tracing::warn!(%error, "the approval of a changed tool cannot be recorded");
        }
        let left = within.saturating_sub(begun.elapsed());
        let limits = (left, &self.context.cancel);
        let progress = self.context.progress.clone();
        let end = call(&link, &tool.own_name, arguments, limits, progress).await;
        if let CallEnd::Lost { broken: true, .. } = end {
            self.server.report_broken(&link);
        }
        self.observed(end, within).await
    }

    fn not_started(&self, words: &str) -> ToolError {
        ToolError::new(ToolErrorKind::NotStarted, words)
    }

    async fn observed(&self, end: CallEnd, within: Duration) -> Result<Observation, ToolError> {
        let name = &self.server.name;
        let reads = self.offered.tool.spec.effect == EffectClass::ReadOnly;
        Ok(match end {
            CallEnd::Result(result) => {
                let outputs = &self.context.outputs;
                // A program receives text only.
                let shown = match self.context.program {
                    None => images::store(&result, outputs).await,
                    Some(_) => StoredImages::default(),
                };
                let schema = self.offered.tool.output.as_deref();
                let (status, text) = result::text(&result, schema, &shown.parts);
                let observation = observation(status, text, outputs).await;
                Observation { images: shown.images, ..observation }
            }
            CallEnd::Refused(words) => {
                let words = format!("Failed: the MCP server {name} answered: {words}");
                Observation::new(ObservationStatus::Failed, words)
            }
            CallEnd::InputRequired(asked) => Observation::new(
                ObservationStatus::Failed,
                format!(
                    "Failed: the MCP server {name} asks the user for input before it goes on, which \
                     cannot be given here. It asks: {asked}"
                ),
            ),
            CallEnd::Cancelled => Observation::new(
                ObservationStatus::Aborted,
                format!(
                    "[stopped because it was asked to; the MCP server {name} was told, and may have \
                     done a part of it or all]"
                ),
            ),
            CallEnd::TimedOut if reads => Observation::new(
                ObservationStatus::Failed,
                format!(
                    "Failed: the MCP server {name} did not answer within {} ms. It changes nothing.",
                    within.as_millis()
                ),
            ),
            CallEnd::TimedOut => Observation::new(
                ObservationStatus::Unknown,
                format!(
                    "Unknown: the MCP server {name} did not answer within {} ms. The call may have \
                     taken effect or not; check before you repeat it.",
                    within.as_millis()
                ),
            ),
            CallEnd::Lost { words, sent, broken: _ } => {
                let kind = if sent { ToolErrorKind::Failed } else { ToolErrorKind::NotStarted };
                let words = format!("no answer of the MCP server {name}: {words}");
                return Err(ToolError::new(kind, words));
            }
        })
    }
}
