//! Tools of MCP servers: those of the user's file, and those of a project's that the user trusts.

mod file;
mod named;
mod project;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use windlass::BoxError;
use windlass_engine::core::{ArgumentPattern, Rule, RuleVerdict};
use windlass_http::http_wire;
use windlass_mcp::{
    McpError, McpOptions, McpRecord, McpServer, McpTools, READ_RESOURCE_TOOL, ServerEntry,
    ServerName, ServerNames, ServerReport, ServerSandbox, ServerState, ToolApproval,
};

use super::tool_scheme::{ReadyTools, ToolSetup};
use super::user_state::state_folder;
use crate::exit::Failure;
use crate::present::{print_notice, visible};

pub(crate) use file::{add, load, path, remove};
pub(crate) use named::PromptServers;
pub(crate) use project::{PROJECT_FILE, project_file};

/// Folder of the record and of the logins in the state folder.
const RECORD: &str = "mcp";

/// Server that is configured, with the place that says so.
pub(crate) struct ConfiguredServer {
    pub(crate) entry: ServerEntry,
    /// File that names it.
    pub(crate) from: String,
}

/// Returns the configured servers: the user's, and of the trusted file of a project those that have
/// other names. Reports a project's file that is not trusted.
///
/// # Errors
/// [`Failure`] when a file cannot be read.
pub(crate) fn configured_servers(
    workspace: &std::path::Path,
) -> Result<BTreeMap<ServerName, ConfiguredServer>, Failure> {
    let mut servers = BTreeMap::new();
    for (name, entry) in project::trusted_servers(workspace)? {
        servers.insert(name, ConfiguredServer { entry, from: PROJECT_FILE.to_owned() });
    }
    servers.extend(load()?);
    Ok(servers)
}

/// Starts the servers that are enabled, and returns their tools.
pub(in crate::wiring) fn server_tools(
    setup: &ToolSetup<'_>,
) -> Result<Option<ReadyTools>, BoxError> {
    let Some(tools) = start(setup).map_err(|failure| failure.message)? else {
        return Ok(None);
    };
    for report in tools.reports() {
        tell(&report);
    }
    for tool in tools.changed() {
        print_notice(&format!(
            "  the MCP tool {tool} is not what it was when you approved it: you are asked before it runs"
        ));
    }
    let rules = tools.approvals().into_iter().map(|(tool, approval)| Rule {
        verdict: match approval {
            ToolApproval::Allow => RuleVerdict::Allow,
            ToolApproval::Ask => RuleVerdict::Ask,
            ToolApproval::Deny => RuleVerdict::Deny,
        },
        tool: tool.to_owned(),
        argument: None,
    });
    let of_resources = tools.asked_resources().into_iter().map(|server| Rule {
        verdict: RuleVerdict::Ask,
        tool: READ_RESOURCE_TOOL.to_owned(),
        argument: Some(ArgumentPattern {
            name: "server".to_owned(),
            pattern: server.as_str().to_owned(),
        }),
    });
    let rules = rules.chain(of_resources).collect();
    let tools = Arc::new(tools);
    Ok(Some(ReadyTools { tools: tools.clone(), rules, servers: PromptServers::new(tools) }))
}

/// Starts the servers that are enabled; `None` if there are none.
pub(crate) fn start(setup: &ToolSetup<'_>) -> Result<Option<McpTools>, Failure> {
    let configured = configured_servers(setup.workspace)?.into_iter();
    let enabled = configured.filter(|(_, server)| server.entry.is_enabled());
    let servers: Vec<(ServerName, McpServer)> = enabled
        .map(|(name, server)| {
            let resolved = resolve(&name, &server, setup)?;
            Ok((name, resolved))
        })
        .collect::<Result<_, Failure>>()?;
    if servers.is_empty() {
        return Ok(None);
    }
    if std::env::var_os(windlass_mcp::NESTED).is_some() {
        print_notice("  MCP servers are not used: this process is one itself");
        return Ok(None);
    }
    let options = options(setup)?;
    let started = until_told_to_stop(McpTools::start(servers, options));
    started.map(Some).map_err(|error| Failure::usage(visible(&error.to_string())))
}

/// Returns the folder of the logins.
pub(crate) fn logins() -> Result<PathBuf, Failure> {
    Ok(state_folder()?.join(RECORD))
}

/// Returns what servers need from this process.
pub(crate) fn options(setup: &ToolSetup<'_>) -> Result<McpOptions, Failure> {
    Ok(McpOptions::new(setup.workspace.to_owned())
        .with_record(McpRecord::at(state_folder()?.join(RECORD)))
        .with_logins(logins()?)
        .with_check(windlass_engine::check_parameters)
        .with_questions()
        .with_deferred_over(file::deferral()?)
        .with_wire(|url| http_wire(url).map_err(|error| McpError::new(error.to_string()))))
}

/// Runs something before anything else waits for signals: SIGINT and SIGTERM end it.
pub(crate) fn until_told_to_stop<T>(
    runs: impl Future<Output = Result<T, McpError>>,
) -> Result<T, McpError> {
    tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(async {
            tokio::select! {
                ended = runs => ended,
                () = told_to_stop() => Err(McpError::new("interrupted")),
            }
        })
    })
}

/// Returns a server with what its configuration only names.
pub(crate) fn resolve(
    name: &ServerName,
    server: &ConfiguredServer,
    setup: &ToolSetup<'_>,
) -> Result<McpServer, Failure> {
    let resolved = server.entry.resolve(&ServerNames {
        variable: &|name| std::env::var(name).ok(),
        sandbox: &|name| {
            let own = (setup.profile)(name).map_err(|failure| McpError::new(failure.message))?;
            Ok(ServerSandbox { sandbox: own.sandbox, profile: own.profile })
        },
    });
    resolved.map_err(|error| {
        let words = format!("cannot use the MCP server {name} of {}: {error}", server.from);
        Failure::usage(visible(&words))
    })
}

/// Waits for SIGINT or SIGTERM.
async fn told_to_stop() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Reports what is wrong with a server.
fn tell(report: &ServerReport) {
    let name = &report.name;
    match &report.state {
        ServerState::Ready | ServerState::Connecting => {}
        ServerState::Degraded { reason } | ServerState::Failed { reason } => {
            print_notice(&visible(&format!("  the MCP server {name} is not used: {reason}")));
        }
    }
    for left in &report.left_out {
        print_notice(&visible(&format!(
            "  a tool of the MCP server {name} is not offered: {left}"
        )));
    }
}
