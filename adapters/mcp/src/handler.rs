//! Messages that a server sends by itself: progress and changed lists. Its log is left unread.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::Notify;
use windlass_ports::ProgressSink;
use windlass_ports::sync::Mutex;

use crate::excerpt::clipped;

/// Longest message of a progress report, in bytes.
const MESSAGE: usize = 1_000;

/// Receives the messages that a server sends by itself.
#[derive(Clone, Default)]
pub(crate) struct Handler {
    /// Notified when the list of tools has changed.
    pub(crate) changed: Arc<Notify>,
    pub(crate) progress: ProgressSinks,
}

/// Sinks of the calls that run, by the token of each.
#[derive(Clone, Default)]
pub(crate) struct ProgressSinks(Arc<Mutex<HashMap<ProgressToken, Arc<dyn ProgressSink>>>>);

/// Entry of one call, which its drop removes.
pub(crate) struct ProgressEntry {
    sinks: ProgressSinks,
    token: ProgressToken,
}

impl ProgressSinks {
    /// Reports the progress of a call to its sink until the entry is dropped.
    pub(crate) fn add(&self, token: ProgressToken, sink: Arc<dyn ProgressSink>) -> ProgressEntry {
        self.0.lock().insert(token.clone(), sink);
        ProgressEntry { sinks: self.clone(), token }
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        self.sinks.0.lock().remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let sink = self.progress.0.lock().get(&said.progress_token).cloned();
        if let Some(sink) = sink {
            sink.report(&words(&said));
        }
    }
}

/// Words of a report: its message, or how far it is.
fn words(said: &ProgressNotificationParam) -> String {
    let far = match said.total {
        Some(total) => format!("{} of {total}", said.progress),
        None => said.progress.to_string(),
    };
    match said.message.as_deref().filter(|message| !message.trim().is_empty()) {
        Some(message) => format!("{} ({far})", clipped(message, MESSAGE)),
        None => far,
    }
}
