//! Tools of the workspace, and the user's own commands.
//!
//! Command tools come from the command line or the user's configuration folder, never from a
//! workspace: opening a repository must not run its code.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use windlass::BoxError;
use windlass_engine::Toolbox;
use windlass_engine::core::{Rule, unavailable_tool};
use windlass_interaction::InteractionTools;
use windlass_localfs::{CommandTools, LocalFs, LocalFsConfig};

use super::adapters::Adapters;
use super::own_tools::offered_tools;
use super::prompt_text::PromptServers;
use super::tool_scheme::{ReadyTools, ToolSetup};
use crate::args::EscalationMode;
use crate::exit::Failure;
use crate::signals::COMMAND_GRACE_MS;

/// Tools of a workspace, with the rules that the user's configuration has for them.
pub(crate) struct RuledToolbox {
    pub(crate) toolbox: Toolbox,
    pub(crate) rules: Vec<Rule>,
    /// MCP servers among the tools.
    pub(crate) servers: PromptServers,
}

impl Adapters {
    /// Combines the tools of a workspace: the sandbox confines their processes, and a person may be
    /// asked to let one run outside of it. They hold the locks of their calls.
    pub(crate) fn toolbox(&self, setup: &ToolSetup<'_>) -> Result<RuledToolbox, Failure> {
        let (mut toolbox, mut rules) = (Toolbox::new(), Vec::new());
        let mut servers = PromptServers::default();
        for scheme in &self.tools {
            if let Some(made) = scheme.make(setup).map_err(|error| scheme.failure(&error))? {
                toolbox = toolbox.with(made.tools).map_err(|error| scheme.failure(&error))?;
                rules.extend(made.rules);
                servers = servers.or(made.servers);
            }
        }
        match (unavailable_tool(&offered_tools(&toolbox)), commands_file(setup)) {
            (None, _) => Ok(RuledToolbox { toolbox, rules, servers }),
            (Some(stranger), Some(file)) => Err(Failure::usage(format!(
                "cannot use the tools file `{}`: {stranger}",
                file.display()
            ))),
            (Some(stranger), None) => {
                Err(Failure::usage(format!("cannot use the tools: {stranger}")))
            }
        }
    }
}

/// Returns the tools for files and commands of the workspace.
pub(super) fn local_tools(setup: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    let local = LocalFs::open(setup.workspace, setup.processes.apply(config()))?
        .with_sandbox(setup.sandbox.clone());
    let local = match &setup.locks {
        Some(locks) => local.with_run_locks(locks.clone()),
        None => local,
    };
    Ok(Some(ReadyTools::new(match setup.escalation {
        EscalationMode::Ask if super::sandbox::is_on(&setup.sandbox) => {
            Arc::new(local.with_calls_outside())
        }
        EscalationMode::Ask | EscalationMode::Never => Arc::new(local),
    })))
}

/// Returns the user's own commands, if there are any.
pub(super) fn command_tools(setup: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    let Some(file) = commands_file(setup) else {
        return Ok(None);
    };
    let commands = CommandTools::load(&file, setup.workspace)?;
    let commands = commands.with_config(config()).with_sandbox(setup.sandbox.clone());
    Ok(Some(ReadyTools::new(match &setup.locks {
        Some(locks) => Arc::new(commands.with_run_locks(locks.clone())),
        None => Arc::new(commands),
    })))
}

/// Returns the tools by which a model works with the user.
pub(super) fn interaction_tools(setup: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    let tools = match setup.answers {
        true => InteractionTools::new().with_questions(),
        false => InteractionTools::new(),
    };
    Ok(Some(ReadyTools::new(Arc::new(tools))))
}

/// Returns the tool that fetches pages, if the sandbox profile has a network: what commands may not
/// reach, the model reaches by no other way.
#[cfg(feature = "web")]
pub(super) fn web_tools(setup: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    use windlass_engine::ports::NetworkAccess;
    match &setup.sandbox.profile.network {
        NetworkAccess::Off => Ok(None),
        network @ (NetworkAccess::Hosts(_) | NetworkAccess::All) => {
            let web = windlass_web::WebTools::new(windlass_http::public_wire(network)?);
            Ok(Some(ReadyTools::new(Arc::new(web))))
        }
    }
}

/// Returns nothing: this build has no tool that fetches pages.
#[cfg(not(feature = "web"))]
pub(super) fn web_tools(_: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    Ok(None)
}

#[cfg(feature = "mcp")]
pub(super) use super::mcp::server_tools;

/// Returns nothing: this build has no client of MCP servers.
#[cfg(not(feature = "mcp"))]
pub(super) fn server_tools(_: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    Ok(None)
}

fn config() -> LocalFsConfig {
    LocalFsConfig { grace_ms: COMMAND_GRACE_MS, ..LocalFsConfig::default() }
}

/// Returns the file of the user's own commands, if there is one.
fn commands_file(setup: &ToolSetup<'_>) -> Option<PathBuf> {
    match setup.file {
        Some(file) => Some(file.to_owned()),
        None => configured("tools.json").filter(|file| file.is_file()),
    }
}

/// Returns the path of a file in the user's configuration folder `windlass` (XDG Base Directory).
pub(crate) fn configured(name: &str) -> Option<PathBuf> {
    let folder =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("windlass").join(name))
}
