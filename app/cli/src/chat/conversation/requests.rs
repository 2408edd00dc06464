//! Requests of a conversation: commands to its session, and what it shows on request.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_engine::core::{InputId, Seq, TurnId};
use windlass_engine::ports::codec;
use windlass_terminal::Line;

use super::{Conversation, Message, Outcome, SessionInfo, Update};
use crate::attach::{RemoteServer, RemoteSession, RequestFailure};
use crate::chat::{calls, pages};
use crate::exit::Failure;
use crate::present::{TurnNumbers, numbered_story};

/// Page of sessions.
#[derive(Deserialize)]
struct SessionPage {
    sessions: Vec<SessionInfo>,
}

impl Conversation {
    /// Asks the running turn to stop.
    pub(in crate::chat) fn interrupt(&self) {
        let body = json!({"when": "now", "reason": "interrupted at the terminal"});
        self.command("interrupt", "POST", "/interrupt".to_owned(), Some(body));
    }

    /// Resumes inputs that wait after an interrupt.
    pub(in crate::chat) fn continue_waiting(&self) {
        self.command("continue", "POST", "/continue".to_owned(), None);
    }

    /// Compacts the conversation.
    pub(in crate::chat) fn compact(&self, focus: Option<&str>) {
        let body = focus.map(|focus| json!({"focus": focus}));
        self.command("compact", "POST", "/compact".to_owned(), body);
    }

    /// Changes settings of the session, or its title.
    pub(in crate::chat) fn change(&self, body: Value) {
        self.in_order(async move |session| {
            let changed: Result<SessionInfo, _> = session.post("PATCH", "", Some(&body)).await;
            changed.map(Outcome::Info).map_err(|failure| failure.of("change the session"))
        });
    }

    /// Withdraws a waiting input. Then its message, if it is given, goes back to the editor.
    pub(in crate::chat) fn withdraw(&self, input: InputId, message: Option<Message>) {
        self.in_order(async move |session| {
            let done = session.command("DELETE", &format!("/inputs/{input}"), None).await;
            done.map_err(|failure| failure.of("withdraw the message"))?;
            Ok(Outcome::Update(message.map_or(Update::Changed, Update::Edit)))
        });
    }

    /// Requests the sessions to choose from, newest first.
    pub(in crate::chat) fn list_sessions(&self) {
        let server = self.server.clone();
        self.spawn(async move {
            let sessions = newest_sessions(&server).await?;
            Ok(Outcome::Update(Update::Sessions(sessions)))
        });
    }

    /// Finds a session by its id, the beginning of its id, or `last`.
    ///
    /// # Errors
    /// When none or several are meant, or the server does not answer.
    pub(in crate::chat) async fn find(&self, wanted: &str) -> Result<SessionInfo, Failure> {
        let id = self.server.find(wanted).await?;
        let described = self.server.session(id).get("").await;
        described.map_err(RequestFailure::into_failure)
    }

    /// Requests the models that the session may have.
    pub(in crate::chat) fn fetch_models(&self) {
        let (server, theme) = (self.server.clone(), self.theme);
        self.spawn(async move {
            let answer: Value = server.get("/v1/models").await?;
            Ok(Outcome::Update(Update::Lines(pages::models(&answer, &theme))))
        });
    }

    /// Requests what fills the model's window.
    pub(in crate::chat) fn fetch_context(&self) {
        let theme = self.theme;
        self.fetch("GET", "/context", move |answer| Update::Lines(pages::context(&answer, &theme)));
    }

    /// Requests the tokens and the cost of the session.
    pub(in crate::chat) fn fetch_usage(&self) {
        let theme = self.theme;
        self.fetch("GET", "", move |answer| Update::Lines(pages::usage(&answer, &theme)));
    }

    /// Requests what the session changed in files.
    pub(in crate::chat) fn fetch_diff(&self) {
        let theme = self.theme;
        self.fetch("GET", "/diff", move |answer| {
            Update::Lines(calls::diff_lines_of(&pages::diffs(&answer), &theme))
        });
    }

    /// Restores the files that a turn changed.
    pub(in crate::chat) fn undo(&self, turn: TurnId) {
        let theme = self.theme;
        self.fetch("POST", &format!("/turns/{turn}/undo"), move |answer| {
            Update::Lines(pages::undone(&answer, &theme))
        });
    }

    /// Returns the whole conversation, with the model's reasoning and whole outputs, a paragraph for each
    /// fact.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(in crate::chat) async fn whole_transcript(&self) -> Result<String, RequestFailure> {
        let Some(session) = self.session.clone() else {
            return Ok("nothing was said yet\n".to_owned());
        };
        let (mut text, mut turns) = (String::new(), TurnNumbers::default());
        for_each_fact(&session, |fact| {
            let fact = codec::decode(fact.as_bytes()).ok();
            fact.iter().for_each(|fact| turns.apply(fact));
            if let Some(words) = fact.and_then(|fact| numbered_story(&fact, &turns)) {
                text.push_str(&words);
                text.push_str("\n\n");
            }
            Ok(())
        })
        .await?
        .map_err(|never: Infallible| match never {})?;
        Ok(text)
    }

    /// Writes the log of the session to a file that does not exist yet, one envelope a line.
    pub(in crate::chat) fn export(&self, file: PathBuf) {
        let theme = self.theme;
        self.on_session(async move |session| {
            let words = match export(&session, &file).await? {
                Ok(facts) => format!("{facts} facts were written to {}", file.display()),
                Err(error) => format!("cannot write {}: {error}", file.display()),
            };
            Ok(Outcome::Update(Update::Lines(vec![Line::styled(words, theme.dim)])))
        });
    }

    /// Forks the session at a position, and continues the new one. Then the message is edited.
    pub(in crate::chat) fn fork(&self, at: Seq, message: Option<Message>) {
        self.in_order(async move |session| {
            let body = json!({ "at": at });
            let forked: SessionInfo = session.post("POST", "/forks", Some(&body)).await?;
            Ok(Outcome::Forked(forked, message))
        });
    }

    fn fetch(
        &self,
        method: &'static str,
        path: &str,
        show: impl FnOnce(Value) -> Update + Send + 'static,
    ) {
        let path = path.to_owned();
        self.on_session(async move |session| {
            let answer: Value = session.post(method, &path, None).await?;
            Ok(Outcome::Update(show(answer)))
        });
    }

    fn command(&self, what: &str, method: &'static str, path: String, body: Option<Value>) {
        let what = what.to_owned();
        self.in_order(async move |session| {
            let done = session.command(method, &path, body.as_ref()).await;
            done.map_err(|failure| failure.of(&what))?;
            Ok(Outcome::Update(Update::Changed))
        });
    }
}

/// Lists the sessions of the server that changed last, newest first.
async fn newest_sessions(server: &RemoteServer) -> Result<Vec<SessionInfo>, RequestFailure> {
    let page: SessionPage = server.get("/v1/sessions?order=changed&limit=100").await?;
    Ok(page.sessions)
}

/// Calls `take` with each fact of a session, as `windlass export` writes it, until it fails. Returns the
/// number of facts.
async fn for_each_fact<E>(
    session: &RemoteSession,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<Result<u64, E>, RequestFailure> {
    #[derive(Deserialize)]
    struct Page {
        facts: Vec<Box<RawValue>>,
        next: Option<u64>,
    }
    let (mut path, mut count) = ("/history".to_owned(), 0_u64);
    loop {
        let page: Page = session.get(&path).await?;
        for fact in &page.facts {
            if let Err(error) = take(fact.get()) {
                return Ok(Err(error));
            }
            count = count.saturating_add(1);
        }
        match page.next {
            Some(next) => path = format!("/history?after={next}"),
            None => return Ok(Ok(count)),
        }
    }
}

/// Writes the whole log of a session to a new file. Returns the number of facts.
async fn export(
    session: &RemoteSession,
    file: &Path,
) -> Result<std::io::Result<u64>, RequestFailure> {
    let mut out = match std::fs::File::create_new(file) {
        Ok(out) => std::io::BufWriter::new(out),
        Err(error) => return Ok(Err(error)),
    };
    let written = for_each_fact(session, |fact| writeln!(out, "{fact}")).await?;
    Ok(written.and_then(|count| out.flush().map(|()| count)))
}
