//! Client for the protocol's conformance kit, over this adapter: `conformance_client URL`. The kit
//! starts a server for each scenario, names the scenario in the environment, and checks what it is sent.
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a program for tests")]

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_core::{CallId, SessionId};
use windlass_http::http_wire;
use windlass_mcp::{
    McpError, McpOptions, McpServer, McpTools, McpTransport, ServerName, ServerState,
};
use windlass_ports::{ToolCall, ToolContext, ToolExecutor as _};

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

async fn run() -> Result<(), String> {
    let url = std::env::args().next_back().ok_or("name the URL of a server")?;
    let transport = McpTransport::Http { url, headers: Default::default(), token: None };
    let timeout = Duration::from_secs(15);
    let server =
        McpServer { startup_timeout: timeout, tool_timeout: timeout, ..McpServer::new(transport) };
    let options = McpOptions::new(std::env::temp_dir())
        .with_wire(|url| http_wire(url).map_err(|error| McpError::new(error.to_string())));
    let name = ServerName::new("kit").map_err(|error| error.to_string())?;
    let tools = McpTools::start([(name, server)], options).await;
    let tools = tools.map_err(|error| error.to_string())?;
    let reports = tools.reports();
    let report = reports.first().ok_or("there is no server")?;
    println!("{report:?}");
    if report.state != ServerState::Ready {
        return Err(format!("the server is not ready: {:?}", report.state));
    }
    let given = given_calls();
    let calls: Vec<(String, Value)> = match given.is_empty() {
        false => {
            given.into_iter().map(|(name, value)| (format!("mcp__kit__{name}"), value)).collect()
        }
        true => tools
            .tools()
            .iter()
            .map(|tool| (tool.name.clone(), arguments(&tool.parameters)))
            .collect(),
    };
    for (number, (name, arguments)) in (1..).zip(calls) {
        let call = ToolCall { name: name.clone(), arguments: arguments.to_string() };
        let ended = tools.run(call, context(number)?).await;
        println!("{name} {arguments}: {ended:?}");
    }
    Ok(())
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

fn context(number: u64) -> Result<ToolContext, String> {
    let session = SessionId::new("conformance").map_err(|error| error.to_string())?;
    Ok(ToolContext { timeout_ms: 20_000, ..ToolContext::new(session, CallId(number)) })
}
