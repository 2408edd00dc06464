//! Streamable HTTP: `POST /mcp`. Each request stands alone, also for clients of the older era.

use std::sync::Arc;

use axum::Router;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;

use super::handler::McpHandler;
use crate::app::App;

/// Path of the endpoint.
pub(crate) const PATH: &str = "/mcp";

/// Returns the route. The guards have checked the host, the origin, the token and the body.
pub(crate) fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    let handler = McpHandler { app: app.clone(), caller: None };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_sse_retry(None)
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    Router::new().route_service(PATH, service)
}
