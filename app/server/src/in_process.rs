//! In process: the routes of a server without a socket, for a client in the same process.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::HOST;
use axum::http::{Request, Uri};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::time::timeout;
use windlass_engine::ports::{
    Wire, WireBody, WireError, WireErrorKind, WireHeaders, WireRequest, WireResponse,
};

use crate::app::Server;
use crate::listen;

impl Server {
    /// Starts to drive sessions, and returns a wire to the routes. Its requests pass the same guards
    /// as those of a socket: their URL must name one of the server's hosts, and they need a token.
    #[must_use]
    pub fn in_process(&self) -> Arc<dyn Wire> {
        for tenant in self.app.tenants.values() {
            tenant.engine.supervise();
        }
        Arc::new(InProcessWire { routes: TowerToHyperService::new(self.router()) })
    }

    /// Drains the server and releases its sessions, as [`Server::serve`] does when it stops.
    pub async fn hand_off(&self) {
        listen::hand_off(&self.app).await;
    }
}

/// Wire to the routes of a server in this process.
struct InProcessWire {
    routes: TowerToHyperService<Router>,
}

#[async_trait]
impl Wire for InProcessWire {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let invalid =
            |why: &dyn std::error::Error| WireError::new(WireErrorKind::Invalid, why.to_string());
        let uri: Uri = request.url.parse().map_err(|error| invalid(&error))?;
        let host = uri.authority().map(ToString::to_string).unwrap_or_default();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut head = Request::builder().method(request.method).uri(path).header(HOST, host);
        for header in request.headers.iter() {
            head = head.header(header.name.as_str(), header.value.as_ref());
        }
        let body = request.body.map(|body| Body::from(body.to_bytes())).unwrap_or_default();
        let sent = head.body(body).map_err(|error| invalid(&error))?;
        let answered =
            timeout(Duration::from_millis(request.head_ms), self.routes.call(sent)).await;
        let late = |_| WireError::new(WireErrorKind::HeadTimeout, "the server did not answer");
        let response = match answered.map_err(late)? {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let mut headers = WireHeaders::default();
        for (name, value) in response.headers() {
            headers.push(name.as_str(), Bytes::copy_from_slice(value.as_bytes()), false);
        }
        let status = response.status().as_u16();
        let body = Box::new(InProcessBody(response.into_body()));
        Ok(WireResponse { status, headers, body })
    }
}

/// Body of a response of the routes.
struct InProcessBody(Body);

impl WireBody for InProcessBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        loop {
            return Poll::Ready(match std::task::ready!(Pin::new(&mut self.0).poll_frame(cx)) {
                None => Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Ok(Some(data)),
                    // Trailers: the routes send none.
                    Err(_) => continue,
                },
                Some(Err(error)) => Err(WireError::new(WireErrorKind::Broken, error.to_string())),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::core::Timestamp;
    use windlass_testkit::clock::ManualClock;

    use super::*;
    use crate::app::ServerParts;

    async fn status(url: &str) -> Result<(u16, String), WireError> {
        let server = Server::new(ServerParts {
            tenants: Vec::new(),
            access: Arc::default(),
            bounds: crate::ServerLimits::default(),
            clock: Arc::new(ManualClock::new(Timestamp(0), 1)),
            hosts: vec!["inside".to_owned()],
            origins: Vec::new(),
        });
        let wire = server.in_process();
        let mut response = wire
            .send(WireRequest {
                method: "GET",
                url: url.to_owned(),
                headers: WireHeaders::default(),
                body: None,
                head_ms: 1_000,
            })
            .await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.body.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok((response.status, String::from_utf8_lossy(&body).into_owned()))
    }

    #[tokio::test]
    async fn requests_pass_the_guards_of_the_server() {
        let (code, body) = status("http://inside/v1/health").await.unwrap();
        assert_eq!(code, 200, "{body}");
        let (code, body) = status("http://elsewhere/v1/health").await.unwrap();
        assert_eq!(code, 421, "{body}");
        let (code, body) = status("http://inside/v1/sessions").await.unwrap();
        assert_eq!(code, 401, "{body}");
        let refused = status("not a url").await.unwrap_err();
        assert_eq!(refused.kind, WireErrorKind::Invalid);
    }
}
