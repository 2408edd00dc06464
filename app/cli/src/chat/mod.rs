//! Chat: a conversation with a model at a terminal.
//!
//! The terminal is a client of a server, which runs in this process or elsewhere. What both forms of
//! the terminal do alike is here; each form reads and draws in its own way.

mod asks;
mod calls;
mod commands;
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

use crate::args::{Args, ChatArgs};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_notice};
use crate::wiring::{self, Adapters, TrustAsker};
use asks::Choice;
use connect::Connection;
use conversation::{Conversation, Message, OpenAsk, SendAs, SessionInfo, Update};
use own_commands::OwnCommands;
use slash::Slash;

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
    /// Arguments that name the provider and the model, for a check of them.
    provider: Vec<String>,
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
    /// True if a person types the lines; false for a pipe, whose text others may have written.
    typed: bool,
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
    /// A message that goes back to the editor.
    Edit(Message),
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
            chat.typed = typed;
            chat.conversation.announce_calls();
            chat.begin(&args).await?;
            let ended = plain::PlainTerminal::new(chat, adapters).run().await;
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
            provider: provider_words(args),
            own: own.is_some(),
            copy: None,
            copies: false,
            own_commands: OwnCommands::load(prompts.as_deref(), folder.as_deref()),
            later: VecDeque::new(),
            typed: true,
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
            let found = self.conversation.find(wanted).await?;
            self.conversation.join(found);
        }
        if let Some(text) = &args.prompt {
            self.send(Message { text: text.clone(), images: Vec::new() }, SendAs::Queue);
        }
        Ok(())
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
            Update::Settled { outcome, past } => {
                if outcome == TurnOutcome::Completed {
                    self.copy = self.conversation.transcript().last_answer();
                }
                if past {
                    return Handled::Nothing;
                }
                self.sending = false;
                self.exit = ExitKind::of(&outcome);
                Handled::Settled
            }
            Update::Dropped { blocked } => {
                self.sending = false;
                if blocked {
                    self.exit = ExitKind::Blocked;
                }
                Handled::Nothing
            }
            Update::Failed { words, message } => {
                self.sending &= message.is_none();
                if message.is_some() {
                    self.exit = ExitKind::Failed;
                }
                Handled::Failed { words, message }
            }
            Update::Sessions(sessions) => Handled::Sessions(sessions),
            Update::Edit(message) => Handled::Edit(message),
            Update::Reconnecting(why) => Handled::Lines(vec![Line::styled(
                format!("! {why}; reconnecting"),
                self.theme.warning,
            )]),
        }
    }

    /// Acts upon a line of the person: a command, a message, or with `!` a command line to run. While a
    /// turn runs, a queued command waits for its end.
    async fn enter(&mut self, message: Message, how: SendAs) -> Result<Vec<Line>, Failure> {
        let mut message = message;
        if self.typed && message.images.is_empty() && is_command(&message.text) {
            self.send(message, SendAs::Command);
            return Ok(Vec::new());
        }
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

    /// Runs the command that was planned, if there is one. It writes to the terminal itself.
    async fn run_planned(&mut self, adapters: &Adapters) {
        let Some(words) = self.command.take() else {
            return;
        };
        match Args::parse_words(words, adapters) {
            Ok(args) => {
                if let Err(failure) = Box::pin(crate::command::run(args, adapters)).await {
                    print_error(&failure.message);
                }
            }
            Err(error) => print_notice(&error.to_string()),
        }
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

/// Returns true for a line that the person has run: `!` and a command.
fn is_command(text: &str) -> bool {
    text.strip_prefix('!').is_some_and(|command| !command.trim().is_empty())
}

/// Returns the flags that name the provider of a conversation.
fn provider_words(args: &ChatArgs) -> Vec<String> {
    let shape = &args.shape;
    let flags = [
        ("--provider", &shape.provider),
        ("--model", &shape.model),
        ("--base-url", &shape.base_url),
    ];
    let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value.clone()?)));
    given.flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}

/// Returns a line for each session, newest first.
fn sessions_lines(sessions: &[SessionInfo], theme: &Theme) -> Vec<Line> {
    let rows = sessions.iter().map(|info| Line::plain(pages::session_row(info)));
    let head = Line::styled("Sessions, newest first; /resume ID continues one:", theme.heading);
    [head].into_iter().chain(rows.take(30)).collect()
}
