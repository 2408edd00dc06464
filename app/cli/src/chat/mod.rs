//! Chat: a conversation with a model at a terminal.
//!
//! The terminal is a client of a server, which runs in this process or elsewhere. What both forms of
//! the terminal do alike is here; each form reads and draws in its own way.

mod asks;
mod calls;
mod connect;
mod conversation;
mod live;
mod own_commands;
mod pages;
mod plain;
mod slash;
mod transcript;

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};

use serde_json::json;
use windlass_engine::core::{SessionId, TurnOutcome};
use windlass_terminal::{Line, Theme};

use crate::args::ChatArgs;
use crate::attach::RequestFailure;
use crate::exit::{ExitKind, Failure};
use crate::present::print_notice;
use crate::wiring::{self, Adapters, TrustAsker};
use asks::Choice;
use connect::Connection;
use conversation::{Conversation, Message, OpenAsk, SendAs, SessionInfo, Update};
use own_commands::OwnCommands;
use slash::{QueueChange, Slash};

/// Conversation with what its commands need.
struct Chat {
    conversation: Conversation,
    theme: Theme,
    /// True between a message and the turn that it opens.
    sending: bool,
    /// True once the person asked to leave.
    left: bool,
    /// Exit code of the last turn.
    exit: ExitKind,
    /// Command line of another command to run, with the terminal handed over.
    command: Option<Vec<String>>,
    /// Arguments that name the workspace and the store, for other commands.
    place: Vec<String>,
    /// True if the server is in this process.
    own: bool,
    /// Text of the last answer, for `/copy`.
    copy: Option<String>,
    /// True to copy it.
    copies: bool,
    /// Prompts and skills that the person names as commands.
    own_commands: OwnCommands,
    /// Commands that run once the turn has ended.
    later: VecDeque<Slash>,
    /// Message that goes back to the editor.
    edit: Option<Message>,
    /// Theme that was asked for.
    retheme: Option<String>,
}

/// Update as a form of the terminal shows it.
enum Handled {
    Lines(Vec<Line>),
    Settled,
    Failed {
        words: String,
        message: Option<Message>,
    },
    Sessions(Vec<SessionInfo>),
    /// A fork is followed. The message of its point goes to the editor.
    Forked(Option<Message>),
    Nothing,
}

/// Runs `windlass chat`.
pub(crate) async fn chat(mut args: ChatArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    args.shape = args.shape.for_session(None);
    if args.shape.json {
        let words =
            "a conversation prints no envelopes: leave --json out, or use windlass run --json";
        return Err(Failure::usage(words));
    }
    let typed = io::stdin().is_terminal();
    let live = typed && io::stdout().is_terminal() && !args.plain && !is_simple_terminal();
    if typed && args.server.is_none() {
        // Asked before anything is drawn, as `run` does.
        let workspace = adapters.workspace(&args.place)?.workspace;
        wiring::instructions(&workspace, TrustAsker::of_process(), !args.no_agents).await?;
    }
    match live {
        true => Box::pin(live::run(&args, adapters)).await,
        false => {
            let theme = Theme::plain();
            let Connection { server, own } = connect::connect(&args, adapters).await?;
            let mut chat = Chat::new(&args, server, own.as_ref(), theme, 80);
            chat.conversation.announce_calls();
            chat.begin(&args).await?;
            let ended = plain::PlainTerminal::new(chat, typed).run().await;
            if let Some(own) = own {
                own.leave().await;
            }
            let (exit, chat) = ended?;
            chat.say_how_to_continue();
            Ok(exit)
        }
    }
}

/// Returns true for terminals that people asked to be left alone.
fn is_simple_terminal() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    let set = |name: &str| std::env::var(name).is_ok_and(|set| !set.is_empty() && set != "0");
    is("TERM", "dumb") || set("ACCESSIBLE")
}

impl Chat {
    fn new(
        args: &ChatArgs,
        server: crate::attach::RemoteServer,
        own: Option<&connect::OwnConnection>,
        theme: Theme,
        columns: u16,
    ) -> Self {
        let workspace = own.map(|own| own.workspace.clone());
        let mut place = Vec::new();
        if let Some(folder) = &args.place.workspace {
            place.extend(["--workspace".to_owned(), folder.display().to_string()]);
        }
        let (folder, prompts) = (workspace.clone(), wiring::configured("prompts"));
        let mut conversation = Conversation::new(server, workspace, theme, columns);
        if let Some(permissions) = args.shape.permissions {
            conversation.set_option("permissions", json!(permissions));
        }
        if let Some(mode) = args.shape.mode {
            conversation.set_option("mode", json!(mode));
        }
        Self {
            conversation,
            theme,
            sending: false,
            left: false,
            exit: ExitKind::Completed,
            command: None,
            place,
            own: own.is_some(),
            copy: None,
            copies: false,
            own_commands: OwnCommands::load(prompts.as_deref(), folder.as_deref()),
            later: VecDeque::new(),
            edit: None,
            retheme: None,
        }
    }

    /// Continues the session that the arguments name, and sends their message.
    async fn begin(&mut self, args: &ChatArgs) -> Result<(), Failure> {
        let wanted = match (&args.resume, args.continues) {
            (Some(id), _) => Some(id.as_str()),
            (None, true) => Some("last"),
            (None, false) => None,
        };
        if let Some(wanted) = wanted {
            let found = self.find(wanted).await?;
            self.conversation.join(found);
        }
        if let Some(text) = &args.prompt {
            self.send(Message { text: text.clone(), images: Vec::new() }, SendAs::Queue);
        }
        Ok(())
    }

    /// Finds a session by its id, the beginning of its id, or `last`.
    async fn find(&self, wanted: &str) -> Result<SessionInfo, Failure> {
        let found = match wanted {
            "last" => {
                self.conversation.sessions().await.map(|all| all.into_iter().take(1).collect())
            }
            id => self.conversation.named(id).await,
        };
        let mut found = found.map_err(RequestFailure::into_failure)?.into_iter();
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(one), Some(two)) => Err(Failure::usage(format!(
                "{wanted:?} names several sessions, for example {} and {}: give more of the id",
                one.id, two.id
            ))),
            (None, _) => Err(Failure::usage(format!(
                "there is no session {wanted:?} here: windlass sessions lists them"
            ))),
        }
    }

    fn send(&mut self, message: Message, how: SendAs) {
        self.sending = true;
        self.conversation.send(message, how);
    }

    /// Answers an open question.
    ///
    /// # Errors
    /// A description of words that are no answer.
    fn answer(&mut self, ask: OpenAsk, choice: &Choice, words: &str) -> Result<(), String> {
        match ask {
            OpenAsk::Approval(open) => {
                if let Some(answer) = asks::decision(choice, words)? {
                    self.conversation.answer(*open, answer);
                }
            }
            OpenAsk::Question(call, _) => {
                let answer = if let Choice::Answer(answer) = choice {
                    answer.clone()
                } else {
                    words.trim().to_owned()
                };
                if answer.is_empty() {
                    return Err("an answer has at least one character".to_owned());
                }
                self.conversation.reply(call, answer);
            }
        }
        Ok(())
    }

    fn update(&mut self, update: Update) -> Handled {
        match update {
            Update::Lines(lines) => {
                self.sending &= !self.conversation.transcript().is_busy();
                Handled::Lines(lines)
            }
            Update::Changed | Update::Titled(_) => {
                self.sending &= !self.conversation.transcript().is_busy();
                Handled::Nothing
            }
            Update::Settled(outcome) => {
                self.sending = false;
                self.exit = ExitKind::of(&outcome);
                if outcome == TurnOutcome::Completed {
                    self.copy = self.conversation.transcript().last_answer();
                }
                Handled::Settled
            }
            Update::Failed { words, message } => {
                self.sending = false;
                Handled::Failed { words, message }
            }
            Update::Sessions(sessions) => Handled::Sessions(sessions),
            Update::Forked(message) => Handled::Forked(message),
            Update::Reconnecting(why) => Handled::Lines(vec![Line::styled(
                format!("! {why}; reconnecting"),
                self.theme.warning,
            )]),
        }
    }

    /// Acts upon a line of the person: a command, or a message. While a turn runs, a queued command
    /// waits for its end.
    async fn enter(&mut self, message: Message, how: SendAs) -> Result<Vec<Line>, Failure> {
        let mut message = message;
        if message.images.is_empty() && !message.text.contains('\n') {
            let line = message.text.trim_end();
            match self.own_commands.expand(line) {
                Some(text) => message.text = text,
                None => {
                    let command = slash::parse(line);
                    let waits = how == SendAs::Queue && self.conversation.transcript().is_busy();
                    if command != Slash::Message && waits {
                        let words = format!("{line} waits for the end of the turn");
                        self.later.push_back(command);
                        return Ok(vec![Line::styled(words, self.theme.dim)]);
                    }
                    if command != Slash::Message {
                        return self.slash(command).await;
                    }
                }
            }
        }
        self.send(message, how);
        Ok(Vec::new())
    }

    /// Runs the next command that waits, once no turn is open.
    async fn run_later(&mut self) -> Result<Vec<Line>, Failure> {
        if self.conversation.transcript().is_busy() || self.sending {
            return Ok(Vec::new());
        }
        match self.later.pop_front() {
            Some(command) => self.slash(command).await,
            None => Ok(Vec::new()),
        }
    }

    async fn slash(&mut self, command: Slash) -> Result<Vec<Line>, Failure> {
        let say = |words: &str, theme: &Theme| vec![Line::styled(words, theme.dim).wrapped(2)];
        if self.conversation.session().is_none() && needs_session(&command) {
            return Ok(say("there is no session yet: send a message first", &self.theme));
        }
        match command {
            Slash::Help => return Ok(pages::help(&self.theme)),
            Slash::Invalid(words) => return Ok(vec![Line::styled(words, self.theme.warning)]),
            Slash::Message => {}
            Slash::Model { name: None, .. } => self.conversation.fetch_models(),
            Slash::Model { name: Some(name), effort } => {
                let mut body = json!({ "model": name });
                if let (Some(effort), Some(fields)) = (effort, body.as_object_mut()) {
                    fields.insert("effort".to_owned(), effort.into());
                }
                self.conversation.change(body);
                return Ok(say("the next turn uses it", &self.theme));
            }
            Slash::Permissions(Some(wanted)) => {
                self.conversation.change(json!({"permissions": wanted.replace('-', "_")}));
            }
            Slash::Permissions(None) | Slash::Status => {
                return Ok(pages::status(self.conversation.info(), self.own, &self.theme));
            }
            Slash::Plan => {
                let planning = self.conversation.info().and_then(|info| info.mode.as_deref());
                let next = if planning == Some("plan") { "build" } else { "plan" };
                self.conversation.change(json!({ "mode": next }));
            }
            Slash::Compact(focus) => self.conversation.compact(focus.as_deref()),
            Slash::Context => self.conversation.fetch_context(),
            Slash::Cost => self.conversation.fetch_usage(),
            Slash::New => {
                self.conversation.clear();
                return Ok(say("a new conversation; /resume goes back to another", &self.theme));
            }
            Slash::Resume(None) => self.conversation.list_sessions(),
            Slash::Resume(Some(wanted)) => match self.find(&wanted).await {
                Ok(found) => self.conversation.join(found),
                Err(failure) => return Ok(say(&failure.message, &self.theme)),
            },
            Slash::Fork => {
                let rest = self.conversation.transcript().rest();
                self.conversation.fork(rest, None);
            }
            Slash::Rename(title) => {
                self.conversation.change(json!({ "title": title }));
            }
            Slash::Diff => self.conversation.fetch_diff(),
            Slash::Undo => return Ok(self.undo()),
            Slash::Queue(change) => return Ok(self.queue(change)),
            Slash::Continue => self.conversation.continue_waiting(),
            Slash::Agents => {
                return Ok(pages::agents(self.conversation.transcript().settings(), &self.theme));
            }
            Slash::Hooks => {
                return Ok(pages::hooks(self.conversation.transcript().settings(), &self.theme));
            }
            Slash::Mcp => self.run_command(&["mcp", "list"]),
            Slash::Skills => self.run_command(&["skills"]),
            Slash::Doctor => self.run_command(&["doctor"]),
            Slash::Copy => self.copies = true,
            Slash::Export(file) => self.conversation.export(file.into()),
            Slash::Theme(name) => self.retheme = Some(name.unwrap_or_else(|| "auto".to_owned())),
            Slash::Quit => self.left = true,
        }
        Ok(Vec::new())
    }

    /// Switches from asking to not asking, to planning, and back. Returns the words for it.
    fn cycle_mode(&mut self) -> String {
        let info = self.conversation.info();
        let planning = info.and_then(|info| info.mode.as_deref()) == Some("plan");
        let auto = info.and_then(|info| info.permissions.as_deref()) == Some("auto");
        let (mode, permissions, words) = match (planning, auto) {
            (true, _) => {
                ("build", "ask", "asking: a person decides about calls that change something")
            }
            (false, false) => ("build", "auto", "auto: calls run without questions"),
            (false, true) => ("plan", "ask", "planning: nothing is changed"),
        };
        if info.is_some() {
            self.conversation.change(json!({ "mode": mode, "permissions": permissions }));
        } else {
            self.conversation.set_option("mode", mode);
            self.conversation.set_option("permissions", permissions);
        }
        words.to_owned()
    }

    /// Undoes the last turn.
    fn undo(&mut self) -> Vec<Line> {
        match self.conversation.transcript().last_turn() {
            Some(turn) => {
                self.conversation.undo(turn);
                Vec::new()
            }
            None => vec![Line::styled("no turn of this session was seen here", self.theme.dim)],
        }
    }

    fn queue(&mut self, change: QueueChange) -> Vec<Line> {
        let queue = self.conversation.queue();
        let chosen = match change {
            QueueChange::Show => return pages::queue(queue, &self.theme),
            QueueChange::Edit(number) | QueueChange::Drop(number) => {
                number.checked_sub(1).and_then(|at| queue.get(at)).cloned()
            }
        };
        let Some(chosen) = chosen else {
            return vec![Line::styled("no message with this number waits", self.theme.dim)];
        };
        self.conversation.withdraw(chosen.id);
        if let QueueChange::Edit(_) = change {
            self.edit = Some(Message { text: chosen.text, images: Vec::new() });
        }
        Vec::new()
    }

    /// Plans another command of the program; the terminal runs it once it has made room.
    fn run_command(&mut self, words: &[&str]) {
        let words = words.iter().map(|word| (*word).to_owned());
        self.command = Some(
            ["windlass".to_owned()].into_iter().chain(words).chain(self.place.clone()).collect(),
        );
    }

    fn say_how_to_continue(&self) {
        if let Some(id) = self.conversation.session() {
            print_notice(&format!("  to continue: {}", self.continuation(id)));
        }
    }

    fn continuation(&self, id: &SessionId) -> String {
        format!("windlass chat --resume {id}")
    }
}

/// Returns true for commands about a session.
fn needs_session(command: &Slash) -> bool {
    match command {
        Slash::Model { .. }
        | Slash::Permissions(Some(_))
        | Slash::Plan
        | Slash::Compact(_)
        | Slash::Context
        | Slash::Cost
        | Slash::Fork
        | Slash::Rename(_)
        | Slash::Diff
        | Slash::Undo
        | Slash::Continue
        | Slash::Agents
        | Slash::Hooks
        | Slash::Export(_) => true,
        Slash::Help
        | Slash::Permissions(None)
        | Slash::New
        | Slash::Resume(_)
        | Slash::Queue(_)
        | Slash::Mcp
        | Slash::Skills
        | Slash::Status
        | Slash::Copy
        | Slash::Doctor
        | Slash::Theme(_)
        | Slash::Quit
        | Slash::Message
        | Slash::Invalid(_) => false,
    }
}

/// Returns a line for each session, newest first.
fn sessions_lines(sessions: &[SessionInfo], theme: &Theme) -> Vec<Line> {
    let rows = sessions.iter().map(|info| Line::plain(pages::session_row(info)));
    let head = Line::styled("Sessions, newest first; /resume ID continues one:", theme.heading);
    [head].into_iter().chain(rows.take(30)).collect()
}
