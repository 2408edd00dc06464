//! Listener for the redirect that ends a login, on this machine alone.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::LoginFlow;
use crate::error::McpError;

/// Longest head of a request, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Longest time of one request.
const REQUEST: Duration = Duration::from_secs(3);
/// Pause after a connection that was not accepted.
const PAUSE: Duration = Duration::from_millis(100);
/// Path that is redirected to.
const PATH: &str = "/callback";

/// Listener on a port of 127.0.0.1.
pub struct LoopbackRedirect {
    listener: TcpListener,
    origin: String,
}

impl LoopbackRedirect {
    /// Listens on a port; 0 means any.
    ///
    /// # Errors
    /// [`McpError`] when the port is taken.
    pub async fn bind(port: u16) -> Result<Self, McpError> {
        let bound = async {
            let listener = TcpListener::bind(("127.0.0.1", port)).await?;
            let origin = format!("http://{}", listener.local_addr()?);
            Ok::<_, std::io::Error>(Self { listener, origin })
        };
        let words = |error| McpError::new(format!("cannot listen on 127.0.0.1:{port}: {error}"));
        bound.await.map_err(words)
    }

    /// Returns the address that a login is to be redirected to.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}{PATH}", self.origin)
    }

    /// Waits for the redirect of a login, and returns its address. It waits for ever: the caller sets a
    /// limit. Requests that are no redirect of this login are refused.
    pub async fn receive(&self, flow: &LoginFlow) -> String {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // It is gone, or there are too many open files.
                sleep(PAUSE).await;
                continue;
            };
            if let Ok(Some(redirected)) = timeout(REQUEST, self.answer(stream, flow)).await {
                return redirected;
            }
        }
    }

    /// Answers one request. Returns its address if it is the redirect.
    async fn answer(&self, mut stream: TcpStream, flow: &LoginFlow) -> Option<String> {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut chunk = [0; 2048];
            let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
            head.extend_from_slice(chunk.get(..read)?);
            if head.len() > MAX_HEAD {
                return None;
            }
        }
        let head = String::from_utf8_lossy(&head);
        let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        let redirected = target.map(|target| format!("{}{target}", self.origin));
        let redirected = redirected.filter(|address| flow.is_redirect(address));
        let (status, words) = match redirected {
            Some(_) => ("200 OK", "Windlass has the answer. You can close this page.\n"),
            None => ("404 Not Found", "There is nothing here.\n"),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncache-control: no-store\r\n\
             referrer-policy: no-referrer\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{words}",
            words.len()
        );
        // Whether the browser shows it is its own matter.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        redirected
    }
}
