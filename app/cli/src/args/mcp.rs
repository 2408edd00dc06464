//! Arguments of `windlass mcp`.

use clap::{Args as ClapArgs, Subcommand};

use super::parse::duration;
use super::{LocationArgs, ProgramSharingArgs, RecoverMode, ServeArgs, SettingsArgs};

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
    /// Log in to a server over HTTP that asks for it.
    ///
    /// Prints the address to open in a browser, and waits for the answer on a port of this machine. Where
    /// the browser is on another machine, paste the address that it ends at into the standard input. The
    /// tokens are stored in your state folder.
    Login(LoginArgs),
    /// Forget the login at a server.
    ///
    /// The tokens are removed here. Where they were given they stay valid until they expire or you end
    /// them there.
    Logout(LogoutArgs),
    /// List the prompts of the servers, with their arguments.
    ///
    /// `windlass run "/mcp__SERVER__PROMPT NAME=VALUE"` uses one.
    Prompts(ListPromptsArgs),
    /// List the resources of the servers and their templates.
    ///
    /// `windlass run "Read @SERVER:URI."` uses one.
    Resources(ListResourcesArgs),
    /// Remove a server from mcp.toml, and its login.
    Remove {
        /// Name of the server.
        name: String,
    },
    /// Be a server: run sessions for an MCP client over standard input and output.
    ///
    /// Its tools are run, resume, status and answer. It has no other output but the log on standard
    /// error, and ends with its input.
    Serve(Box<McpServeArgs>),
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
    /// Scope that a login asks for [default: those that the server names].
    #[arg(long, value_name = "SCOPE", requires = "url", conflicts_with = "bearer_token_env_var")]
    pub(crate) scope: Vec<String>,
    /// Client of a login, as the authorization server knows it [default: it registers itself].
    #[arg(long, value_name = "ID", requires = "url", conflicts_with = "bearer_token_env_var")]
    pub(crate) oauth_client_id: Option<String>,
    /// Resource that a login asks for [default: the one that the server names].
    #[arg(long, value_name = "URL", requires = "url", conflicts_with = "bearer_token_env_var")]
    pub(crate) oauth_resource: Option<String>,
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

/// Arguments of `windlass mcp login`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LoginArgs {
    /// Name of the server.
    pub(crate) name: String,
    /// Port of 127.0.0.1 that the answer comes to [default: any].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Time to wait for the answer.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: std::time::Duration,
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

/// Arguments of `windlass mcp logout`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LogoutArgs {
    /// Name of the server.
    pub(crate) name: String,
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

/// Arguments of `windlass mcp serve`.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct McpServeArgs {
    /// What happens to calls that were allowed and had not started when a session is resumed
    /// [default: run].
    ///
    /// With hold, a person is asked about each that may change something.
    #[arg(long, value_enum, value_name = "run|hold")]
    pub(crate) recover: Option<RecoverMode>,
    /// Leave AGENTS.md files out.
    #[arg(long)]
    pub(crate) no_agents: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) sharing: ProgramSharingArgs,
}

impl From<McpServeArgs> for ServeArgs {
    /// Returns the arguments of the same server over HTTP, without a configuration.
    fn from(args: McpServeArgs) -> Self {
        Self::own(args.recover, args.no_agents, args.place, args.shape, args.sharing)
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write it as NAME=VALUE".to_owned()),
    }
}
