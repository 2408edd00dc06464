//! A scripted server with its folder, and calls of its tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_core::{CallId, Observation, SessionId};
use windlass_mcp::{
    McpError, McpOptions, McpRecord, McpServer, McpTools, McpTransport, ServerName, ServerState,
};
use windlass_ports::{CancelSource, ToolCall, ToolContext, ToolError, ToolExecutor as _};

/// Returns the program of an example. Cargo builds it with the tests of the package, unless one of
/// them is selected.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    let advice = "build it: cargo build -p windlass-mcp --examples";
    assert!(path.is_file(), "{} does not exist; {advice}", path.display());
    path
}

/// A scripted server and the folder that it changes.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) server: McpServer,
    /// True if somebody answers questions of the server.
    pub(crate) answers: bool,
}

impl Bench {
    /// Sets a server of this mode up, with all of its tools. It is trusted.
    pub(crate) fn new(mode: &str) -> Self {
        let bench = Self::plain(mode);
        fs::write(bench.folder().join("more"), "").unwrap();
        bench
    }

    /// Sets one up with a few tools.
    pub(crate) fn plain(mode: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let folder = dir.path().join("world");
        fs::create_dir(&folder).unwrap();
        let server = McpServer::new(McpTransport::Stdio {
            command: program("scripted_server").display().to_string(),
            args: vec![mode.into(), folder.display().to_string()],
            env: BTreeMap::new(),
            cwd: None,
            sandbox: None,
        });
        let server =
            McpServer { trusted: true, startup_timeout: Duration::from_secs(20), ..server };
        Self { dir, server, answers: true }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("world")
    }

    /// Returns the lines of a file in the server's folder.
    pub(crate) fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until a file in the server's folder has so many lines.
    pub(crate) async fn wait_lines(&self, file: &str, count: usize) {
        eventually(file, || self.lines(file).len() >= count).await;
    }

    pub(crate) fn options(&self) -> McpOptions {
        let options = McpOptions::new(self.dir.path().to_owned());
        let options = if self.answers { options.with_questions() } else { options };
        options.with_record(McpRecord::at(self.dir.path().join("state")))
    }

    pub(crate) async fn try_start(&self) -> Result<McpTools, McpError> {
        let servers = [(ServerName::new("s").unwrap(), self.server.clone())];
        McpTools::start(servers, self.options()).await
    }

    pub(crate) async fn start(&self) -> McpTools {
        let tools = self.try_start().await.unwrap();
        assert_eq!(state(&tools), ServerState::Ready);
        tools
    }
}

pub(crate) fn state(tools: &McpTools) -> ServerState {
    tools.reports()[0].state.clone()
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Calls a tool of the server.
pub(crate) async fn call(
    tools: &McpTools,
    tool: &str,
    arguments: Value,
) -> Result<Observation, ToolError> {
    call_within(tools, tool, arguments, context(&CancelSource::new())).await
}

pub(crate) async fn call_within(
    tools: &McpTools,
    tool: &str,
    arguments: Value,
    context: ToolContext,
) -> Result<Observation, ToolError> {
    let call = ToolCall { name: format!("mcp__s__{tool}"), arguments: arguments.to_string() };
    tools.run(call, context).await
}

/// Returns the output of a call that succeeds.
pub(crate) async fn said(tools: &McpTools, tool: &str) -> String {
    call(tools, tool, json!({"text": "hello"})).await.unwrap().output
}

pub(crate) fn context(cancel: &CancelSource) -> ToolContext {
    let session = SessionId::new("it").unwrap();
    let (cancel, timeout_ms) = (cancel.signal(), 30_000);
    ToolContext { cancel, timeout_ms, ..ToolContext::new(session, CallId(1)) }
}

/// Returns the processes that run the scripted server on a folder.
pub(crate) fn processes(folder: &Path) -> Vec<i32> {
    let folder = folder.display().to_string();
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let id = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let id = entry.file_name().to_str()?.parse().ok()?;
        let program = line.split('\0').next().unwrap_or_default();
        (program.ends_with("scripted_server") && line.contains(&folder)).then_some(id)
    };
    listed.filter_map(id).collect()
}

/// Kills the process of the server.
pub(crate) fn kill(folder: &Path) {
    let ids = processes(folder);
    assert_eq!(ids.len(), 1, "{ids:?}");
    let status = std::process::Command::new("kill").args(["-9", &ids[0].to_string()]).status();
    assert!(status.unwrap().success());
}
