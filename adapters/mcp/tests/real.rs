//! Servers of others, which `cargo xtask test` brings: each is listed, called, killed in a call, and there
//! again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_core::{CallId, Observation, ObservationStatus, SessionId, SuspendedCall, UserAnswer};
use windlass_mcp::{McpOptions, McpServer, McpTools, McpTransport, ServerName, ServerState};
use windlass_ports::{ToolCall, ToolContext, ToolEnd, ToolError, ToolExecutor as _};

/// Variables that name Node, a folder `node_modules` and a Python with the servers.
const NODE: &str = "WINDLASS_TEST_NODE";
const MODULES: &str = "WINDLASS_TEST_MCP";
const PYTHON: &str = "WINDLASS_TEST_MCP_PYTHON";

/// A server of others with two calls of it.
struct Real {
    name: &'static str,
    command: String,
    args: Vec<String>,
    /// A call that succeeds, and a part of its result.
    call: (&'static str, Value, &'static str),
    /// A call in which the server is killed.
    killed: (&'static str, Value),
}

/// Returns the value of a variable, or says that the test is skipped.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        let words = format!("SKIPPED: {name} is not there: run this test by `cargo xtask test`");
        let _ = writeln!(std::io::stderr(), "{words}");
    }
    value
}

/// Returns a server from npm.
fn node(name: &'static str, args: &[&str]) -> Option<(String, Vec<String>)> {
    let (node, modules) = (variable(NODE)?, variable(MODULES)?);
    let folder = PathBuf::from(modules).join("@modelcontextprotocol").join(name);
    let program = folder.join("dist/index.js").display().to_string();
    let args = args.iter().map(|arg| (*arg).to_owned());
    Some((node, std::iter::once(program).chain(args).collect()))
}

impl Real {
    async fn start(&self) -> McpTools {
        let transport = McpTransport::Stdio {
            command: self.command.clone(),
            args: self.args.clone(),
            env: BTreeMap::new(),
            cwd: None,
            sandbox: None,
        };
        let server = McpServer { trusted: true, ..McpServer::new(transport) };
        let servers = [(ServerName::new(self.name).unwrap(), server)];
        McpTools::start(servers, McpOptions::new(std::env::temp_dir()).with_questions())
            .await
            .unwrap()
    }

    async fn run(
        &self,
        tools: &McpTools,
        (tool, arguments): (&str, &Value),
    ) -> Result<Observation, ToolError> {
        let name = format!("mcp__{}__{tool}", self.name);
        tools.run(ToolCall { name, arguments: arguments.to_string() }, context()).await
    }

    /// Returns the output of a tool for resources.
    async fn resource(&self, tools: &McpTools, name: &str, arguments: Value) -> String {
        let call = ToolCall { name: name.to_owned(), arguments: arguments.to_string() };
        let ended = tools.run(call, context()).await.unwrap();
        assert_eq!(ended.status, ObservationStatus::Done, "{}: {}", self.name, ended.output);
        ended.output
    }

    /// Checks a call that succeeds.
    async fn succeeds(&self, tools: &McpTools) {
        let (tool, arguments, part) = &self.call;
        let ended = self.run(tools, (tool, arguments)).await.unwrap();
        assert_eq!(ended.status, ObservationStatus::Done, "{}: {}", self.name, ended.output);
        assert!(ended.output.contains(part), "{}: {}", self.name, ended.output);
    }

    async fn check(&self) {
        let tools = self.start().await;
        let state = || tools.reports()[0].state.clone();
        assert_eq!(state(), ServerState::Ready, "{}", self.name);
        assert!(!tools.tools().is_empty() && tools.reports()[0].left_out.is_empty());
        self.succeeds(&tools).await;
        let before = self.processes();
        let killed = self.run(&tools, (self.killed.0, &self.killed.1));
        let ((), ended) = tokio::join!(self.kill(), killed);
        // A fast server may have answered before.
        if let Err(error) = &ended {
            assert!(error.started() || error.to_string().contains("not there"), "{error}");
        }
        let is_new = || {
            let now = self.processes();
            !now.is_empty() && now.iter().all(|id| !before.contains(id))
        };
        eventually(self.name, || is_new() && state() == ServerState::Ready).await;
        self.succeeds(&tools).await;
        drop(tools);
        eventually("its end", || self.processes().is_empty()).await;
    }

    async fn kill(&self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        for id in self.processes() {
            let killed = std::process::Command::new("kill").args(["-9", &id.to_string()]).status();
            assert!(killed.unwrap().success());
        }
    }

    /// Returns the processes of the server that this process started.
    fn processes(&self) -> Vec<i32> {
        let (label, own) = (format!("WINDLASS_PROCESS=mcp {} ", self.name), std::process::id());
        let mark = format!("WINDLASS_RUN={own}-");
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let id = |entry: fs::DirEntry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let environment = String::from_utf8_lossy(&environment).into_owned();
            let id = entry.file_name().to_str()?.parse().ok()?;
            let has = |start: &str| environment.split('\0').any(|one| one.starts_with(start));
            (has(&label) && has(&mark)).then_some(id)
        };
        entries.filter_map(id).collect()
    }
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} never came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn context() -> ToolContext {
    let session = SessionId::new("real").unwrap();
    ToolContext { timeout_ms: 60_000, ..ToolContext::new(session, CallId(1)) }
}

#[tokio::test]
async fn the_server_with_everything() {
    let Some((command, args)) = node("server-everything", &["stdio"]) else {
        return;
    };
    let real = Real {
        name: "everything",
        command,
        args,
        call: ("echo", json!({"message": "hello"}), "hello"),
        killed: ("trigger-long-running-operation", json!({"duration": 30, "steps": 3})),
    };
    real.check().await;
    let tools = real.start().await;
    let listed = real.resource(&tools, "list_mcp_resources", json!({})).await;
    let uri = "demo://resource/static/document/features.md";
    assert!(listed.contains(uri) && listed.contains("demo://resource/dynamic/text/{"), "{listed}");
    let read = json!({"server": "everything", "uri": uri});
    let text = real.resource(&tools, "read_mcp_resource", read).await;
    assert!(text.starts_with("# Everything Server"), "{text}");
    let got = tools.get_prompt("mcp__everything__args-prompt", "city=Oslo", &mut |_| false).await;
    assert_eq!(got.unwrap().text, "What's weather in Oslo?");
    let missing = tools.get_prompt("mcp__everything__args-prompt", "", &mut |_| false).await;
    assert!(missing.unwrap_err().to_string().contains("its argument city is missing"));
    elicits(&tools).await;
}

/// Answers the form of a tool that asks in the middle of its call.
async fn elicits(tools: &McpTools) {
    let name = "mcp__everything__trigger-elicitation-request";
    let call = ToolCall { name: name.into(), arguments: "{}".into() };
    let mut left: Option<Arc<SuspendedCall>> = None;
    for runs in 1..50 {
        let context = ToolContext { suspended: left.take(), ..context() };
        let suspension = match tools.run_or_suspend(call.clone(), context).await.unwrap() {
            ToolEnd::Suspended(suspension) => suspension,
            ToolEnd::Observed(ended) => {
                assert!(runs > 2 && ended.output.contains("Ada"), "{}", ended.output);
                return;
            }
        };
        let asked = suspension.question.as_ref().unwrap();
        let skips = asked.question.contains("(/skip");
        let text = if skips { "/skip" } else { "Ada" }.to_owned();
        let answer = Some(Arc::new(UserAnswer { text, declined: false }));
        let suspension = Arc::new(suspension);
        let decide_again = false;
        left =
            Some(Arc::new(SuspendedCall { suspension, answer, runs, count: runs, decide_again }));
    }
    panic!("its form has no end");
}

#[tokio::test]
async fn the_server_of_files() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    fs::write(folder.join("a.txt"), "a text").unwrap();
    let Some((command, args)) = node("server-filesystem", &[folder.to_str().unwrap()]) else {
        return;
    };
    let real = Real {
        name: "files",
        command,
        args,
        call: ("read_text_file", json!({"path": folder.join("a.txt")}), "a text"),
        killed: ("list_directory", json!({"path": folder})),
    };
    real.check().await;
}

#[tokio::test]
async fn the_server_of_git() {
    let Some(command) = variable(PYTHON) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let made =
        std::process::Command::new("git").args(["init", "-q", "-b", "main", folder]).status();
    assert!(made.unwrap().success());
    let args = ["-m", "mcp_server_git", "--repository", folder].map(str::to_owned).to_vec();
    let status = json!({"repo_path": folder});
    let real = Real {
        name: "git",
        command,
        args,
        call: ("git_status", status.clone(), "main"),
        killed: ("git_status", status),
    };
    real.check().await;
}

#[tokio::test]
async fn the_server_of_the_time() {
    let Some(command) = variable(PYTHON) else {
        return;
    };
    let args = ["-m", "mcp_server_time", "--local-timezone", "UTC"].map(str::to_owned).to_vec();
    let now = json!({"timezone": "Europe/Oslo"});
    let real = Real {
        name: "time",
        command,
        args,
        call: ("get_current_time", now.clone(), "Europe/Oslo"),
        killed: ("get_current_time", now),
    };
    real.check().await;
}

/// Serves a page of one line, and leaves each request for `/never` unanswered.
fn web_server() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut unanswered = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = std::io::Read::read(&mut stream, &mut request).unwrap_or(0);
            if request.get(..read).unwrap_or_default().starts_with(b"GET /never") {
                unanswered.push(stream);
                continue;
            }
            let page = "a page of the test";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
        }
    });
    address
}

#[tokio::test]
async fn the_server_that_fetches() {
    let Some(command) = variable(PYTHON) else {
        return;
    };
    let address = web_server();
    let options = ["--ignore-robots-txt", "--allow-private-ips"];
    let args = ["-m", "mcp_server_fetch"].iter().chain(&options).map(|arg| (*arg).to_owned());
    let real = Real {
        name: "fetch",
        command,
        args: args.collect(),
        call: ("fetch", json!({"url": format!("http://{address}/page")}), "a page of the test"),
        killed: ("fetch", json!({"url": format!("http://{address}/never")})),
    };
    real.check().await;
}
