//! Conversation: a session of a server, in this process or elsewhere, as a terminal uses it.
//!
//! It follows the session's events, and sends requests in the background: what they return arrives
//! as an [`Update`] like any event.

mod messages;
mod requests;
mod types;

use std::collections::VecDeque;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use windlass_engine::Event;
use windlass_engine::core::{ASK_USER_TOOL, CallId, Seq, SessionId};
use windlass_interaction::Question;
use windlass_terminal::{Line, Theme};

use messages::{client_tools, run_command, send_message};
pub(super) use types::{Message, OpenAsk, SendAs, SessionInfo, Update};

use super::transcript::{QueuedInput, Signal, Transcript};
use crate::attach::{
    QuestionAnswer, RemoteServer, RemoteSession, RequestFailure, ServerQuestion, SessionStream,
    StreamItem,
};

/// Facts of an earlier conversation that are shown when it is continued.
const SHOWN_HISTORY: u64 = 400;
/// Most results of requests that wait to be read.
const RESULTS: usize = 64;
/// Most commands that wait to be sent.
const COMMANDS: usize = 256;

/// Result of a request.
enum Outcome {
    /// The session of the first messages was opened, or could not be.
    Opened(Result<SessionInfo, RequestFailure>),
    /// A fork was opened, and this message goes to the editor.
    Forked(SessionInfo, Option<Message>),
    Info(SessionInfo),
    /// Open questions of a session.
    Asks {
        of: SessionId,
        open: Result<Vec<OpenAsk>, RequestFailure>,
    },
    Update(Update),
}

/// Command to a server, with what is made of the answer.
type Command = Pin<Box<dyn Future<Output = Outcome> + Send>>;

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
    /// Messages that wait until their session is open.
    first: VecDeque<(Message, SendAs)>,
    /// Position up to which facts are earlier than this conversation.
    past: Seq,
    /// Options of sessions that are opened.
    options: Map<String, Value>,
    /// True until the tools of this client are declared for the session.
    undeclared: bool,
    /// True to show calls as they begin.
    announces: bool,
    /// Commands, which are sent in the order in which they were given.
    commands: mpsc::Sender<Command>,
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
        let (commands, waiting) = mpsc::channel(COMMANDS);
        tokio::spawn(run_commands(waiting, send.clone()));
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
            first: VecDeque::new(),
            past: Seq::ZERO,
            options: Map::new(),
            undeclared: false,
            announces: false,
            commands,
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
        self.past = Seq::ZERO;
        self.undeclared = false;
        self.transcript = Transcript::new(self.theme, self.columns);
        if self.announces {
            self.transcript.announce_calls();
        }
    }

    /// Sets the colors of later lines. Returns the end of an answer that is not finished.
    pub(super) fn set_theme(&mut self, theme: Theme) -> Vec<Line> {
        let lines = self.take_answer();
        self.transcript.set_theme(theme, self.columns);
        self.theme = theme;
        lines
    }

    /// Continues a session: shows the end of its conversation, and follows it. In this process its open
    /// turn goes on, and so do messages that no interrupt holds.
    pub(super) fn join(&mut self, info: SessionInfo) {
        self.clear();
        let session = self.server.session(info.id.clone());
        let recent = info.last.saturating_sub(SHOWN_HISTORY);
        let after = info.turn.map_or(recent, |turn| recent.min(turn.saturating_sub(1)));
        let waits = info.waiting.is_some_and(|count| count > 0) && info.held != Some(true);
        let goes_on = self.workspace.is_some() && (info.turn.is_some() || waits);
        self.past = Seq(info.last);
        self.stream = Some(SessionStream::new(session.clone(), Seq(after)));
        self.session = Some(session);
        // The tools of whoever opened it stay on a server that others use.
        self.undeclared = self.workspace.is_some();
        self.info = Some(info);
        self.refresh_asks();
        if goes_on {
            self.continue_waiting();
        }
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
                StreamItem::Reconnecting(why) => {
                    self.refresh_asks();
                    vec![Update::Reconnecting(why)]
                }
            }),
            // The sender is this conversation's own.
            Some(outcome) = self.results.recv() => Ok(self.outcome(outcome)),
        }
    }

    fn event(&mut self, event: &Event) -> Vec<Update> {
        let (lines, signals) = self.transcript.apply(event);
        let mut updates = vec![match lines.is_empty() {
            true => Update::Changed,
            false => Update::Lines(lines),
        }];
        let past = matches!(event, Event::Fact(fact) if fact.seq <= self.past);
        for signal in signals {
            match signal {
                // What was asked and set before, the session itself had told.
                Signal::Asked | Signal::Settings if past => {}
                Signal::Asked => self.refresh_asks(),
                Signal::Closed(call) => self.close_ask(call),
                Signal::Settings => self.refresh_info(),
                Signal::Dropped { blocked } if !past => updates.push(Update::Dropped { blocked }),
                Signal::Dropped { .. } => {}
                Signal::Settled(outcome) => {
                    if !past {
                        self.asks.clear();
                        self.refresh_info();
                    }
                    updates.push(Update::Settled { outcome, past });
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
            Outcome::Opened(Ok(info)) => {
                self.join(info);
                self.undeclared = false;
                for (message, how) in std::mem::take(&mut self.first) {
                    self.send(message, how);
                }
                vec![Update::Changed]
            }
            Outcome::Opened(Err(failure)) => {
                let unsent = std::mem::take(&mut self.first).into_iter();
                let failed = |(message, _)| Update::Failed {
                    words: failure.message.clone(),
                    message: Some(message),
                };
                unsent.map(failed).collect()
            }
            Outcome::Forked(info, message) => {
                self.join(info);
                let words = "a copy of the session goes on from here";
                let told = Update::Lines(vec![Line::styled(words, self.theme.dim)]);
                [told].into_iter().chain(message.map(Update::Edit)).collect()
            }
            Outcome::Info(info) => {
                let same = self.info.as_ref().is_some_and(|known| known.id == info.id);
                if same {
                    self.info = Some(info);
                }
                vec![Update::Changed]
            }
            // The answer to a request about a session that was left.
            Outcome::Asks { of, .. } if self.session() != Some(&of) => vec![],
            Outcome::Asks { open, .. } => {
                let again = self.asking.take() == Some(true);
                if again {
                    self.refresh_asks();
                }
                match open {
                    // What was closed in the meantime is not opened again.
                    Ok(_) if again => vec![],
                    Ok(mut open) => {
                        open.sort_by_key(OpenAsk::call);
                        self.asks = open.into();
                        vec![Update::Changed]
                    }
                    Err(failure) => {
                        let words = failure.of("list the open questions").message;
                        vec![Update::Failed { words, message: None }]
                    }
                }
            }
            Outcome::Update(update) => vec![update],
        }
    }

    /// Sends a message; the first one opens a session.
    pub(super) fn send(&mut self, message: Message, how: SendAs) {
        let Some(session) = self.session.clone() else {
            // There is no turn to steer.
            let how = if how == SendAs::Steer { SendAs::Queue } else { how };
            self.first.push_back((message, how));
            if self.first.len() > 1 {
                return;
            }
            let server = self.server.clone();
            let mut body = self.options.clone();
            body.insert("client_tools".to_owned(), client_tools());
            let body = Value::Object(body);
            self.spawn(async move {
                Ok(Outcome::Opened(server.post("POST", "/v1/sessions", Some(&body)).await))
            });
            return;
        };
        let (workspace, lost) = (self.workspace.clone(), message.clone());
        let declared = how != SendAs::Command && std::mem::take(&mut self.undeclared);
        let sent = self.commands.try_send(Box::pin(async move {
            let workspace = workspace.as_deref();
            let sent = match how {
                SendAs::Steer => {
                    send_message(&session, workspace, &message, "steer", declared).await
                }
                SendAs::Queue => {
                    send_message(&session, workspace, &message, "turn", declared).await
                }
                SendAs::Command => run_command(&session, &message.text).await,
            };
            Outcome::Update(match sent {
                Ok(()) => Update::Changed,
                Err(words) => Update::Failed { words, message: Some(message) },
            })
        }));
        if sent.is_err() {
            self.refuse(Some(lost));
        }
    }

    /// Answers an approval.
    pub(super) fn answer(&mut self, open: ServerQuestion, answer: QuestionAnswer) {
        self.close_ask(open.call);
        self.in_order(async move |session| {
            session.answer(&open, &answer).await.map(|()| Outcome::Update(Update::Changed))
        });
    }

    /// Answers a question of the model.
    pub(super) fn reply(&mut self, call: CallId, answer: String) {
        self.close_ask(call);
        self.in_order(async move |session| {
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

    /// Removes the questions of a call. A list that is being requested may still have them, so it is
    /// requested again.
    fn close_ask(&mut self, call: CallId) {
        self.asks.retain(|ask| ask.call() != call);
        if let Some(again) = &mut self.asking {
            *again = true;
        }
    }

    /// Requests the open questions, unless that is being done; then once more after it.
    fn refresh_asks(&mut self) {
        if let Some(again) = &mut self.asking {
            *again = true;
            return;
        }
        self.asking = Some(false);
        self.on_session(async move |session| {
            let (of, open) = (session.id().clone(), open_asks(&session).await);
            Ok(Outcome::Asks { of, open })
        });
    }

    /// Sends a command to the session after those before it; without a session nothing happens.
    fn in_order<F>(&self, request: impl FnOnce(RemoteSession) -> F)
    where
        F: Future<Output = Result<Outcome, RequestFailure>> + Send + 'static,
    {
        let Some(session) = self.session.clone() else {
            return;
        };
        let request = request(session);
        let command = Box::pin(async move { request.await.unwrap_or_else(failed) });
        if self.commands.try_send(command).is_err() {
            self.refuse(None);
        }
    }

    /// Reports a command that cannot wait, since too many do.
    fn refuse(&self, message: Option<Message>) {
        let words = format!("{COMMANDS} commands wait for the server already");
        let send = self.send.clone();
        tokio::spawn(async move {
            let _ = send.send(Outcome::Update(Update::Failed { words, message })).await;
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
            let outcome = request.await.unwrap_or_else(failed);
            // Nobody waits for it once the terminal is left.
            let _ = send.send(outcome).await;
        });
    }
}

fn failed(failure: RequestFailure) -> Outcome {
    Outcome::Update(Update::Failed { words: failure.message, message: None })
}

/// Sends commands one after the other, until the conversation is gone.
async fn run_commands(mut waiting: mpsc::Receiver<Command>, send: mpsc::Sender<Outcome>) {
    while let Some(command) = waiting.recv().await {
        if send.send(command.await).await.is_err() {
            return;
        }
    }
}

/// Fetches the open approvals and the questions of a session.
async fn open_asks(session: &RemoteSession) -> Result<Vec<OpenAsk>, RequestFailure> {
    let approvals = session.open().await?.into_iter();
    let approvals = approvals.map(|open| OpenAsk::Approval(Box::new(open)));
    let calls = session.client_calls().await?.into_iter();
    let questions = calls.filter(|call| call.tool == ASK_USER_TOOL).filter_map(|call| {
        Some(OpenAsk::Question(call.call, Question::parse(&call.arguments).ok()?))
    });
    Ok(approvals.chain(questions).collect())
}
