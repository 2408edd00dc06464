//! Dialogs: a question of a call or of the model, and a choice of a session or a message. Pure.

use std::time::Instant;

use windlass_engine::core::Seq;
use windlass_terminal::{
    Action, Composer, ComposerOptions, ComposerStyle, FileSource, History, Input, Key, KeyCode,
    Line, Menu, MenuAction, Theme,
};

use crate::chat::asks::{self, Choice};
use crate::chat::calls::{more_lines, one_line};
use crate::chat::conversation::{OpenAsk, SessionInfo};
use crate::chat::pages;
use crate::chat::transcript::SaidMessage;

/// Dialog in place of the editor.
pub(super) struct Dialog {
    kind: Kind,
    /// Time at which it appeared.
    pub(super) since: Instant,
}

enum Kind {
    Ask {
        ask: OpenAsk,
        menu: Menu<Choice>,
        words: Option<Box<(Choice, Composer)>>,
        fault: Option<String>,
    },
    Sessions(Menu<SessionInfo>),
    Messages(Menu<SaidMessage>),
}

/// Result of a key in a dialog.
pub(super) enum Chosen {
    /// The dialog stays.
    Stays,
    /// The dialog was left without a choice.
    Left,
    /// Answer to a question.
    Answer { ask: OpenAsk, choice: Choice, words: String },
    /// Session to continue.
    Session(SessionInfo),
    /// Message to go back to.
    Message { before: Seq, text: String },
}

impl Dialog {
    /// Asks an open question.
    pub(super) fn ask(ask: OpenAsk, now: Instant) -> Self {
        let title = match &ask {
            OpenAsk::Approval(_) => asks::heading(&ask),
            OpenAsk::Question(..) => "Your answer".to_owned(),
        };
        let menu = Menu::new(title).numbered();
        let choices = asks::choices(&ask).into_iter();
        let menu = choices.fold(menu, |menu, (choice, label)| menu.row(label, "", choice));
        Self { kind: Kind::Ask { ask, menu, words: None, fault: None }, since: now }
    }

    /// Offers sessions.
    pub(super) fn sessions(sessions: Vec<SessionInfo>, now: Instant) -> Self {
        let menu = Menu::new("Continue a session; type to search");
        let menu = sessions.into_iter().fold(menu, |menu, info| {
            menu.row(pages::session_title(&info), pages::session_details(&info), info)
        });
        Self { kind: Kind::Sessions(menu), since: now }
    }

    /// Offers messages to go back to, newest first.
    pub(super) fn messages(messages: Vec<SaidMessage>, now: Instant) -> Self {
        let menu = Menu::new("Go back to a message, in a copy of this session");
        let menu = messages
            .into_iter()
            .rev()
            .fold(menu, |menu, said| menu.row(one_line(&said.text), "", said));
        Self { kind: Kind::Messages(menu), since: now }
    }

    /// Returns the question that it asks.
    pub(super) fn asked(&self) -> Option<&OpenAsk> {
        match &self.kind {
            Kind::Ask { ask, .. } => Some(ask),
            Kind::Sessions(_) | Kind::Messages(_) => None,
        }
    }

    /// Shows a fault of the last answer.
    pub(super) fn set_fault(&mut self, words: String) {
        if let Kind::Ask { fault, .. } = &mut self.kind {
            *fault = Some(words);
        }
    }

    /// Applies an input.
    pub(super) fn input(&mut self, input: &Input, now: Instant) -> Chosen {
        match &mut self.kind {
            Kind::Ask { ask, words: words @ Some(_), .. } => {
                let Some(asked) = words else {
                    return Chosen::Stays;
                };
                let (choice, editor) = &mut **asked;
                match editor.input(input, now, false) {
                    Action::Submit(draft) => {
                        let (ask, choice) = (ask.clone(), choice.clone());
                        return Chosen::Answer { ask, choice, words: draft.text };
                    }
                    // A denial needs no reason.
                    Action::None if is_enter(input) && *choice == Choice::Deny => {
                        let (ask, choice) = (ask.clone(), choice.clone());
                        return Chosen::Answer { ask, choice, words: String::new() };
                    }
                    Action::Escape | Action::Interrupt | Action::Exit => *words = None,
                    Action::None
                    | Action::Redraw
                    | Action::Queue(_)
                    | Action::EscapeTwice
                    | Action::CycleMode
                    | Action::Editor
                    | Action::Transcript
                    | Action::PasteImage
                    | Action::Suspend => {}
                }
                Chosen::Stays
            }
            Kind::Ask { ask, menu, words, fault } => match menu.input(input) {
                MenuAction::None | MenuAction::Redraw => Chosen::Stays,
                MenuAction::Cancelled => Chosen::Left,
                MenuAction::Chosen(chosen) => {
                    *fault = None;
                    let text = match (&chosen, &*ask) {
                        (Choice::Edit, OpenAsk::Approval(open)) => open.arguments.clone(),
                        (Choice::Edit | Choice::Deny | Choice::Words, _) => String::new(),
                        (Choice::Once | Choice::Grant(_) | Choice::Answer(_), _) => {
                            let (ask, words) = (ask.clone(), String::new());
                            return Chosen::Answer { ask, choice: chosen, words };
                        }
                    };
                    let mut editor = plain_editor();
                    editor.set_text(&text);
                    *words = Some(Box::new((chosen, editor)));
                    Chosen::Stays
                }
            },
            Kind::Sessions(menu) => match menu.input(input) {
                MenuAction::None | MenuAction::Redraw => Chosen::Stays,
                MenuAction::Cancelled => Chosen::Left,
                MenuAction::Chosen(session) => Chosen::Session(session),
            },
            Kind::Messages(menu) => match menu.input(input) {
                MenuAction::None | MenuAction::Redraw => Chosen::Stays,
                MenuAction::Cancelled => Chosen::Left,
                MenuAction::Chosen(said) => {
                    Chosen::Message { before: said.before, text: said.text }
                }
            },
        }
    }

    /// Returns the lines, and the place of the cursor.
    pub(super) fn view(
        &self,
        (columns, rows): (u16, u16),
        theme: &Theme,
        style: &ComposerStyle,
    ) -> (Vec<Line>, Option<(usize, usize)>) {
        let (ask, menu, words, fault) = match &self.kind {
            Kind::Ask { ask, menu, words, fault } => (ask, menu, words, fault),
            Kind::Sessions(menu) => {
                let view = menu.view(columns, rows, style);
                return (view.lines, Some(view.cursor));
            }
            Kind::Messages(menu) => {
                let view = menu.view(columns, rows, style);
                return (view.lines, Some(view.cursor));
            }
        };
        let details = asks::details(ask, theme);
        let room = usize::from(rows).saturating_sub(9).max(3);
        let more = details.len().saturating_sub(room);
        let mut lines: Vec<Line> = details.into_iter().take(room).collect();
        if more > 0 {
            let words = format!("  … {} (Ctrl+T shows all)", more_lines(more));
            lines.push(Line::styled(words, theme.dim));
        }
        let fault = fault.iter();
        lines
            .extend(fault.map(|words| Line::styled(format!("! {}", one_line(words)), theme.error)));
        let room = rows.saturating_sub(u16::try_from(lines.len()).unwrap_or(u16::MAX)).max(3);
        let view = match words {
            None => menu.view(columns, room, style),
            Some(asked) => {
                let (choice, editor) = &**asked;
                let what = match choice {
                    Choice::Deny => "Reason, which may be empty; Esc goes back:",
                    Choice::Edit => "Arguments as JSON; Esc goes back:",
                    Choice::Once | Choice::Grant(_) | Choice::Answer(_) | Choice::Words => {
                        "Answer; Esc goes back:"
                    }
                };
                lines.push(Line::styled(what, theme.accent));
                editor.view(columns, room, style)
            }
        };
        let above = lines.len();
        lines.extend(view.lines);
        (lines, Some((above + view.cursor.0, view.cursor.1)))
    }
}

fn is_enter(input: &Input) -> bool {
    matches!(input, Input::Key(key) if *key == Key::plain(KeyCode::Enter))
}

/// Returns an editor for a reason or an answer.
fn plain_editor() -> Composer {
    Composer::new(ComposerOptions {
        vim: false,
        commands: Vec::new(),
        history: History::memory(),
        files: Box::new(NoFiles),
    })
}

/// No files: an answer names none.
struct NoFiles;

impl FileSource for NoFiles {
    fn find(&mut self, _: &str, _: usize) -> Vec<String> {
        Vec::new()
    }
}
