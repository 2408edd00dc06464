//! Client for the protocol's conformance kit, over this adapter: `conformance_client URL`. The kit
//! starts a server for each scenario, names the scenario in the environment, and checks what it is sent.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for tests"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_core::{
    CallId, Observation, SessionId, SuspendedCall, ToolSpec, UserAnswer, UserQuestion,
};
use windlass_http::http_wire;
use windlass_mcp::{
    LoginFlow, LoginSettings, LoginStatus, McpError, McpOptions, McpServer, McpTools, McpTransport,
    Secret, ServerName, ServerState,
};
use windlass_ports::{
    ToolCall, ToolContext, ToolEnd, ToolError, ToolErrorKind, ToolExecutor as _, WireHeaders,
    WireRequest,
};

/// Client metadata document that the kit knows.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Calls of a scenario, as the kit gives them to the client.
fn given_calls() -> Vec<(String, Value)> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let calls = context.get("toolCalls").and_then(Value::as_array);
    let call = |call: &Value| {
        let name = call.get("name").and_then(Value::as_str)?.to_owned();
        Some((name, call.get("arguments").cloned().unwrap_or_else(|| json!({}))))
    };
    calls.into_iter().flatten().filter_map(call).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    }
}

/// Most logins of a scenario.
const MAX_LOGINS: usize = 3;

/// What a scenario gives to the client beside its calls.
fn given(key: &str) -> Option<String> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    context.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The server of a scenario, with what its logins need.
struct Kit {
    name: ServerName,
    server: McpServer,
    options: McpOptions,
    logins: usize,
}

async fn run() -> Result<(), String> {
    let url = std::env::args().next_back().ok_or("name the URL of a server")?;
    let transport = McpTransport::Http { url, headers: Default::default(), token: None };
    let timeout = Duration::from_secs(15);
    let oauth = LoginSettings {
        client_id: given("client_id").or_else(|| Some(CLIENT_DOCUMENT.into())),
        client_secret: given("client_secret").map(Secret::new),
        ..LoginSettings::default()
    };
    let server = McpServer {
        startup_timeout: timeout,
        tool_timeout: timeout,
        oauth,
        ..McpServer::new(transport)
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let options = McpOptions::new(std::env::temp_dir())
        .with_questions()
        .with_logins(folder.path().to_owned())
        .with_wire(|url| http_wire(url).map_err(|error| McpError::new(error.to_string())));
    let name = ServerName::new("kit").map_err(|error| error.to_string())?;
    Kit { name, server, options, logins: 0 }.run().await
}

impl Kit {
    async fn run(mut self) -> Result<(), String> {
        let mut tools = self.started().await?;
        while state(&tools) != Some(ServerState::Ready) {
            self.login_if_needed(&tools).await?;
            tools = self.started().await?;
        }
        for (number, (name, arguments)) in (1..).zip(calls(&tools)) {
            loop {
                let call = ToolCall { name: name.clone(), arguments: arguments.to_string() };
                let ended = run_to_end(&tools, &call, number).await;
                println!("{name} {arguments}: {ended:?}");
                match ended {
                    Err(error) if !error.started() => self.login_if_needed(&tools).await?,
                    Ok(_) | Err(_) => break,
                }
            }
        }
        Ok(())
    }

    async fn started(&self) -> Result<McpTools, String> {
        let servers = [(self.name.clone(), self.server.clone())];
        let tools = McpTools::start(servers, self.options.clone()).await;
        let tools = tools.map_err(|error| error.to_string())?;
        println!("{:?}", tools.reports());
        Ok(tools)
    }

    /// Logs in as a user would, if the server asks for it.
    async fn login_if_needed(&mut self, tools: &McpTools) -> Result<(), String> {
        let needed = tools.reports().iter().any(|report| report.login == Some(LoginStatus::Needed));
        if !needed || self.logins >= MAX_LOGINS {
            return Err(format!("the server is not ready: {:?}", state(tools)));
        }
        self.logins += 1;
        let redirect = "http://127.0.0.1:8765/callback";
        let flow = LoginFlow::begin(&self.name, &self.server, &self.options, redirect).await;
        let flow = flow.map_err(|error| error.to_string())?;
        let redirected = authorized(flow.address()).await?;
        let status = flow.finish(&redirected).await.map_err(|error| error.to_string())?;
        println!("{status:?}");
        Ok(())
    }
}

/// Requests an address that a user would open, and returns the one that it redirects to.
async fn authorized(address: &str) -> Result<String, String> {
    let wire = http_wire(address).map_err(|error| error.to_string())?;
    let request = WireRequest {
        method: "GET",
        url: address.to_owned(),
        headers: WireHeaders::default(),
        body: None,
        head_ms: 10_000,
    };
    let response = wire.send(request).await.map_err(|error| error.to_string())?;
    let location = response.headers.text("location");
    location.map(str::to_owned).ok_or_else(|| format!("no redirect: HTTP {}", response.status))
}

/// Runs a call to its end, with answers that leave to their defaults what they may.
async fn run_to_end(
    tools: &McpTools,
    call: &ToolCall,
    number: u64,
) -> Result<Observation, ToolError> {
    let mut suspended: Option<Arc<SuspendedCall>> = None;
    for run in 1.. {
        let context = ToolContext { suspended: suspended.take(), ..context(number) };
        match tools.run_or_suspend(call.clone(), context).await? {
            ToolEnd::Observed(observation) => return Ok(observation),
            ToolEnd::Suspended(suspension) if run < MAX_RUNS => {
                println!("{suspension:?}");
                let answer = suspension.question.as_ref().map(|asked| Arc::new(answer(asked)));
                let (suspension, decide_again) = (Arc::new(suspension), false);
                let left =
                    SuspendedCall { suspension, answer, runs: run, count: run, decide_again };
                suspended = Some(Arc::new(left));
            }
            ToolEnd::Suspended(_) => break,
        }
    }
    Err(ToolError::new(ToolErrorKind::Failed, "it is suspended again and again"))
}

/// Most runs of a call.
const MAX_RUNS: u32 = 50;

fn answer(asked: &UserQuestion) -> UserAnswer {
    let text = match (asked.question.contains("(/skip"), asked.choices.first()) {
        (true, _) => "/skip",
        (false, Some(choice)) => choice,
        (false, None) if asked.question.contains("number]") => "1",
        (false, None) => "text",
    };
    UserAnswer { text: text.to_owned(), declined: false }
}

fn state(tools: &McpTools) -> Option<ServerState> {
    tools.reports().into_iter().next().map(|report| report.state)
}

fn calls(tools: &McpTools) -> Vec<(String, Value)> {
    let given = given_calls();
    if !given.is_empty() {
        let calls = given.into_iter();
        return calls.map(|(name, value)| (format!("mcp__kit__{name}"), value)).collect();
    }
    let call = |tool: ToolSpec| (tool.name.clone(), arguments(&tool.parameters));
    tools.tools().into_iter().map(call).collect()
}

/// Returns arguments that fit a schema of plain properties.
fn arguments(schema: &str) -> Value {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => json!("text"),
    };
    let properties = properties.into_iter().flatten();
    let all: Map<String, Value> =
        properties.map(|(name, schema)| (name.clone(), value(schema))).collect();
    Value::Object(all)
}

fn context(number: u64) -> ToolContext {
    let session = SessionId::new("conformance").unwrap();
    ToolContext { timeout_ms: 20_000, ..ToolContext::new(session, CallId(number)) }
}
