//! Plain conversation: one line for each change, for screen readers, simple terminals and pipes.

use std::collections::VecDeque;
use std::io::{self, Write as _};

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};
use windlass_terminal::{ColorSupport, Line, plain};

use super::asks::{self, Choice};
use super::conversation::{Message, OpenAsk, SendAs, Update};
use super::{Chat, Handled};
use crate::exit::{ExitKind, Failure};
use crate::wiring::Adapters;

/// Terminal without a live area.
pub(super) struct PlainTerminal<'a> {
    chat: Chat,
    adapters: &'a Adapters,
    lines: Lines<BufReader<Stdin>>,
    ended: bool,
    /// Question that was printed.
    asked: Option<OpenAsk>,
    /// Choice whose words are typed next.
    choice: Option<Choice>,
    /// Messages from a pipe, each in a turn of its own.
    waiting: VecDeque<String>,
    prompted: bool,
    /// True once a line was read.
    said: bool,
    leaving: bool,
}

impl<'a> PlainTerminal<'a> {
    pub(super) fn new(chat: Chat, adapters: &'a Adapters) -> Self {
        Self {
            chat,
            adapters,
            lines: BufReader::new(stdin()).lines(),
            ended: false,
            asked: None,
            choice: None,
            waiting: VecDeque::new(),
            prompted: false,
            said: false,
            leaving: false,
        }
    }

    /// Talks until the person leaves, or the input ends and nothing runs.
    pub(super) async fn run(mut self) -> Result<(ExitKind, Chat), Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(ExitKind::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        loop {
            let lines = self.chat.run_later().await?;
            self.print(&lines)?;
            self.act_alone().await?;
            if let Some(exit) = self.settle().await? {
                return Ok((exit, self.chat));
            }
            tokio::select! {
                updates = self.chat.conversation.next() => {
                    let updates = updates.map_err(|failure| failure.into_failure())?;
                    for update in updates {
                        self.update(update)?;
                    }
                }
                line = self.lines.next_line(), if !self.ended => match line {
                    Ok(Some(line)) => self.line(line).await?,
                    Ok(None) => self.ended = true,
                    Err(error) => {
                        let words = format!("cannot read standard input: {error}");
                        return Err(Failure::usage(words));
                    }
                },
                () = received(&mut interrupt) => {
                    if !self.chat.conversation.transcript().is_busy() || self.leaving {
                        return Ok((ExitKind::Interrupted, self.chat));
                    }
                    self.leaving = true;
                    self.chat.conversation.interrupt();
                    self.say("interrupting; Ctrl+C again leaves")?;
                }
                () = received(&mut terminate) => return Ok((ExitKind::Terminated, self.chat)),
            }
        }
    }

    /// Prints what is asked, and sends what waits. Returns the exit code once the input has ended
    /// and nothing is left to do.
    async fn settle(&mut self) -> Result<Option<ExitKind>, Failure> {
        let busy = self.chat.conversation.transcript().is_busy() || self.chat.sending;
        if let Some(ask) = self.chat.conversation.ask().cloned() {
            if !self.asked.as_ref().is_some_and(|asked| asked.is_same(&ask)) {
                self.asked = Some(ask.clone());
                self.choice = None;
                self.print_ask(&ask)?;
            }
            if self.ended {
                self.say("a question is open and the input has ended; it stays open")?;
                return Ok(Some(ExitKind::Blocked));
            }
            return Ok(None);
        }
        self.asked = None;
        if busy {
            self.prompted = false;
            return Ok(None);
        }
        self.leaving = false;
        // A command opens no turn, so the next line follows it at once.
        while !self.chat.sending
            && let Some(text) = self.waiting.pop_front()
        {
            let message = Message { text, images: Vec::new() };
            let lines = self.chat.enter(message, SendAs::Queue).await?;
            self.print(&lines)?;
            self.act_alone().await?;
            if self.chat.left {
                return Ok(Some(self.chat.exit));
            }
        }
        if self.chat.sending {
            return Ok(None);
        }
        if self.ended && self.chat.conversation.session().is_none() && !self.said {
            return Err(Failure::usage(
                "there is no message: type one at a terminal, or pipe a message in each line; \
                 windlass --help lists the commands",
            ));
        }
        if self.ended {
            return Ok(Some(self.chat.exit));
        }
        if self.chat.typed && !self.prompted {
            self.prompted = true;
            self.write("> ")?;
        }
        Ok(None)
    }

    /// Does what a command asked of the terminal itself.
    async fn act_alone(&mut self) -> Result<(), Failure> {
        self.chat.run_planned(self.adapters).await;
        let copies = std::mem::take(&mut self.chat.copies);
        if copies || self.chat.retheme.take().is_some() {
            self.say("only a terminal with a live area has colors and a clipboard")?;
        }
        Ok(())
    }

    fn update(&mut self, update: Update) -> Result<(), Failure> {
        match self.chat.update(update) {
            Handled::Lines(lines) => self.print(&lines),
            Handled::Settled => {
                self.prompted = false;
                if self.chat.typed { self.write("\u{7}") } else { Ok(()) }
            }
            Handled::Failed { words, message } => {
                // A message from a pipe is not typed again.
                let kept = message.map(|message| format!(" (not sent: {})", message.text));
                self.say(&format!("! {words}{}", kept.unwrap_or_default()))
            }
            Handled::Sessions(sessions) => {
                let lines = super::sessions_lines(&sessions, &self.chat.theme);
                self.print(&lines)
            }
            Handled::Edit(message) => self.say(&format!("to send again: {}", message.text)),
            Handled::Nothing => Ok(()),
        }
    }

    async fn line(&mut self, line: String) -> Result<(), Failure> {
        (self.prompted, self.said) = (false, true);
        if let Some(ask) = self.chat.conversation.ask().cloned() {
            return self.answer(ask, &line);
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        let busy = self.chat.conversation.transcript().is_busy() || self.chat.sending;
        if !self.chat.typed && busy {
            self.waiting.push_back(line);
            return Ok(());
        }
        let how = if busy { SendAs::Steer } else { SendAs::Queue };
        let lines = self.chat.enter(Message { text: line, images: Vec::new() }, how).await?;
        self.print(&lines)?;
        self.ended |= self.chat.left;
        Ok(())
    }

    fn answer(&mut self, ask: OpenAsk, line: &str) -> Result<(), Failure> {
        let (choice, words) = match self.choice.take() {
            Some(choice) => (choice, line.to_owned()),
            None => match asks::typed(&ask, line) {
                Some((choice @ (Choice::Edit | Choice::Words), words)) if words.is_empty() => {
                    let what = match choice == Choice::Edit {
                        true => "the arguments, as JSON on one line: ",
                        false => "your answer: ",
                    };
                    self.choice = Some(choice);
                    return self.write(what);
                }
                Some(chosen) => chosen,
                None => return self.write("a number, or words: "),
            },
        };
        if let Err(why) = self.chat.answer(ask, &choice, &words) {
            self.choice = Some(choice);
            return self.say(&format!("! {why}"));
        }
        Ok(())
    }

    fn print_ask(&mut self, ask: &OpenAsk) -> Result<(), Failure> {
        let theme = self.chat.theme;
        let mut lines = vec![Line::styled(format!("? {}", asks::heading(ask)), theme.accent)];
        lines.extend(asks::details(ask, &theme));
        for (number, (_, label)) in (1..).zip(asks::choices(ask)) {
            lines.push(Line::plain(format!("  {number}. {label}")));
        }
        self.print(&lines)?;
        let bell = if self.chat.typed { "\u{7}" } else { "" };
        self.write(&format!("a number, or words: {bell}"))
    }

    fn say(&mut self, words: &str) -> Result<(), Failure> {
        self.print(&[Line::styled(words, self.chat.theme.dim)])
    }

    fn print(&mut self, lines: &[Line]) -> Result<(), Failure> {
        match lines.is_empty() {
            true => Ok(()),
            false => self.write(&plain(lines, ColorSupport::None)),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(crate::command::closed)
    }
}

/// Waits for a signal.
async fn received(signal: &mut UnixSignal) {
    // The stream of a signal does not end.
    let _ = signal.recv().await;
}
