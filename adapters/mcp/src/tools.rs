//! The tools of servers as a tool executor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use windlass_core::{Observation, ObservationStatus, SessionId, ToolSpec};
use windlass_ports::{ToolCall, ToolContext, ToolEnd, ToolError, ToolExecutor, Wire};

use crate::catalogue::{CatalogueTool, CheckTool};
use crate::config::{McpServer, ToolApproval};
use crate::connection::{MakeWire, Target};
use crate::deferred::defer;
use crate::error::McpError;
use crate::name::ServerName;
use crate::oauth::Login;
use crate::record::McpRecord;
use crate::resources::resource_tools;
use crate::run::{self, Run};
use crate::server::{Server, ServerReport, ServerState};
use crate::suspended::HeldCalls;

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
    /// True if somebody answers questions of servers.
    pub(crate) answers: bool,
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
            answers: false,
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

    /// Declares to servers that they may ask the user in a call. Use it only if somebody returns the
    /// answers: such a call is suspended and waits, for a day if no limit says otherwise. Without it a
    /// call that needs input fails with its question.
    #[must_use]
    pub fn with_questions(self) -> Self {
        Self { answers: true, ..self }
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
    held: HeldCalls,
}

/// A tool as it was when it was offered.
pub(crate) struct OfferedTool {
    /// Index of its server.
    server: usize,
    pub(crate) tool: CatalogueTool,
    /// True if it is not what it was when it was approved.
    pub(crate) changed: bool,
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
            held: HeldCalls::default(),
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
        answers: options.answers,
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
        let name = call.name.clone();
        Ok(match self.run_or_suspend(call, context).await? {
            ToolEnd::Observed(observation) => observation,
            ToolEnd::Suspended(suspension) => run::unasked(&name, &suspension),
        })
    }

    async fn run_or_suspend(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Result<ToolEnd, ToolError> {
        let observed = |observation| Ok(ToolEnd::Observed(observation));
        if let Some(ended) = self.run_resource_tool(&call, &context).await {
            return observed(ended);
        }
        let (server, offered) = self.find(&call)?;
        if context.cancel.is_cancelled() {
            let words = "[not begun, because it was asked to stop]";
            return observed(Observation::new(ObservationStatus::Aborted, words));
        }
        let arguments = match serde_json::from_str(&call.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) | Err(_) => {
                let words = "Failed: the arguments are no JSON object.";
                return observed(Observation::new(ObservationStatus::Failed, words));
            }
        };
        let (record, held) = (&self.record, &self.held);
        Run { server, offered, record, held, context: &context }.run(arguments).await
    }

    async fn release(&self, session: &SessionId) {
        self.held.release(session);
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
