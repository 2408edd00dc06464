//! `windlass mcp`: adds and removes MCP servers, logs in to them, and shows those of a workspace.

mod login;

use windlass_mcp::{
    LoginClientEntry, LoginStatus, McpTools, PromptArgument, ServerEntry, ServerName, ServerReport,
    ServerState,
};

use super::closed;
use crate::args::{
    AddServerArgs, EscalationMode, GetServerArgs, ListPromptsArgs, ListResourcesArgs,
    ListServersArgs, LocationArgs, McpArgs, McpCommand,
};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_line, print_notice, visible};
use crate::wiring::mcp::{ConfiguredServer, configured_servers};
use crate::wiring::{self, Adapters, ToolSetup, mcp};

pub(super) async fn mcp(args: McpArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    match args.command {
        McpCommand::Add(args) => add(*args),
        McpCommand::List(args) => list(&args, adapters),
        McpCommand::Get(args) => get(&args, adapters),
        McpCommand::Login(args) => login::login(&args, adapters),
        McpCommand::Logout(args) => login::logout(&args, adapters),
        McpCommand::Prompts(args) => prompts(&args, adapters),
        McpCommand::Resources(args) => resources(&args, adapters),
        McpCommand::Remove { name } => remove(&name),
        #[cfg(feature = "server")]
        McpCommand::Serve(args) => super::mcp_serve::serve(*args, adapters).await,
        #[cfg(not(feature = "server"))]
        McpCommand::Serve(_) => Err(Failure::not_built("the server", "server")),
    }
}

fn add(args: AddServerArgs) -> Result<ExitKind, Failure> {
    let name = server_name(&args.name)?;
    let mut command = args.command.into_iter();
    let entry = ServerEntry {
        command: command.next(),
        args: command.collect(),
        cwd: args.cwd,
        sandbox: args.profile,
        url: args.url,
        bearer_token_env_var: args.bearer_token_env_var,
        scopes: args.scope,
        oauth_resource: args.oauth_resource,
        oauth: args.oauth_client_id.map(|client_id| LoginClientEntry {
            client_id: Some(client_id),
            ..LoginClientEntry::default()
        }),
        trusted: args.trusted,
        required: args.required,
        env: args.env.into_iter().collect(),
        headers: args.header.into_iter().collect(),
        ..ServerEntry::default()
    };
    let path = mcp::add(&name, &entry)?;
    print_notice(&format!("added {name} to {}: windlass mcp get {name} tries it", path.display()));
    Ok(ExitKind::Completed)
}

fn remove(name: &str) -> Result<ExitKind, Failure> {
    let name = server_name(name)?;
    let url = mcp::load()?.remove(&name).and_then(|server| server.entry.url);
    match mcp::remove(&name)? {
        true => {
            url.map(|url| login::forget(&name, &url)).transpose()?;
            print_notice(&format!("removed: {name}"));
            Ok(ExitKind::Completed)
        }
        false => Err(Failure::usage(format!(
            "{} has no server {name}: windlass mcp list shows the servers",
            mcp::path()?.display()
        ))),
    }
}

fn list(args: &ListServersArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let (servers, tools) = started(&args.place, adapters)?;
    if servers.is_empty() {
        print_notice("no MCP server is configured: windlass mcp add adds one");
    }
    let reports = tools.as_ref().map(McpTools::reports).unwrap_or_default();
    for (name, server) in &servers {
        let report = reports.iter().find(|report| report.name == *name);
        let line = match args.json {
            true => json(name, server, report),
            false => visible(&line(name, server, report)),
        };
        print_line(&line).map_err(closed)?;
    }
    Ok(ExitKind::Completed)
}

fn get(args: &GetServerArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let name = server_name(&args.name)?;
    let (servers, tools) = started(&args.place, adapters)?;
    let server = servers.get(&name).ok_or_else(|| unknown(&name))?;
    let reports = tools.as_ref().map(McpTools::reports).unwrap_or_default();
    let report = reports.iter().find(|report| report.name == name);
    let print = |text: String| print_line(&visible(&text)).map_err(closed);
    print(line(&name, server, report))?;
    print(format!("  from: {}", server.from))?;
    print(format!("  {}", place(&server.entry)))?;
    if server.entry.trusted {
        print("  trusted: what it says about its tools counts".to_owned())?;
    }
    let (approvals, changed) = match &tools {
        Some(tools) => (tools.approvals(), tools.changed()),
        None => Default::default(),
    };
    for tool in report.into_iter().flat_map(|report| &report.tools) {
        let approval = approvals.iter().find(|(named, _)| named == tool);
        let asks = approval.map_or(String::new(), |(_, how)| format!("  {how:?}").to_lowercase());
        let new =
            if changed.contains(tool.as_str()) { "  changed since it was approved" } else { "" };
        print(format!("  tool {tool}{asks}{new}"))?;
    }
    for left in report.into_iter().flat_map(|report| &report.left_out) {
        print(format!("  not offered: {left}"))?;
    }
    Ok(ExitKind::Completed)
}

fn prompts(args: &ListPromptsArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let of = args.server.as_deref().map(server_name).transpose()?;
    let (servers, tools) = started(&args.place, adapters)?;
    if let Some(name) = of.as_ref().filter(|name| !servers.contains_key(name)) {
        return Err(unknown(name));
    }
    let print = |text: String| print_line(&visible(&text)).map_err(closed);
    let mut exit = ExitKind::Completed;
    let Some(tools) = tools else {
        return Ok(exit);
    };
    let listed = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(tools.prompts(of.as_ref()))
    });
    if listed.is_empty() {
        print_notice("no MCP server here has prompts");
    }
    for (_, prompts) in listed {
        let prompts = prompts.unwrap_or_else(|error| {
            print_error(&visible(&error.to_string()));
            exit = ExitKind::Failed;
            Vec::new()
        });
        for prompt in prompts {
            print(described(&format!("/{}", prompt.name), &prompt.description))?;
            for PromptArgument { name, description, required } in &prompt.arguments {
                let needed = if *required { "" } else { " (optional)" };
                print(described(&format!("  {name}={needed}"), description))?;
            }
        }
    }
    Ok(exit)
}

fn resources(args: &ListResourcesArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let (_, tools) = started(&args.place, adapters)?;
    let listed = tools.map(|tools| {
        tokio::task::block_in_place(|| {
            let listing = tools.resources(args.server.as_deref(), args.cursor.as_deref());
            tokio::runtime::Handle::current().block_on(listing)
        })
    });
    let listed = listed.transpose().map_err(|error| Failure::usage(visible(&error.to_string())))?;
    match listed.filter(|text| !text.is_empty()) {
        Some(text) => print_line(&text).map_err(closed)?,
        None => print_notice("no MCP server here has resources"),
    }
    Ok(ExitKind::Completed)
}

/// Returns a line with the first line of a description.
fn described(what: &str, description: &str) -> String {
    let first = description.lines().next().unwrap_or_default();
    format!("{what}  {first}").trim_end().to_owned()
}

type Servers = std::collections::BTreeMap<ServerName, ConfiguredServer>;

/// Starts the servers of a workspace. The tools end with their owner.
fn started(
    place: &LocationArgs,
    adapters: &Adapters,
) -> Result<(Servers, Option<McpTools>), Failure> {
    with_servers(place, adapters, |servers, setup| {
        let tools = mcp::start(setup)?;
        Ok((servers, tools))
    })
}

/// Uses the servers of a workspace without starting them.
fn with_servers<T>(
    place: &LocationArgs,
    adapters: &Adapters,
    uses: impl FnOnce(Servers, &ToolSetup<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let site = adapters.workspace(place)?;
    let servers = configured_servers(&site.workspace)?;
    let profile = |name: &str| wiring::sandbox(Some(name), &site, &site.workspace, &[]);
    let setup = ToolSetup {
        workspace: &site.workspace,
        file: None,
        sandbox: windlass_localfs::ToolSandbox::default(),
        escalation: EscalationMode::Never,
        answers: false,
        processes: Default::default(),
        locks: None,
        profile: &profile,
    };
    uses(servers, &setup)
}

fn server_name(name: &str) -> Result<ServerName, Failure> {
    ServerName::new(name).map_err(|error| Failure::usage(error.to_string()))
}

fn unknown(name: &ServerName) -> Failure {
    Failure::usage(format!("no MCP server is named {name}: windlass mcp list shows the servers"))
}

/// Describes where a server is. Values of headers and variables are left out.
fn place(entry: &ServerEntry) -> String {
    match (&entry.command, &entry.url) {
        (Some(command), _) => {
            let words: Vec<&str> = entry.args.iter().map(String::as_str).collect();
            format!("command: {command} {}", words.join(" ")).trim_end().to_owned()
        }
        (None, Some(url)) => {
            format!("url: {}", url.split(['?', '#']).next().unwrap_or_default())
        }
        (None, None) => "neither a command nor a url".to_owned(),
    }
}

fn state(server: &ConfiguredServer, report: Option<&ServerReport>) -> (&'static str, String) {
    let needs_login = report.is_some_and(|report| report.login == Some(LoginStatus::Needed));
    match report.map(|report| &report.state) {
        Some(ServerState::Degraded { reason } | ServerState::Failed { reason }) if needs_login => {
            ("needs login", reason.clone())
        }
        None if !server.entry.is_enabled() => ("disabled", String::new()),
        None => ("not started", String::new()),
        Some(ServerState::Connecting) => ("connecting", String::new()),
        Some(ServerState::Ready) => ("ready", String::new()),
        Some(ServerState::Degraded { reason }) => ("degraded", reason.clone()),
        Some(ServerState::Failed { reason }) => ("failed", reason.clone()),
    }
}

fn line(name: &ServerName, server: &ConfiguredServer, report: Option<&ServerReport>) -> String {
    let (word, reason) = state(server, report);
    let more = match report.filter(|report| report.state == ServerState::Ready) {
        Some(report) => {
            let protocol = report.protocol.as_deref().unwrap_or("an unknown version");
            let login = report.login.map(|login| format!(", {}", login::words(login)));
            let login = login.unwrap_or_default();
            format!("{} tools, protocol {protocol}{login}", report.tools.len())
        }
        None => reason,
    };
    format!("{name}  {word}  {more}").trim_end().to_owned()
}

fn json(name: &ServerName, server: &ConfiguredServer, report: Option<&ServerReport>) -> String {
    let (word, reason) = state(server, report);
    let line = serde_json::json!({
        "name": name.as_str(), "from": server.from, "state": word,
        "reason": (!reason.is_empty()).then_some(reason),
        "protocol": report.and_then(|report| report.protocol.as_ref()),
        "login": report.and_then(|report| report.login).map(login::words),
        "tools": report.map(|report| &report.tools),
        "not_offered": report.map(|report| &report.left_out),
    });
    line.to_string()
}
