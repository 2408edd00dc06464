//! Server for the protocol's conformance kit: the tools, prompts and resources that the kit asks for by
//! name, over the library that the server's own endpoint uses. It prints its address, and serves until
//! it is killed.
#![allow(clippy::print_stdout, reason = "a program for tests")]
#![expect(
    deprecated,
    reason = "the kit asks for what the newer version of the protocol deprecates"
)]

mod parts;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, CompleteRequestParams,
    CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    ServerRequest, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use parts::{PNG, asking, asks, content, fields, form, image, name_form, plain, sampling, text};

type Context = RequestContext<RoleServer>;

/// Pause between two notifications.
const PAUSE: Duration = Duration::from_millis(50);

/// Tools without arguments that return the same content each time.
const PLAIN: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
];
/// Tools without arguments that do something.
const ACTIVE: &[&str] = &[
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
];
/// Tools that ask for input in the newer version.
const ASKING: &[&str] = &[
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Fixture), sessions, config);
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}

/// The server that the kit asks.
struct Fixture;

/// Reads a message of the protocol.
fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl Fixture {
    /// Sends a request to the client, and returns its result.
    async fn request(context: &Context, request: Value) -> Result<Value, ErrorData> {
        let request: ServerRequest = read(request)?;
        let failed =
            |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let answer = context.peer.send_request(request).await.map_err(|error| failed(&error))?;
        serde_json::to_value(answer).map_err(|error| failed(&error))
    }

    async fn log(context: &Context, words: &str) {
        let logged = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(words));
        // A client that is gone gets none.
        let _ = context.peer.notify_logging_message(logged).await;
        tokio::time::sleep(PAUSE).await;
    }

    async fn active(name: &str, arguments: &Value, context: &Context) -> Result<Value, ErrorData> {
        let said = |words: String| Ok(content(json!([text(words)])));
        match name {
            "test_tool_with_logging" => {
                for words in
                    ["Tool execution started", "Tool processing data", "Tool execution completed"]
                {
                    Self::log(context, words).await;
                }
                said("logged".to_owned())
            }
            "test_tool_with_progress" => {
                for step in [0.0, 50.0, 100.0] {
                    if let Some(token) = context.meta.get_progress_token() {
                        let note = ProgressNotificationParam::new(token, step).with_total(100.0);
                        let _ = context.peer.notify_progress(note).await;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                said("done".to_owned())
            }
            "test_sampling" => {
                let prompt = arguments["prompt"].as_str().unwrap_or_default();
                let answer = Self::request(context, sampling(prompt, 100)).await?;
                said(format!("LLM response: {}", answer["content"]["text"]))
            }
            "test_elicitation"
            | "test_elicitation_sep1034_defaults"
            | "test_elicitation_sep1330_enums" => {
                let message = arguments["message"].as_str().unwrap_or("Fill this in.");
                let answer = Self::request(context, form(message, fields(name), &[])).await?;
                said(format!("User response: Elicitation completed: {answer}"))
            }
            "test_missing_capability" => match context.client_capabilities() {
                Some(declared) if declared.sampling.is_some() => said("it is declared".to_owned()),
                Some(_) | None => {
                    let missing: ClientCapabilities = read(json!({"sampling": {}}))?;
                    Err(ErrorData::missing_required_client_capability(missing))
                }
            },
            "test_streaming_elicitation" => {
                Ok(asks(json!({"name": name_form("What is your name?")}), None))
            }
            // A log level was not asked for.
            "test_logging_tool" => said("not logged".to_owned()),
            _ => Err(ErrorData::invalid_params("there is no such tool", None)),
        }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &str, properties: Value| {
            json!({"name": name, "description": name,
            "inputSchema": {"type": "object", "properties": properties}})
        };
        let names = PLAIN.iter().chain(ACTIVE).chain(ASKING);
        let mut tools: Vec<Value> = names.map(|name| tool(name, json!({}))).collect();
        tools.push(tool("test_sampling", json!({"prompt": {"type": "string"}})));
        tools.push(tool("test_elicitation", json!({"message": {"type": "string"}})));
        read(json!({"resultType": "complete", "tools": tools}))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &*request.name;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = match (PLAIN.contains(&name), ASKING.contains(&name)) {
            (true, _) => plain(name),
            (_, true) => {
                let declared = context.client_capabilities().unwrap_or_default();
                let given = request.input_responses.unwrap_or_default();
                asking(name, &declared, &given, request.request_state.as_deref())?
            }
            (false, false) => Self::active(name, &arguments, &context).await?,
        };
        match answer["resultType"] == "input_required" {
            true => read(answer).map(CallToolResponse::InputRequired),
            false => read(answer).map(CallToolResponse::Complete),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = |name: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(|name| json!({"name": name, "required": true}));
            json!({"name": name, "description": name, "arguments": arguments.collect::<Value>()})
        };
        read(json!({"resultType": "complete", "prompts": [
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ]}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
        let given = request.input_responses.unwrap_or_default();
        let parts = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (first, second) = (argument("arg1"), argument("arg2"));
                vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let resource = json!({"uri": argument("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."});
                let words = "Please process the embedded resource above.";
                vec![json!({"type": "resource", "resource": resource}), text(words)]
            }
            "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
            "test_input_required_result_prompt" => match given.get("user_context") {
                Some(answer) => vec![text(answer["content"]["context"].to_string())],
                None => {
                    let context = json!({"context": {"type": "string"}});
                    let form = form("What context should the prompt use?", context, &["context"]);
                    let asked = asks(json!({"user_context": form}), None);
                    return read(asked).map(GetPromptResponse::InputRequired);
                }
            },
            _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
        };
        let messages = parts.iter().map(|part| json!({"role": "user", "content": part}));
        let prompt = json!({"resultType": "complete", "messages": messages.collect::<Value>()});
        read(prompt).map(GetPromptResponse::Complete)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |name: &str, kind: &str| {
            json!({"uri": format!("test://{name}"),
            "name": name, "mimeType": kind})
        };
        read(json!({"resultType": "complete", "resources": [
            resource("static-text", "text/plain"),
            resource("static-binary", "image/png"),
            resource("watched-resource", "text/plain"),
        ]}))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = json!({"uriTemplate": "test://template/{id}/data", "name": "template",
            "mimeType": "application/json"});
        read(json!({"resultType": "complete", "resourceTemplates": [template]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let resource = match (uri.as_str(), id) {
            ("test://static-text", _) => json!({"uri": uri, "mimeType": "text/plain",
                "text": "This is the content of the static text resource."}),
            ("test://static-binary", _) => {
                json!({"uri": uri, "mimeType": "image/png", "blob": PNG})
            }
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
            }
            (_, None) => {
                let about = json!({"uri": uri});
                return Err(ErrorData::resource_not_found("Resource not found", Some(about)));
            }
        };
        let contents = json!({"resultType": "complete", "contents": [resource]});
        read(contents).map(ReadResourceResponse::Complete)
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(wanted.clone())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        read(
            json!({"resultType": "complete", "completion": {"values": ["paris", "park", "party"], "total": 3,
            "hasMore": false}}),
        )
    }
}
