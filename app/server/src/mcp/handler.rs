//! Handler: the requests of the protocol.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ErrorCode, ErrorData, GetTaskParams,
    GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::time::Instant;

use super::call::McpCall;
use super::work::WorkName;
use super::{report, tools};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;

/// Words for whoever drives a client.
const INSTRUCTIONS: &str = "Windlass runs agents durably. Call run with a task; its result has the \
    answer, or the questions that wait. Keep the session id to go on with the conversation, to ask \
    for its status, or to resume it after a failure.";

/// Serves the requests of clients.
#[derive(Clone)]
pub(super) struct McpHandler {
    pub(super) app: Arc<App>,
    /// The only client; over HTTP each request has its own.
    pub(super) caller: Option<Caller>,
}

impl McpHandler {
    fn call<'a>(
        &'a self,
        context: &'a RequestContext<RoleServer>,
    ) -> Result<McpCall<'a>, ErrorData> {
        let caller = match &self.caller {
            Some(caller) => Some(Caller { arrived: Instant::now(), ..caller.clone() }),
            None => context
                .extensions
                .get::<Parts>()
                .and_then(|parts| parts.extensions.get::<Caller>())
                .cloned(),
        };
        // The guards let no request without a caller through.
        let caller = caller.ok_or_else(|| ErrorData::invalid_request("send a token", None))?;
        Ok(McpCall { app: &self.app, caller, context })
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("windlass", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        let state = request.request_state.as_deref().map(WorkName::parse);
        let retried = state.map(|state| {
            let words = "requestState is not one that this server sent";
            state.ok_or_else(|| ErrorData::invalid_params(words, None))
        });
        let call = self.call(&context)?;
        let called = Box::pin(call.tool(request, retried.transpose()?)).await;
        match called {
            Some(Ok(response)) => Ok(response),
            Some(Err(problem)) => Ok(report::failure(&problem).into()),
            None => {
                let words = format!("no tool is named {name:?}: tools/list has them");
                Err(ErrorData::invalid_params(words, None))
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.call(&context)?.get_task(&request.task_id).await;
        task.map(GetTaskResult::new).map_err(|problem| refused(&problem))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let updated = self.call(&context)?.update_task(&request.task_id, request.input_responses);
        updated.await.map_err(|problem| refused(&problem))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let cancelled = self.call(&context)?.cancel_task(&request.task_id).await;
        cancelled.map_err(|problem| refused(&problem))
    }
}

/// Maps a problem to an error of the protocol.
fn refused(problem: &Problem) -> ErrorData {
    let code = match problem.code.status().is_server_error() {
        true => ErrorCode::INTERNAL_ERROR,
        false => ErrorCode::INVALID_PARAMS,
    };
    ErrorData::new(code, problem.detail.clone(), None)
}
