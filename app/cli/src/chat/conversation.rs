//! Conversation: a session of a server, in this process or elsewhere, as a terminal uses it.
//!
//! It follows the session's events, and sends requests in the background: what they return arrives
//! as an [`Update`] like any event.

mod requests;

use std::collections::VecDeque;
use std::future::Future;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use windlass_engine::core::{ASK_USER_TOOL, CallId, ContextPart, Seq, SessionId, TurnOutcome};
use windlass_engine::ports::ToolExecutor as _;
use windlass_interaction::{InteractionTools, Question};
use windlass_terminal::{Line, Theme};

use super::transcript::{QueuedInput, Signal, Transcript};
use crate::attach::{
    QuestionAnswer, RemoteServer, RemoteSession, RequestFailure, ServerQuestion, SessionStream,
    StreamItem,
};
use crate::command::read_images;
use crate::wiring;

/// Facts of an earlier conversation that are shown when it is continued.
const SHOWN_HISTORY: u64 = 400;
/// Most results of requests that wait to be read.
const RESULTS: usize = 64;

/// Session as its server describes it, as far as it is used here.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SessionInfo {
    pub(super) id: SessionId,
    pub(super) state: String,
    pub(super) last: u64,
    #[serde(default)]
    pub(super) changed: u64,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) provider: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) mode: Option<String>,
    #[serde(default)]
    pub(super) permissions: Option<String>,
    #[serde(default)]
    pub(super) effort: Option<String>,
    /// Tokens of the last request.
    #[serde(default)]
    pub(super) context_tokens: Option<u64>,
    /// Tokens that a request may have.
    #[serde(default)]
    pub(super) window: Option<u64>,
    /// Money, in millionths of the currency of the prices.
    #[serde(default)]
    pub(super) cost_micros: Option<u64>,
}

/// Message of the person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) images: Vec<PathBuf>,
}

/// Time at which the model receives a message while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendAs {
    /// In the running turn.
    Steer,
    /// In a turn of its own, after those that wait.
    Queue,
}

/// Question that a person can answer.
#[derive(Debug, Clone)]
pub(super) enum OpenAsk {
    /// A call needs an approval.
    Approval(Box<ServerQuestion>),
    /// The model or a tool asks.
    Question(CallId, Question),
}

impl OpenAsk {
    /// Returns the call that waits.
    pub(super) fn call(&self) -> CallId {
        match self {
            Self::Approval(open) => open.call,
            Self::Question(call, _) => *call,
        }
    }
}

/// Something that a terminal shows or acts upon.
#[derive(Debug)]
pub(super) enum Update {
    /// Finished lines.
    Lines(Vec<Line>),
    /// The live state changed: the activity, the running calls, the queue or the open questions.
    Changed,
    /// A turn ended.
    Settled(TurnOutcome),
    /// A request failed. The message that it was to send is returned.
    Failed { words: String, message: Option<Message> },
    /// Sessions to choose from.
    Sessions(Vec<SessionInfo>),
    /// A fork is followed now. The message of its point goes to the editor.
    Forked(Option<Message>),
    /// Connection to the server was lost, for this reason.
    Reconnecting(String),
    /// First words of the session.
    Titled(String),
}

/// Result of a request.
enum Outcome {
    Opened(SessionInfo),
    /// A fork was opened, and this message goes to the editor.
    Forked(SessionInfo, Option<Message>),
    Info(SessionInfo),
    Asks {
        approvals: Vec<ServerQuestion>,
        questions: Vec<(CallId, Question)>,
    },
    Update(Update),
}

/// Conversation with one session at a time.
pub(super) struct Conversation {
    server: RemoteServer,
    /// Folder whose skills a message may name, if the server is in this process.
    workspace: Option<PathBuf>,
    theme: Theme,
    columns: u16,
    session: Option<RemoteSession>,
    stream: Option<SessionStream>,
    transcript: Transcript,
    info: Option<SessionInfo>,
    asks: VecDeque<OpenAsk>,
    /// True while the open questions are requested; then whether to request them once more.
    asking: Option<bool>,
    /// Message that waits until its session is open.
    first: Option<Message>,
    /// Options of sessions that are opened.
    options: Map<String, Value>,
    /// True until the tools of this client are declared for the session.
    undeclared: bool,
    /// True to show calls as they begin.
    announces: bool,
    send: mpsc::Sender<Outcome>,
    results: mpsc::Receiver<Outcome>,
}

impl Conversation {
    /// Creates a conversation without a session: the first message opens one.
    pub(super) fn new(
        server: RemoteServer,
        workspace: Option<PathBuf>,
        theme: Theme,
        columns: u16,
    ) -> Self {
        let (send, results) = mpsc::channel(RESULTS);
        Self {
            transcript: Transcript::new(theme, columns),
            server,
            workspace,
            theme,
            columns,
            session: None,
            stream: None,
            info: None,
            asks: VecDeque::new(),
            asking: None,
            first: None,
            options: Map::new(),
            undeclared: false,
            announces: false,
            send,
            results,
        }
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(super) fn info(&self) -> Option<&SessionInfo> {
        self.info.as_ref()
    }

    /// Returns the id of the session, if there is one.
    pub(super) fn session(&self) -> Option<&SessionId> {
        self.session.as_ref().map(RemoteSession::id)
    }

    /// Returns the oldest open question.
    pub(super) fn ask(&self) -> Option<&OpenAsk> {
        self.asks.front()
    }

    pub(super) fn queue(&self) -> &[QueuedInput] {
        self.transcript.queue()
    }

    /// Returns the end of an answer that is not finished, which nothing more is added to.
    pub(super) fn take_answer(&mut self) -> Vec<Line> {
        self.transcript.take_answer()
    }

    /// Sets an option of sessions that are opened from now on.
    pub(super) fn set_option(&mut self, name: &str, value: impl Into<Value>) {
        self.options.insert(name.to_owned(), value.into());
    }

    /// Sets the width of later lines, in columns.
    pub(super) fn resize(&mut self, columns: u16) {
        self.columns = columns;
        self.transcript.resize(columns);
    }

    /// Leaves the session, which continues: the next message opens another one.
    pub(super) fn clear(&mut self) {
        self.session = None;
        self.stream = None;
        self.info = None;
        self.asks.clear();
        self.asking = None;
        self.undeclared = false;
        self.transcript = Transcript::new(self.theme, self.columns);
        if self.announces {
            self.transcript.announce_calls();
        }
    }

    /// Sets the colors of later lines.
    pub(super) fn set_theme(&mut self, theme: Theme) {
        self.transcript.set_theme(theme, self.columns);
        self.theme = theme;
    }

    /// Continues a session: shows the end of its conversation, and follows it.
    pub(super) fn join(&mut self, info: SessionInfo) {
        self.clear();
        let session = self.server.session(info.id.clone());
        let after = info.last.saturating_sub(SHOWN_HISTORY);
        self.stream = Some(SessionStream::new(session.clone(), Seq(after)));
        self.session = Some(session);
        // The tools of whoever opened it stay on a server that others use.
        self.undeclared = self.workspace.is_some();
        self.info = Some(info);
        self.refresh_asks();
    }

    /// Waits for the next update. Cancel safe.
    ///
    /// # Errors
    /// When the session cannot be followed any more.
    pub(super) async fn next(&mut self) -> Result<Vec<Update>, RequestFailure> {
        let stream = self.stream.as_mut();
        let item = async {
            match stream {
                Some(stream) => stream.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            item = item => Ok(match item? {
                StreamItem::Event(event) => self.event(&event),
                StreamItem::Reconnecting(why) => vec![Update::Reconnecting(why)],
            }),
            // The sender is this conversation's own.
            Some(outcome) = self.results.recv() => Ok(self.outcome(outcome)),
        }
    }

    fn event(&mut self, event: &windlass_engine::Event) -> Vec<Update> {
        let (lines, signals) = self.transcript.apply(event);
        let mut updates = vec![match lines.is_empty() {
            true => Update::Changed,
            false => Update::Lines(lines),
        }];
        for signal in signals {
            match signal {
                Signal::Asked => self.refresh_asks(),
                Signal::Closed(call) => self.asks.retain(|ask| ask.call() != call),
                Signal::Settings => self.refresh_info(),
                Signal::Settled(outcome) => {
                    self.asks.clear();
                    updates.push(Update::Settled(outcome));
                }
                Signal::Titled(words) => {
                    let untitled = self.info.as_ref().is_none_or(|info| info.title.is_none());
                    if let (true, Some(info)) = (untitled, &mut self.info) {
                        info.title = Some(words.clone());
                        updates.push(Update::Titled(words));
                    }
                }
            }
        }
        updates
    }

    fn outcome(&mut self, outcome: Outcome) -> Vec<Update> {
        match outcome {
            Outcome::Opened(info) => {
                self.join(info);
                self.undeclared = false;
                if let Some(message) = self.first.take() {
                    self.send(message, SendAs::Queue);
                }
                vec![Update::Changed]
            }
            Outcome::Forked(info, message) => {
                self.join(info);
                vec![Update::Forked(message)]
            }
            Outcome::Info(info) => {
                let same = self.info.as_ref().is_some_and(|known| known.id == info.id);
                if same {
                    self.info = Some(info);
                }
                vec![Update::Changed]
            }
            Outcome::Asks { approvals, questions } => {
                let approvals = approvals.into_iter().map(|open| OpenAsk::Approval(Box::new(open)));
                let questions = questions.into_iter().map(|(call, it)| OpenAsk::Question(call, it));
                let mut asks: Vec<OpenAsk> = approvals.chain(questions).collect();
                asks.sort_by_key(OpenAsk::call);
                self.asks = asks.into();
                if self.asking.take() == Some(true) {
                    self.refresh_asks();
                }
                vec![Update::Changed]
            }
            Outcome::Update(update) => vec![update],
        }
    }

    /// Sends a message; the first one opens a session.
    pub(super) fn send(&mut self, message: Message, how: SendAs) {
        let Some(session) = self.session.clone() else {
            self.first = Some(message);
            let server = self.server.clone();
            let mut body = self.options.clone();
            body.insert("client_tools".to_owned(), client_tools());
            let body = Value::Object(body);
            self.spawn(async move {
                server.post("POST", "/v1/sessions", Some(&body)).await.map(Outcome::Opened)
            });
            return;
        };
        let declared = std::mem::take(&mut self.undeclared);
        let delivery = match how {
            SendAs::Steer => "steer",
            SendAs::Queue => "turn",
        };
        let (workspace, send) = (self.workspace.clone(), self.send.clone());
        tokio::spawn(async move {
            let sent = send_message(&session, workspace.as_deref(), &message, delivery, declared);
            if let Err(words) = sent.await {
                let message = Some(message);
                let _ = send.send(Outcome::Update(Update::Failed { words, message })).await;
            }
        });
    }

    /// Answers an approval.
    pub(super) fn answer(&mut self, open: ServerQuestion, answer: QuestionAnswer) {
        self.asks.retain(|ask| ask.call() != open.call);
        self.on_session(async move |session| {
            session.answer(&open, &answer).await.map(|()| Outcome::Update(Update::Changed))
        });
    }

    /// Answers a question of the model.
    pub(super) fn reply(&mut self, call: CallId, answer: String) {
        self.asks.retain(|ask| ask.call() != call);
        self.on_session(async move |session| {
            session.submit(call, &answer).await.map(|()| Outcome::Update(Update::Changed))
        });
    }

    /// Shows calls as they begin, for a terminal that has no live area.
    pub(super) fn announce_calls(&mut self) {
        self.announces = true;
        self.transcript.announce_calls();
    }

    fn refresh_info(&self) {
        self.on_session(async move |session| session.get("").await.map(Outcome::Info));
    }

    /// Requests the open questions, unless that is being done; then once more after it.
    fn refresh_asks(&mut self) {
        if let Some(again) = &mut self.asking {
            *again = true;
            return;
        }
        self.asking = Some(false);
        self.on_session(async move |session| {
            let approvals = session.open().await?;
            let calls = session.client_calls().await?;
            let questions = calls.into_iter().filter(|call| call.tool == ASK_USER_TOOL);
            let questions = questions
                .filter_map(|call| Some((call.call, Question::parse(&call.arguments).ok()?)))
                .collect();
            Ok(Outcome::Asks { approvals, questions })
        });
    }

    /// Runs a request of the session in the background; without a session nothing happens.
    fn on_session<F>(&self, request: impl FnOnce(RemoteSession) -> F)
    where
        F: Future<Output = Result<Outcome, RequestFailure>> + Send + 'static,
    {
        if let Some(session) = self.session.clone() {
            self.spawn(request(session));
        }
    }

    fn spawn(
        &self,
        request: impl Future<Output = Result<Outcome, RequestFailure>> + Send + 'static,
    ) {
        let send = self.send.clone();
        tokio::spawn(async move {
            let outcome = request.await.unwrap_or_else(|failure| {
                Outcome::Update(Update::Failed { words: failure.message, message: None })
            });
            // Nobody waits for it once the terminal is left.
            let _ = send.send(outcome).await;
        });
    }
}

async fn send_message(
    session: &RemoteSession,
    workspace: Option<&Path>,
    message: &Message,
    delivery: &str,
    declared: bool,
) -> Result<(), String> {
    let images = read_images(&message.images).map_err(|failure| failure.message)?;
    let images: Vec<String> = images.iter().map(|image| STANDARD.encode(image)).collect();
    let context: Vec<ContextPart> = match workspace {
        Some(folder) => {
            wiring::named_skills(folder, &message.text).map_err(|failure| failure.message)?
        }
        None => Vec::new(),
    };
    let mut body = json!({
        "text": message.text, "delivery": delivery, "images": images, "context": context,
    });
    if declared && let Some(fields) = body.as_object_mut() {
        fields.insert("client_tools".to_owned(), client_tools());
    }
    let sent = session.command("POST", "/inputs", Some(&body)).await;
    sent.map_err(|failure| failure.message)
}

/// Returns the tools that this client runs: the question to the person.
fn client_tools() -> Value {
    let tools = InteractionTools::new().with_questions().tools();
    let asked = tools.into_iter().filter(|tool| tool.client);
    let declared = asked.map(|tool| {
        let parameters: Value = serde_json::from_str(&tool.parameters).unwrap_or_default();
        json!({
            "name": tool.name, "description": tool.description, "parameters": parameters,
            "effect": tool.effect, "timeout_ms": tool.timeout_ms,
        })
    });
    declared.collect()
}
