//! Listening: connections, each with its bounds, and the end of all of them.

use std::future::Future;
use std::io;

use tokio::net::TcpListener;

use crate::app::Server;

impl Server {
    /// Serves connections until told to stop.
    ///
    /// # Errors
    /// When no connections can be taken any more.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let app = self.app.clone();
        let stopped = async move {
            stop.await;
            app.drain();
        };
        axum::serve(listener, self.router())
            .with_graceful_shutdown(stopped)
            .await
    }
}
