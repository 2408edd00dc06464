//! Messages that a server sends by itself: progress, changed lists, and questions in the middle of a
//! call, as the earlier protocol has them. Its log is left unread.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, ExtensionCapabilities, FormElicitationCapability,
    Implementation, JsonObject, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Notify, mpsc, oneshot};
use windlass_ports::ProgressSink;
use windlass_ports::sync::Mutex;

use crate::excerpt::clipped;

/// Longest message of a progress report, in bytes.
const MESSAGE: usize = 1_000;

/// Receives the messages that a server sends by itself.
#[derive(Clone, Default)]
pub(crate) struct Handler {
    /// True if somebody answers questions of the server.
    pub(crate) answers: bool,
    /// Notified when the list of tools has changed.
    pub(crate) changed: Arc<Notify>,
    pub(crate) progress: ProgressSinks,
    pub(crate) questions: Questions,
}

/// Questions to the calls that run, by the token of each.
#[derive(Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<LiveQuestion>>>>);

/// Entry of one call, which its drop removes.
pub(crate) struct QuestionEntry {
    questions: Questions,
    token: ProgressToken,
    received: mpsc::Receiver<LiveQuestion>,
}

/// A question of a server in the middle of a call. Dropping it dismisses the question.
pub(crate) struct LiveQuestion {
    pub(crate) params: ElicitRequestParams,
    reply: oneshot::Sender<ElicitResult>,
}

impl LiveQuestion {
    /// Answers the question, unless the server has gone.
    pub(crate) fn answer(self, result: ElicitResult) {
        // Without a server its call ends by itself.
        let _ = self.reply.send(result);
    }
}

impl Questions {
    /// Takes questions for a call until the entry is dropped.
    pub(crate) fn add(&self, token: ProgressToken) -> QuestionEntry {
        let (sender, received) = mpsc::channel(1);
        self.0.lock().insert(token.clone(), sender);
        QuestionEntry { questions: self.clone(), token, received }
    }

    /// Returns the receiver of the only call that runs. A question does not say which call it is
    /// about, so among several nobody can be told what asks.
    fn only(&self) -> Option<mpsc::Sender<LiveQuestion>> {
        let senders = self.0.lock();
        (senders.len() == 1).then(|| senders.values().next().cloned())?
    }
}

impl QuestionEntry {
    /// Waits for the next question.
    pub(crate) async fn next(&mut self) -> Option<LiveQuestion> {
        self.received.recv().await
    }
}

impl Drop for QuestionEntry {
    fn drop(&mut self) {
        self.questions.0.lock().remove(&self.token);
    }
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
        let mut capabilities = ClientCapabilities::default();
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some(ExtensionCapabilities::from([tasks]));
        let (form, url) =
            (FormElicitationCapability::default(), UrlElicitationCapability::default());
        let asks = || ElicitationCapability::new().with_form(form).with_url(url);
        capabilities.elicitation = self.answers.then(asks);
        ClientConfig::new(capabilities, client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let dismissed = ElicitResult::new(ElicitationAction::Cancel);
        let Some(call) = self.questions.only().filter(|_| self.answers) else {
            return Ok(dismissed);
        };
        let (reply, answer) = oneshot::channel();
        match call.send(LiveQuestion { params, reply }).await {
            Ok(()) => Ok(answer.await.unwrap_or(dismissed)),
            Err(_) => Ok(dismissed),
        }
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
