//! Configuration of a server, checked and with its variables expanded.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use windlass_core::EffectClass;
use windlass_kit_http::Secret;
use windlass_ports::{Sandbox, SandboxProfile};

/// Time for a server to start and to list its tools, unless the user sets one.
pub(crate) const STARTUP: Duration = Duration::from_secs(30);
/// Time for one call, unless the user sets one.
pub(crate) const TOOL: Duration = Duration::from_secs(120);

/// A server and the use that is made of it.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Way to reach it.
    pub transport: McpTransport,
    /// Its tools that are offered, by the server's own names; `None` offers all.
    pub enabled_tools: Option<BTreeSet<String>>,
    /// Its tools that are not offered.
    pub disabled_tools: BTreeSet<String>,
    /// Time to start and to list its tools.
    pub startup_timeout: Duration,
    /// Time for one call.
    pub tool_timeout: Duration,
    /// True if the user believes its annotations. Without this each of its tools counts as one that
    /// may change anything, and a person is asked about each call.
    pub trusted: bool,
    /// True if nothing starts without it.
    pub required: bool,
    /// The user's word on single tools, by the server's own names.
    pub tools: BTreeMap<String, ToolOverride>,
    /// Login at a server over HTTP.
    pub oauth: LoginSettings,
}

/// The user's word on the login at a server. All of it is found by itself by default.
#[derive(Clone, Default)]
pub struct LoginSettings {
    /// Scopes to ask for. By default the server names them.
    pub scopes: Vec<String>,
    /// Client that the authorization server knows: an id that it gave, or the HTTPS address of a client
    /// metadata document. Without one the client registers itself.
    pub client_id: Option<String>,
    /// Secret of that client.
    pub client_secret: Option<Secret>,
    /// Resource that tokens are asked for. By default the server names it.
    pub resource: Option<String>,
}

impl fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginSettings")
            .field("scopes", &self.scopes)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret.is_some())
            .field("resource", &self.resource)
            .finish()
    }
}

/// Way to reach a server.
#[derive(Clone)]
pub enum McpTransport {
    /// A process, spoken to over its standard streams.
    Stdio {
        /// Program, looked up in the search path if it has no `/`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it gets beside the usual ones, such as `PATH` and `HOME`.
        env: BTreeMap<String, String>,
        /// Folder that it starts in; `None` means the workspace.
        cwd: Option<PathBuf>,
        /// Sandbox of the process; `None` confines nothing.
        sandbox: Option<ServerSandbox>,
    },
    /// Streamable HTTP.
    Http {
        /// Address.
        url: String,
        /// Headers of each request. Their values are never shown.
        headers: BTreeMap<String, String>,
        /// Token of each request.
        token: Option<Secret>,
    },
}

/// Sandbox of a server's process, with its rights.
#[derive(Debug, Clone)]
pub struct ServerSandbox {
    /// Sandbox that confines it.
    pub sandbox: Arc<dyn Sandbox>,
    /// Its rights.
    pub profile: Arc<SandboxProfile>,
}

/// The user's word on one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOverride {
    /// Effect class, whatever the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
    /// Approval of its calls, whatever the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ToolApproval>,
}

/// Approval that calls of a tool need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolApproval {
    /// They run without a question.
    Allow,
    /// A person is asked about each.
    Ask,
    /// None runs.
    Deny,
}

impl McpServer {
    /// Creates the use of a server with the defaults: all of its tools, none of its words believed.
    #[must_use]
    pub fn new(transport: McpTransport) -> Self {
        Self {
            transport,
            enabled_tools: None,
            disabled_tools: BTreeSet::new(),
            startup_timeout: STARTUP,
            tool_timeout: TOOL,
            trusted: false,
            required: false,
            tools: BTreeMap::new(),
            oauth: LoginSettings::default(),
        }
    }

    /// Returns true if a tool of this name is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let enabled = self.enabled_tools.as_ref().is_none_or(|enabled| enabled.contains(tool));
        enabled && !self.disabled_tools.contains(tool)
    }

    /// Returns the approval that calls of a tool need beside what the permissions ask: `None` leaves
    /// it to them.
    pub(crate) fn approval(&self, tool: &str) -> Option<ToolApproval> {
        let own = self.tools.get(tool).copied().unwrap_or_default();
        let believed = self.trusted || own.effect == Some(EffectClass::ReadOnly);
        own.approval.or((!believed).then_some(ToolApproval::Ask))
    }
}

impl McpTransport {
    /// Returns a digest of what makes this another server: program, arguments and folder, or the
    /// address. Environment and headers are left out, since keys in them change.
    pub(crate) fn identity(&self) -> String {
        let said = match self {
            Self::Stdio { command, args, cwd, .. } => {
                serde_json::json!({"command": command, "args": args, "cwd": cwd})
            }
            Self::Http { url, .. } => serde_json::json!({"url": url}),
        };
        let digest = Sha256::digest(said.to_string());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the place in words, without what may be secret.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Stdio { command, .. } => command.clone(),
            Self::Http { url, .. } => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        }
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd, sandbox } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys())
                .field("cwd", cwd)
                .field("sandboxed", &sandbox.is_some())
                .finish(),
            Self::Http { headers, token, .. } => f
                .debug_struct("Http")
                .field("url", &self.place())
                .field("headers", &headers.keys())
                .field("token", &token.is_some())
                .finish(),
        }
    }
}

/// Returns the variables of a server's process: the usual ones of this process, and its own.
pub(crate) fn environment(own: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    let mut all = windlass_kit_process::allowed(std::env::vars_os(), &[]);
    all.retain(|(name, _)| name.to_str().is_none_or(|name| !own.contains_key(name)));
    all.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> McpServer {
        McpServer::new(McpTransport::Http {
            url: "https://h/mcp?key=sk-1".into(),
            headers: BTreeMap::from([("x-key".into(), "sk-2".into())]),
            token: Some(Secret::new("sk-3")),
        })
    }

    #[test]
    fn nothing_secret_is_shown() {
        let stdio = McpTransport::Stdio {
            command: "server".into(),
            args: Vec::new(),
            env: BTreeMap::from([("KEY".into(), "sk-4".into())]),
            cwd: None,
            sandbox: None,
        };
        let mut server = server();
        server.oauth.client_secret = Some(Secret::new("sk-5"));
        let shown = format!("{server:?} {stdio:?} {}", server.transport.place());
        assert!(!shown.contains("sk-"), "{shown}");
        assert!(shown.contains("x-key") && shown.contains("KEY"), "{shown}");
    }

    #[test]
    fn only_what_is_enabled_and_not_disabled_is_offered() {
        let mut server = server();
        assert!(server.offers("a"));
        server.disabled_tools.insert("a".into());
        assert!(!server.offers("a") && server.offers("b"));
        server.enabled_tools = Some(BTreeSet::from(["a".into(), "c".into()]));
        assert!(!server.offers("a") && !server.offers("b") && server.offers("c"));
    }

    #[test]
    fn calls_are_asked_about_unless_the_user_says_otherwise() {
        let mut server = server();
        let own = |effect, approval| ToolOverride { effect, approval };
        assert_eq!(server.approval("a"), Some(ToolApproval::Ask));
        server.tools.insert("a".into(), own(Some(EffectClass::ReadOnly), None));
        assert_eq!(server.approval("a"), None, "the user says that it only reads");
        server.tools.insert("b".into(), own(Some(EffectClass::Idempotent), None));
        assert_eq!(server.approval("b"), Some(ToolApproval::Ask));
        server.trusted = true;
        assert_eq!(server.approval("b"), None);
        server.tools.insert("b".into(), own(None, Some(ToolApproval::Deny)));
        assert_eq!(server.approval("b"), Some(ToolApproval::Deny));
    }

    #[test]
    fn another_program_is_another_server_and_another_key_is_not() {
        let with = |url: &str, key: &str| {
            let headers = BTreeMap::from([("x-key".to_owned(), key.to_owned())]);
            McpTransport::Http { url: url.into(), headers, token: None }.identity()
        };
        assert_eq!(with("https://h", "a"), with("https://h", "b"));
        assert_ne!(with("https://h", "a"), with("https://i", "a"));
    }
}
