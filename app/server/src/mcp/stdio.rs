//! Standard streams: one client of a process.

use std::io;
use std::pin::pin;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::handler::McpHandler;
use crate::app::Server;
use crate::caller::Caller;
use crate::listen;

impl Server {
    /// Serves one MCP client over a pair of streams, with the grant of a token, until its input ends
    /// or it is told to stop. Then running steps end as in [`Server::serve`], and turns that have not
    /// ended continue when their session is resumed.
    ///
    /// # Errors
    /// When the token is unknown, or the client does not speak the protocol.
    pub async fn serve_mcp<I, O>(
        self,
        token: &str,
        (input, output): (I, O),
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<()>
    where
        I: AsyncRead + Send + Unpin + 'static,
        O: AsyncWrite + Send + Unpin + 'static,
    {
        let app = self.app;
        let known = app.access.grant(token);
        let known = known.and_then(|(hash, grant)| {
            let tenant = app.tenants.get(&grant.tenant)?.clone();
            Some(Caller { tenant, grant, token: hash, arrived: Instant::now() })
        });
        let caller = known.ok_or_else(|| io::Error::other("the token is unknown"))?;
        for tenant in app.tenants.values() {
            tenant.engine.supervise();
        }
        let handler = McpHandler { app: app.clone(), caller: Some(caller) };
        let transport =
            AsyncRwTransport::new_server(input, output).with_max_line_length(app.bounds.body_bytes);
        let serving = async {
            match Box::pin(handler.serve(transport)).await {
                Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
                // The client left before it said anything.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            }
        };
        let mut serving = pin!(serving);
        let served = tokio::select! {
            served = &mut serving => Some(served),
            () = stop => None,
        };
        let leaving = listen::hand_off(&app);
        match served {
            Some(served) => {
                leaving.await;
                served
            }
            // Calls that wait are still answered.
            None => {
                tokio::select! {
                    () = leaving => Ok(()),
                    served = serving => served,
                }
            }
        }
    }
}
