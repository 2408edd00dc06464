//! Forms of servers in files: tables of the user's TOML, and the `mcpServers` of a project's JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_kit_http::Secret;

use crate::config::{
    LoginSettings, McpServer, McpTransport, STARTUP, ServerSandbox, TOOL, ToolOverride,
};
use crate::error::McpError;
use crate::expand::expand;
use crate::name::ServerName;

/// Most servers of one file.
const MAX_SERVERS: usize = 64;
/// Longest time-out, in seconds: a day.
const MAX_TIMEOUT_S: f64 = 86_400.0;
/// Headers that the protocol sets itself.
const RESERVED: [&str; 7] = [
    "accept",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// Servers of a file, by name.
pub type ServerTable = BTreeMap<ServerName, ServerEntry>;

/// A server as a file has it: with `command` or with `url`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerEntry {
    /// Program to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Folder that the program starts in; the default is the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Name of the sandbox profile of the program; without one nothing confines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Address of a server over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Variable with the token of each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env_var: Option<String>,
    /// Scopes that a login asks for; by default the server names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Resource that a login asks for; by default the server names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth_resource: Option<String>,
    /// False to leave the server alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// True if nothing starts without it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// True to believe the annotations of its tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// Tools that are offered; the default is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<BTreeSet<String>>,
    /// Tools that are not offered.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub disabled_tools: BTreeSet<String>,
    /// Time to start and to list the tools, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout_sec: Option<f64>,
    /// Time for one call, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_timeout_sec: Option<f64>,
    /// Client of a login; by default it registers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<LoginClientEntry>,
    /// Variables of the program. `${NAME}` and `${NAME:-default}` are replaced in their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Headers of each request. `${NAME}` and `${NAME:-default}` are replaced in their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The user's word on single tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolOverride>,
}

/// Client of a login, as a file has it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoginClientEntry {
    /// Its id at the authorization server, or the HTTPS address of its metadata document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Variable with its secret, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_env_var: Option<String>,
}

/// Form of the user's file. Other tables are not read.
#[derive(Deserialize)]
struct UserFile {
    #[serde(default)]
    mcp_servers: BTreeMap<String, ServerEntry>,
}

/// Reads the tables `[mcp_servers.NAME]` of a TOML text.
///
/// # Errors
/// [`McpError`] with the place in the text, or the name that is none.
pub fn parse_toml(text: &str) -> Result<ServerTable, McpError> {
    let file: UserFile =
        toml::from_str(text).map_err(|error| McpError::new(error.to_string().trim().to_owned()))?;
    table(file.mcp_servers)
}

/// Form of a project's file, as other clients write it. Keys that are not known are theirs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProjectFile {
    #[serde(default)]
    mcp_servers: BTreeMap<String, ProjectEntry>,
}

#[derive(Deserialize)]
struct ProjectEntry {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Reads the `mcpServers` of a project's JSON, and expands their variables. A project cannot say that
/// its servers are to be believed or needed.
///
/// # Errors
/// [`McpError`] when the text is no such file, or a server in it cannot be used.
pub fn parse_project(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<ServerTable, McpError> {
    let file: ProjectFile =
        serde_json::from_str(text).map_err(|error| McpError::new(error.to_string()))?;
    let entries = file.mcp_servers.into_iter();
    let entries: Result<BTreeMap<String, ServerEntry>, McpError> = entries
        .map(|(name, entry)| {
            let read = entry.expanded(lookup);
            let read = read.map_err(|error| McpError::new(format!("server {name}: {error}")))?;
            Ok((name, read))
        })
        .collect();
    table(entries?)
}

impl ProjectEntry {
    fn expanded(self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<ServerEntry, McpError> {
        match self.kind.as_deref() {
            None | Some("stdio" | "http" | "streamable-http" | "streamableHttp") => {}
            Some(other) => {
                let words =
                    format!("its type {other:?} is not supported: use \"stdio\" or \"http\"");
                return Err(McpError::new(words));
            }
        }
        let one =
            |text: String| expand(&text, lookup).map_err(|error| McpError::new(error.to_string()));
        let values = |all: BTreeMap<String, String>| -> Result<BTreeMap<String, String>, McpError> {
            all.into_iter().map(|(name, value)| Ok((name, one(value)?))).collect()
        };
        Ok(ServerEntry {
            command: self.command.map(one).transpose()?,
            args: self.args.into_iter().map(one).collect::<Result<_, _>>()?,
            env: values(self.env)?,
            cwd: self.cwd,
            url: self.url.map(one).transpose()?,
            headers: values(self.headers)?,
            ..ServerEntry::default()
        })
    }
}

fn table(entries: BTreeMap<String, ServerEntry>) -> Result<ServerTable, McpError> {
    if entries.len() > MAX_SERVERS {
        let words = format!("{} servers are named, and {MAX_SERVERS} are the most", entries.len());
        return Err(McpError::new(words));
    }
    let named = |(name, entry): (String, ServerEntry)| Ok((ServerName::new(&name)?, entry));
    entries.into_iter().map(named).collect()
}

/// Finds what a file only names.
pub struct ServerNames<'a> {
    /// Value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Sandbox with the profile of this name.
    pub sandbox: &'a dyn Fn(&str) -> Result<ServerSandbox, McpError>,
}

impl ServerEntry {
    /// Returns true unless the server is to be left alone.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Checks the entry, and returns the server that it describes.
    ///
    /// # Errors
    /// [`McpError`] when it has neither or both of a command and a URL, when a key does not go with the
    /// other ones, or when a variable is not set.
    pub fn resolve(&self, names: &ServerNames<'_>) -> Result<McpServer, McpError> {
        let transport = match (&self.command, &self.url) {
            (Some(command), None) => self.stdio(command, names)?,
            (None, Some(url)) => self.http(url, names)?,
            (Some(_), Some(_)) => {
                return Err(McpError::new("it has a command and a url: name one"));
            }
            (None, None) => return Err(McpError::new("it has no command and no url: name one")),
        };
        Ok(McpServer {
            enabled_tools: self.enabled_tools.clone(),
            disabled_tools: self.disabled_tools.clone(),
            startup_timeout: seconds("startup_timeout_sec", self.startup_timeout_sec, STARTUP)?,
            tool_timeout: seconds("tool_timeout_sec", self.tool_timeout_sec, TOOL)?,
            trusted: self.trusted,
            required: self.required,
            tools: self.tools.clone(),
            oauth: self.oauth(names)?,
            ..McpServer::new(transport)
        })
    }

    fn stdio(&self, command: &str, names: &ServerNames<'_>) -> Result<McpTransport, McpError> {
        if command.trim().is_empty() {
            return Err(McpError::new("its command is empty"));
        }
        if !self.headers.is_empty() || self.bearer_token_env_var.is_some() || self.has_oauth() {
            let words = "headers, tokens and logins go with a url, and it has a command";
            return Err(McpError::new(words));
        }
        Ok(McpTransport::Stdio {
            command: command.to_owned(),
            args: self.args.clone(),
            env: expanded(&self.env, names)?,
            cwd: self.cwd.clone(),
            sandbox: self.sandbox.as_deref().map(names.sandbox).transpose()?,
        })
    }

    fn http(&self, url: &str, names: &ServerNames<'_>) -> Result<McpTransport, McpError> {
        let plain = self.args.is_empty() && self.env.is_empty();
        if !plain || self.cwd.is_some() || self.sandbox.is_some() {
            let words = "args, env, cwd and sandbox go with a command, and it has a url";
            return Err(McpError::new(words));
        }
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(McpError::new("its url begins neither with http:// nor with https://"));
        }
        let headers = expanded(&self.headers, names)?;
        if let Some(name) = headers.keys().find(|name| is_reserved(name)) {
            let words = format!("the protocol itself sets the header {name}: leave it out");
            return Err(McpError::new(words));
        }
        let token = self.bearer_token_env_var.as_deref();
        let token = token.map(|variable| secret("token", variable, names)).transpose()?;
        Ok(McpTransport::Http { url: url.to_owned(), headers, token })
    }

    fn has_oauth(&self) -> bool {
        !self.scopes.is_empty() || self.oauth_resource.is_some() || self.oauth.is_some()
    }

    fn oauth(&self, names: &ServerNames<'_>) -> Result<LoginSettings, McpError> {
        if self.has_oauth() && self.bearer_token_env_var.is_some() {
            let words = "it has both a token and keys of a login: leave one out";
            return Err(McpError::new(words));
        }
        if self.has_oauth() && cfg!(not(feature = "oauth")) {
            return Err(McpError::new("this build has no logins: leave out the keys of its login"));
        }
        let client = self.oauth.clone().unwrap_or_default();
        let variable = client.client_secret_env_var.as_deref();
        if variable.is_some() && client.client_id.is_none() {
            return Err(McpError::new("oauth.client_secret_env_var goes with oauth.client_id"));
        }
        Ok(LoginSettings {
            scopes: self.scopes.clone(),
            client_id: client.client_id,
            client_secret: variable
                .map(|variable| secret("client secret", variable, names))
                .transpose()?,
            resource: self.oauth_resource.clone(),
        })
    }
}

fn secret(what: &str, variable: &str, names: &ServerNames<'_>) -> Result<Secret, McpError> {
    let set = (names.variable)(variable).filter(|value| !value.is_empty());
    set.map(Secret::new)
        .ok_or_else(|| McpError::new(format!("its {what}'s variable {variable} is not set")))
}

fn expanded(
    values: &BTreeMap<String, String>,
    names: &ServerNames<'_>,
) -> Result<BTreeMap<String, String>, McpError> {
    let one = |(name, value): (&String, &String)| {
        let value = expand(value, |variable| (names.variable)(variable));
        let value = value.map_err(|error| McpError::new(format!("{name}: {error}")))?;
        Ok((name.clone(), value))
    };
    values.iter().map(one).collect()
}

fn is_reserved(header: &str) -> bool {
    RESERVED.iter().any(|reserved| header.eq_ignore_ascii_case(reserved))
}

fn seconds(key: &str, value: Option<f64>, default: Duration) -> Result<Duration, McpError> {
    match value {
        None => Ok(default),
        Some(value) if value > 0.0 && value <= MAX_TIMEOUT_S => Ok(Duration::from_secs_f64(value)),
        Some(_) => {
            let words = format!("its {key} is not between 0 and {MAX_TIMEOUT_S} seconds");
            Err(McpError::new(words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "sk-1".to_owned())
    }

    fn resolve(entry: &ServerEntry) -> Result<McpServer, McpError> {
        entry.resolve(&ServerNames {
            variable: &lookup,
            sandbox: &|name| Err(McpError::new(format!("no profile {name}"))),
        })
    }

    fn only(table: ServerTable) -> ServerEntry {
        table.into_values().next().unwrap()
    }

    #[test]
    fn a_server_with_a_command_is_read() {
        let entry = only(
            parse_toml(
                "[mcp_servers.git]\ncommand = 'uvx'\nargs = ['mcp-server-git']\ntrusted = true\n\
                 tool_timeout_sec = 2.5\nenabled_tools = ['git_log']\n\
                 [mcp_servers.git.env]\nKEY = '${TOKEN}'\n\
                 [mcp_servers.git.tools.git_log]\neffect = 'read_only'\napproval = 'allow'\n",
            )
            .unwrap(),
        );
        let server = resolve(&entry).unwrap();
        assert!(server.trusted && !server.required && server.offers("git_log"));
        assert_eq!((server.tool_timeout.as_millis(), server.startup_timeout), (2_500, STARTUP));
        let McpTransport::Stdio { env, .. } = server.transport else { panic!("it has a command") };
        assert_eq!(env["KEY"], "sk-1");
    }

    #[test]
    fn a_server_with_a_url_is_read() {
        let text = "[mcp_servers.a]\nurl = 'https://h/mcp'\nbearer_token_env_var = 'TOKEN'\n";
        let server = resolve(&only(parse_toml(text).unwrap())).unwrap();
        let McpTransport::Http { token, .. } = server.transport else { panic!("it has a url") };
        assert_eq!(token.unwrap().expose(), "sk-1");
    }

    #[cfg(feature = "oauth")]
    #[test]
    fn the_keys_of_a_login_are_read() {
        let text = "[mcp_servers.a]\nurl = 'https://h/mcp'\nscopes = ['x', 'y']\n\
                    oauth_resource = 'urn:r'\n\
                    oauth = {client_id = 'c', client_secret_env_var = 'TOKEN'}\n";
        let oauth = resolve(&only(parse_toml(text).unwrap())).unwrap().oauth;
        assert_eq!((oauth.scopes.join(" "), oauth.client_id.as_deref()), ("x y".into(), Some("c")));
        assert_eq!(oauth.resource.as_deref(), Some("urn:r"));
        assert_eq!(oauth.client_secret.unwrap().expose(), "sk-1");
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (text, words) in [
            ("", "no command and no url"),
            ("command = 'a'\nurl = 'http://h'", "a command and a url"),
            ("command = ''", "is empty"),
            ("command = 'a'\nheaders = {x = 'y'}", "go with a url"),
            ("command = 'a'\nsandbox = 'none'", "no profile none"),
            ("command = 'a'\ntool_timeout_sec = 0", "not between"),
            ("url = 'ftp://h'", "neither with http"),
            ("url = 'http://h'\nargs = ['a']", "go with a command"),
            ("url = 'http://h'\nheaders = {Accept = 'y'}", "sets the header Accept"),
            ("url = 'http://h'\nheaders = {x = '${NONE}'}", "NONE is not set"),
            ("url = 'http://h'\nbearer_token_env_var = 'NONE'", "NONE is not set"),
            ("command = 'a'\nscopes = ['a']", "logins go with a url"),
            ("url = 'http://h'\nbearer_token_env_var = 'TOKEN'\nscopes = ['a']", "both a token"),
        ] {
            let table = parse_toml(&format!("[mcp_servers.a]\n{text}")).unwrap();
            let error = resolve(&only(table)).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        for text in ["[mcp_servers.a]\ncomand = 'a'", "[mcp_servers.a__b]\ncommand = 'a'", "[a"] {
            assert!(parse_toml(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_projects_file_is_read_as_other_clients_write_it() {
        let text = r#"{"mcpServers": {
            "a": {"command": "npx", "args": ["${TOKEN}", "${NONE:-b}"], "disabled": false},
            "b": {"type": "http", "url": "http://h", "headers": {"x": "${TOKEN}"}}
        }, "other": 1}"#;
        let table = parse_project(text, &lookup).unwrap();
        let entries: Vec<&ServerEntry> = table.values().collect();
        assert_eq!(entries[0].args, ["sk-1", "b"]);
        assert_eq!(entries[1].headers["x"], "sk-1");
        let refused = |text: &str| parse_project(text, &lookup).unwrap_err().to_string();
        assert!(
            refused(r#"{"mcpServers": {"a": {"type": "sse", "url": "http://h"}}}"#)
                .contains("server a: its type \"sse\"")
        );
        assert!(refused(r#"{"mcpServers": {"a": {"command": "${NONE}"}}}"#).contains("NONE"));
        assert!(!refused("{").is_empty());
    }

    #[test]
    fn a_project_cannot_say_that_it_is_trusted() {
        let text = r#"{"mcpServers": {"a": {"command": "a", "trusted": true, "required": true,
            "tools": {"x": {"approval": "allow"}}}}}"#;
        let server = resolve(&only(parse_project(text, &lookup).unwrap())).unwrap();
        assert!(!server.trusted && !server.required && server.tools.is_empty());
    }
}
