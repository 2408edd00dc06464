//! Look and keys: the theme on the background, own keys, the clipboard, messages that come back.

use std::time::Duration;

use windlass_terminal::{Input, Line, Theme, background_answer};

use super::{LiveTerminal, unusable};
use crate::chat::Chat;
use crate::chat::calls::one_line;
use crate::chat::conversation::Message;
use crate::config;
use crate::exit::Failure;

/// Wait for the terminal's answer about its background.
const BACKGROUND_WAIT: Duration = Duration::from_millis(50);

impl LiveTerminal<'_> {
    /// Asks the terminal for its background, whose theme later lines have.
    pub(super) async fn ask_background(&mut self) -> Result<(), Failure> {
        if self.background.is_some() || self.look.theme != config::Theme::Auto {
            return Ok(());
        }
        let answer = self.device.background(BACKGROUND_WAIT).await;
        let answer = answer.map_err(|error| unusable(&error))?;
        self.background = answer.and_then(|answer| background_answer(&answer));
        self.theme = theme(self.look.theme, self.background);
        self.changed = true;
        Ok(())
    }

    /// Gives a message back to the editor, unless another one is being typed there.
    pub(super) fn edit_again(&mut self, message: &Message) {
        if !self.composer.is_empty() {
            let words =
                format!("not sent, and in the earlier messages: {}", one_line(&message.text));
            self.screen.commit([Line::styled(words, self.theme.warning).wrapped(2)]);
            return;
        }
        self.composer.set_text(&message.text);
        message.images.iter().for_each(|image| self.composer.attach_image(image));
    }

    /// Returns an input with the person's own keys in the place of those that they stand for.
    pub(super) fn meant(&self, input: Input) -> Input {
        match input {
            Input::Key(key) => self.look.translate(key).into(),
            Input::Paste(_) | Input::Resize { .. } | Input::Focus(_) => input,
        }
    }

    pub(super) fn copy(&mut self, chat: &Chat) {
        self.changed = true;
        let copied = chat.copy.as_deref().map(|answer| self.screen.copy(answer));
        self.hint = Some(match copied {
            Some(true) => {
                "the last answer is in the clipboard, if the terminal allows it".to_owned()
            }
            Some(false) => "the last answer is too long for the clipboard: /export FILE".to_owned(),
            None => "there is no answer yet".to_owned(),
        });
    }

    pub(super) fn set_theme(&mut self, name: &str, chat: &mut Chat) {
        let Some(named) = config::Theme::of(name) else {
            self.hint = Some("the themes are auto, dark, light and plain".to_owned());
            return;
        };
        let theme = theme(named, self.background);
        self.theme = theme;
        chat.theme = theme;
        let unfinished = chat.conversation.set_theme(theme);
        self.screen.commit(unfinished);
    }
}

/// Returns the theme of a configuration, on a background as far as it is known.
pub(super) fn theme(named: config::Theme, background: Option<(u8, u8, u8)>) -> Theme {
    match named {
        config::Theme::Auto => Theme::for_background(background),
        config::Theme::Dark => Theme::dark(),
        config::Theme::Light => Theme::light(),
        config::Theme::Plain => Theme::plain(),
    }
}
