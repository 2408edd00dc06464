//! Arguments of `windlass mcp`.

use clap::{Args as ClapArgs, Subcommand};

use super::LocationArgs;

/// Arguments of `windlass mcp`.
#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// What to do with the servers.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server to mcp.toml in your configuration folder.
    ///
    /// Give its command after --, or its address with --url.
    Add(Box<AddServerArgs>),
    /// Start the servers of this workspace, and list their states and tools.
    List(ListServersArgs),
    /// Start one server, and show its configuration, its state and its tools.
    Get(GetServerArgs),
    /// List the prompts of the servers, with their arguments.
    ///
    /// `windlass run "/mcp__SERVER__PROMPT NAME=VALUE"` uses one.
    Prompts(ListPromptsArgs),
    /// List the resources of the servers and their templates.
    ///
    /// `windlass run "Read @SERVER:URI."` uses one.
    Resources(ListResourcesArgs),
    /// Remove a server from mcp.toml.
    Remove {
        /// Name of the server.
        name: String,
    },
}

/// Arguments of `windlass mcp add`.
#[derive(Debug, ClapArgs)]
pub(crate) struct AddServerArgs {
    /// Name of the server: letters, digits, - and single _.
    pub(crate) name: String,
    /// Address of a server over HTTP.
    #[arg(long, value_name = "URL", required_unless_present = "command")]
    #[arg(conflicts_with_all = ["command", "env", "cwd", "profile"])]
    pub(crate) url: Option<String>,
    /// Header of each request; ${VARIABLE} in it is replaced when it is used.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    pub(crate) header: Vec<(String, String)>,
    /// Variable with the token of each request.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub(crate) bearer_token_env_var: Option<String>,
    /// Variable of the server's process; ${VARIABLE} in it is replaced when it is used.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Folder that the process starts in [default: the workspace].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<std::path::PathBuf>,
    /// Sandbox profile of the process [default: nothing confines it].
    #[arg(long = "sandbox", value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Believe what the server says about its tools: those that only read run unasked.
    #[arg(long)]
    pub(crate) trusted: bool,
    /// Start nothing without this server.
    #[arg(long)]
    pub(crate) required: bool,
    /// Program with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Arguments of `windlass mcp list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ListServersArgs {
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass mcp get`.
#[derive(Debug, ClapArgs)]
pub(crate) struct GetServerArgs {
    /// Name of the server.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass mcp prompts`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ListPromptsArgs {
    /// Name of a server [default: each one].
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass mcp resources`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ListResourcesArgs {
    /// Name of a server [default: each one].
    pub(crate) server: Option<String>,
    /// Cursor that an earlier list of the server ended with.
    #[arg(long, requires = "server")]
    pub(crate) cursor: Option<String>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write it as NAME=VALUE".to_owned()),
    }
}
