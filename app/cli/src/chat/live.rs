//! Live conversation: finished lines go to the scrollback, and a small area below them is redrawn.

mod area;
mod clipboard;
mod dialog;
mod external;
mod hand_over;
mod look;
mod status;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::sleep_until;
use windlass_terminal::{
    Action, CommandHint, Composer, ComposerOptions, Device, Draft, Files, History, Input, Key,
    Line, Screen, Size, Theme, background_variable, colors,
};

use super::calls::one_line;
use super::connect::{self, Connection};
use super::conversation::{Message, SendAs, Update};
use super::slash::COMMANDS;
use super::{Chat, Handled};
use crate::args::ChatArgs;
use crate::attach::RequestFailure;
use crate::config::TerminalConfig;
use crate::exit::{ExitKind, Failure};
use crate::present::{hold_notices, take_notices, visible};
use crate::wiring::{self, Adapters};
use dialog::{Chosen, Dialog};
use external::TemporaryFile;
use look::theme;
use status::StatusLine;

/// Time between two drawings of a turn that runs, for its clock.
const TICK: Duration = Duration::from_millis(250);
/// Wait after which the end of a turn is announced to a person who may look elsewhere.
const NOTIFY_AFTER: Duration = Duration::from_secs(10);
/// Time in which a key still belongs to the message that was being typed when a question appeared.
const GUARD: Duration = Duration::from_millis(500);

/// Terminal with a live area.
struct LiveTerminal<'a> {
    device: Device,
    screen: Screen,
    size: Size,
    composer: Composer,
    /// Told when the list of files has changed.
    listed: Arc<Notify>,
    /// Background of the terminal, as far as it is known.
    background: Option<(u8, u8, u8)>,
    dialog: Option<Dialog>,
    status: StatusLine,
    /// Look and keys by the configuration.
    look: TerminalConfig,
    theme: Theme,
    adapters: &'a Adapters,
    /// Words above the status line, until the next key.
    hint: Option<String>,
    /// Messages that were typed before the server was there.
    early: Vec<(Message, SendAs)>,
    /// Files of images from the clipboard, until the person leaves.
    pasted: Vec<TemporaryFile>,
    /// Last key, which decides whether somebody looks.
    touched: Instant,
    /// Interrupts from outside: raw mode sends none for Ctrl+C.
    interrupts: Option<UnixSignal>,
    /// True while keys may belong to the message that was being typed when a question appeared.
    guard: bool,
    changed: bool,
}

/// Talks until the person leaves.
pub(super) async fn run(args: &ChatArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let mut terminal = LiveTerminal::open(adapters, args)?;
    terminal.greet(args);
    let connected = terminal.connect(args).await;
    let Some(Connection { server, own }) = connected? else {
        return Ok(ExitKind::Completed);
    };
    windlass_terminal::prepare_highlighting();
    let columns = terminal.size.columns;
    let mut chat = Chat::new(args, server, own.as_ref(), terminal.theme, columns);
    let ended = match chat.begin(args).await {
        Ok(()) => terminal.talk(&mut chat).await,
        Err(failure) => Err(failure),
    };
    terminal.screen.commit(chat.conversation.take_answer());
    let closed = terminal.release();
    drop(terminal);
    if let Some(own) = own {
        own.leave().await;
    }
    let exit = ended?;
    closed?;
    chat.say_how_to_continue();
    Ok(exit)
}

impl<'a> LiveTerminal<'a> {
    fn open(adapters: &'a Adapters, args: &ChatArgs) -> Result<Self, Failure> {
        let look = args.terminal.clone();
        let device = Device::new().map_err(|error| unusable(&error))?;
        let (columns, rows) = device.size().map_err(|error| unusable(&error))?;
        let size = Size { columns, rows };
        let variable = |name: &str| std::env::var(name).ok();
        let support = colors(variable, true);
        let background = variable("COLORFGBG").and_then(|value| background_variable(&value));
        let theme = theme(look.theme, background);
        hold_notices();
        let tmux = variable("TMUX").is_some();
        // A variable of xterm alone, which tmux passes on from where it was started.
        let truncates = !tmux && variable("XTERM_VERSION").is_some();
        let screen = Screen::new(size, support).within_tmux(tmux).with_truncation(truncates);
        let (history, fault) = match history_path() {
            Some(path) => History::open(path),
            None => (History::memory(), None),
        };
        let folder = args.place.workspace.clone().or_else(|| std::env::current_dir().ok());
        let folder = folder.unwrap_or_default();
        let listed = Arc::new(Notify::new());
        let tell = listed.clone();
        let composer = Composer::new(ComposerOptions {
            vim: look.vim,
            commands: command_hints(),
            history,
            files: Box::new(Files::new(folder, move || tell.notify_one())),
        });
        Ok(Self {
            device,
            screen,
            size,
            composer,
            listed,
            background,
            dialog: None,
            status: StatusLine::new(look.status.clone(), None, None, None),
            look,
            theme,
            adapters,
            hint: fault.map(|error| format!("earlier messages cannot be read: {error}")),
            early: Vec::new(),
            pasted: Vec::new(),
            touched: Instant::now(),
            interrupts: None,
            guard: false,
            changed: true,
        })
    }

    fn greet(&mut self, args: &ChatArgs) {
        let theme = &self.theme;
        let folder = args.place.workspace.clone().or_else(|| std::env::current_dir().ok());
        let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
        let head = Line::styled("windlass ", theme.heading)
            .with(env!("CARGO_PKG_VERSION"), theme.dim)
            .with(format!("  {}", one_line(&folder)), theme.dim);
        let help = Line::styled("/help lists commands and keys", theme.dim);
        self.screen.commit([head, help, Line::default()]);
    }

    /// Connects while the person types already; `None` if they leave before.
    async fn connect(&mut self, args: &ChatArgs) -> Result<Option<Connection>, Failure> {
        let adapters = self.adapters;
        let mut connecting = pin!(connect::connect(args, adapters));
        self.draw(None)?;
        self.ask_background().await?;
        loop {
            self.draw(None)?;
            let due = self.screen.due();
            tokio::select! {
                connection = &mut connecting => {
                    let connection = connection?;
                    let own = connection.own.as_ref();
                    self.status = StatusLine::new(
                        self.look.status.clone(),
                        own.map(|own| own.workspace.clone()),
                        own.map(|own| format!("sandbox {}", own.sandbox)),
                        args.shape.model.clone(),
                    );
                    return Ok(Some(connection));
                }
                input = self.device.next() => match input.map_err(|error| unusable(&error))? {
                    None => return Ok(None),
                    Some(Input::Resize { columns, rows }) => self.resize(columns, rows),
                    Some(input) => match self.composer.input(&self.meant(input), Instant::now(), false) {
                        Action::Submit(draft) | Action::Queue(draft) => {
                            self.early.push((message(draft), SendAs::Queue));
                        }
                        Action::Exit => return Ok(None),
                        Action::PasteImage => self.paste_image().await,
                        Action::None
                        | Action::Redraw
                        | Action::Escape
                        | Action::EscapeTwice
                        | Action::Interrupt
                        | Action::CycleMode
                        | Action::Editor
                        | Action::Transcript
                        | Action::Suspend => {}
                    },
                },
                () = until(due) => {}
                () = self.listed.notified() => {
                    self.composer.refresh();
                }
            }
            self.changed = true;
        }
    }

    /// Talks until the person leaves, or a signal arrives.
    async fn talk(&mut self, chat: &mut Chat) -> Result<ExitKind, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(ExitKind::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        let mut terminate = listen(SignalKind::terminate())?;
        self.interrupts = Some(listen(SignalKind::interrupt())?);
        let mut hang_up = listen(SignalKind::hangup())?;
        for (message, how) in std::mem::take(&mut self.early) {
            let lines = chat.enter(message, how).await?;
            self.screen.commit(lines);
        }
        let own = chat.own_commands.hints().map(|(name, about)| CommandHint {
            name: name.to_owned(),
            about,
            takes: Some("[WORDS]".to_owned()),
        });
        self.composer.set_commands(command_hints().into_iter().chain(own).collect());
        self.changed = true;
        loop {
            let lines = chat.run_later().await?;
            self.screen.commit(lines);
            self.follow_asks(chat);
            self.draw(Some(chat))?;
            let due = self.screen.due();
            let tick = chat.conversation.transcript().is_busy().then(|| Instant::now() + TICK);
            tokio::select! {
                input = self.device.next() => match input.map_err(|error| unusable(&error))? {
                    None => return Ok(chat.exit),
                    Some(input) => self.input(self.meant(input), chat).await?,
                },
                updates = chat.conversation.next() => {
                    let updates = updates.map_err(RequestFailure::into_failure)?;
                    for update in updates {
                        self.update(update, chat);
                    }
                }
                () = until(due) => {}
                () = until(tick) => self.changed = true,
                () = self.listed.notified() => self.changed |= self.composer.refresh(),
                () = interrupted(&mut self.interrupts) => {
                    if !chat.conversation.transcript().is_busy() {
                        return Ok(ExitKind::Interrupted);
                    }
                    chat.conversation.interrupt();
                }
                _ = terminate.recv() => return Ok(ExitKind::Terminated),
                _ = hang_up.recv() => return Ok(ExitKind::Terminated),
            }
            if std::mem::take(&mut chat.copies) {
                self.copy(chat);
            }
            if let Some(name) = chat.retheme.take() {
                self.set_theme(&name, chat);
            }
            if chat.command.is_some() {
                self.run_command(chat).await?;
            }
            if chat.left {
                return Ok(ExitKind::Completed);
            }
        }
    }

    fn update(&mut self, update: Update, chat: &mut Chat) {
        self.changed = true;
        if let Update::Titled(title) = &update {
            self.screen.set_title(title);
        }
        match chat.update(update) {
            Handled::Lines(lines) => self.screen.commit(lines),
            Handled::Settled => self.notify("the turn has ended"),
            Handled::Failed { words, message } => {
                let line = Line::styled(format!("! {}", visible(&words)), self.theme.error);
                self.screen.commit([line.wrapped(2)]);
                if let Some(message) = message {
                    self.edit_again(&message);
                }
            }
            Handled::Sessions(sessions) => {
                self.dialog = Some(Dialog::sessions(sessions, Instant::now()));
            }
            Handled::Edit(message) => self.edit_again(&message),
            Handled::Nothing => {}
        }
    }

    /// Notifies a person who has not touched a key for a while.
    fn notify(&mut self, words: &str) {
        if self.look.notify && self.touched.elapsed() >= NOTIFY_AFTER {
            self.screen.notify(&format!("windlass: {words}"));
        }
    }

    /// Opens the dialog of a question that appeared, and closes that of one that was answered.
    fn follow_asks(&mut self, chat: &Chat) {
        let open = chat.conversation.ask();
        let asked = self.dialog.as_ref().and_then(Dialog::asked);
        match (open, asked) {
            (Some(ask), Some(asked)) if ask.is_same(asked) => {}
            (Some(ask), _) if asked.is_some() || self.dialog.is_none() => {
                self.dialog = Some(Dialog::ask(ask.clone(), Instant::now()));
                (self.guard, self.changed) = (true, true);
                self.notify("a question waits for you");
            }
            (None, Some(_)) => {
                self.dialog = None;
                self.changed = true;
            }
            (Some(_) | None, _) => {}
        }
    }

    async fn input(&mut self, input: Input, chat: &mut Chat) -> Result<(), Failure> {
        if let Input::Resize { columns, rows } = input {
            self.resize(columns, rows);
            chat.conversation.resize(columns);
            return Ok(());
        }
        let now = Instant::now();
        self.changed = true;
        self.hint = None;
        self.guard &= self
            .dialog
            .as_ref()
            .is_some_and(|dialog| now < dialog.since + GUARD || now < self.touched + GUARD);
        self.touched = now;
        self.screen.hurry();
        if !self.guard
            && let Some(dialog) = &mut self.dialog
        {
            if is_key(&input, 't') {
                return self.show_transcript(chat).await;
            }
            let chosen = dialog.input(&input, now);
            return self.chosen(chosen, chat);
        }
        let busy = chat.conversation.transcript().is_busy() || chat.sending;
        let action = self.composer.input(&input, now, busy);
        self.act(action, busy, chat).await
    }

    fn chosen(&mut self, chosen: Chosen, chat: &mut Chat) -> Result<(), Failure> {
        match chosen {
            Chosen::Stays => {}
            Chosen::Left => {
                let dialog = self.dialog.take();
                if dialog.is_some_and(|dialog| dialog.asked().is_some()) {
                    chat.conversation.interrupt();
                }
            }
            Chosen::Answer { ask, choice, words } => match chat.answer(ask, &choice, &words) {
                Ok(()) => self.dialog = None,
                Err(why) => {
                    if let Some(dialog) = &mut self.dialog {
                        dialog.set_fault(why);
                    }
                }
            },
            Chosen::Session(info) => {
                self.dialog = None;
                let title = info.title.clone().unwrap_or_else(|| info.id.to_string());
                self.screen.set_title(&title);
                let words = format!("Session: {}", one_line(&title));
                self.screen.commit([Line::styled(words, self.theme.heading), Line::default()]);
                chat.conversation.join(info);
            }
            Chosen::Message { before, text } => {
                self.dialog = None;
                let message = Message { text, images: Vec::new() };
                chat.conversation.fork(before, Some(message));
            }
        }
        Ok(())
    }

    async fn act(&mut self, action: Action, busy: bool, chat: &mut Chat) -> Result<(), Failure> {
        match action {
            Action::Escape | Action::Interrupt if busy => chat.conversation.interrupt(),
            Action::None | Action::Redraw | Action::Escape => {}
            Action::Submit(draft) => {
                let how = if busy { SendAs::Steer } else { SendAs::Queue };
                let lines = chat.enter(message(draft), how).await?;
                self.screen.commit(lines);
            }
            Action::Queue(draft) => {
                let lines = chat.enter(message(draft), SendAs::Queue).await?;
                self.screen.commit(lines);
            }
            Action::Interrupt => self.hint = Some("Ctrl+C again leaves".to_owned()),
            Action::EscapeTwice => {
                let messages: Vec<_> = chat.conversation.transcript().messages().cloned().collect();
                if !messages.is_empty() && !busy {
                    self.dialog = Some(Dialog::messages(messages, Instant::now()));
                }
            }
            Action::Exit => chat.left = true,
            Action::CycleMode => self.hint = Some(chat.cycle_mode()),
            Action::Editor => self.edit().await?,
            Action::Transcript => self.show_transcript(chat).await?,
            Action::PasteImage => self.paste_image().await,
            Action::Suspend => self.suspend()?,
        }
        if let Some(error) = self.composer.history_failure() {
            self.hint = Some(format!("earlier messages cannot be written: {error}"));
        }
        Ok(())
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let size = Size { columns, rows };
        self.changed |= size != self.size;
        self.size = size;
        self.screen.resize(size);
    }

    /// Draws what changed, if a frame is due.
    fn draw(&mut self, chat: Option<&Chat>) -> Result<(), Failure> {
        let notices = take_notices();
        self.screen.commit(notices.into_iter().map(|words| Line::styled(words, self.theme.dim)));
        // The terminal may have another size before it says so.
        if let Ok((columns, rows)) = self.device.size() {
            self.resize(columns, rows);
        }
        if self.changed && self.screen.due().is_none_or(|due| due <= Instant::now()) {
            self.changed = false;
            let live = self.live_area(chat);
            self.screen.set_live(live);
        }
        while let Some(bytes) = self.screen.frame(Instant::now()) {
            self.device.write(&bytes).map_err(|error| unusable(&error))?;
        }
        Ok(())
    }
}

fn unusable(error: &std::io::Error) -> Failure {
    Failure::new(ExitKind::Failed, format!("cannot use the terminal: {error}; try --plain"))
}

/// Waits until a moment; forever without one.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Waits for an interrupt from outside.
async fn interrupted(signal: &mut Option<UnixSignal>) {
    match signal {
        Some(signal) => {
            // The stream of a signal does not end.
            let _ = signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

fn message(draft: Draft) -> Message {
    Message { text: draft.text, images: draft.images }
}

fn is_key(input: &Input, letter: char) -> bool {
    matches!(input, Input::Key(key) if *key == Key::ctrl(letter))
}

fn command_hints() -> Vec<CommandHint> {
    let hint = |(name, takes, about): &(&str, &str, &str)| CommandHint {
        name: (*name).to_owned(),
        about: (*about).to_owned(),
        takes: (!takes.is_empty()).then(|| (*takes).to_owned()),
    };
    COMMANDS.iter().map(hint).collect()
}

/// Returns the file of earlier messages, in the user's state folder.
fn history_path() -> Option<PathBuf> {
    let folder = wiring::state_folder().ok()?;
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history.jsonl"))
}
