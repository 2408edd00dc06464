//! Live area: what goes on, the editor or a dialog, and the status line.

use std::time::Duration;

use windlass_engine::core::Delivery;
use windlass_engine::ports::Clock as _;
use windlass_terminal::{ComposerStyle, Cursor, Line, LiveArea, Style, Theme};

use super::{LiveTerminal, TICK};
use crate::chat::Chat;
use crate::chat::calls::{one_line, time};
use crate::present::visible;
use crate::wiring;

/// Most rows of an answer that is not finished.
const PREVIEW_ROWS: usize = 12;
/// Most rows of running calls.
const RUNNING_ROWS: usize = 12;
/// Most waiting messages that are shown.
const QUEUE_ROWS: usize = 5;

impl LiveTerminal<'_> {
    pub(super) fn live_area(&self, chat: Option<&Chat>) -> LiveArea {
        let (columns, rows) = (self.size.columns, self.size.rows);
        let mut lines = Vec::new();
        if let Some(chat) = chat {
            lines.extend(self.activity(chat));
        }
        let room = rows.saturating_sub(2).max(3);
        let style = composer_style(&self.theme);
        let (editor, cursor) = match &self.dialog {
            Some(dialog) => dialog.view((columns, room), &self.theme, &style),
            None => {
                let view = self.composer.view(columns, room.min(12), &style);
                (view.lines, Some(view.cursor))
            }
        };
        let above = lines.len();
        lines.extend(editor);
        if self.dialog.is_some() && !self.composer.is_empty() {
            let words = format!("  your message: {}", one_line(&self.composer.text()));
            lines.push(Line::styled(words, self.theme.dim));
        }
        let info = chat.and_then(|chat| chat.conversation.info());
        lines.push(match &self.hint {
            Some(hint) => Line::styled(format!("  {}", visible(hint)), self.theme.warning),
            None => self.status.line(info, &self.theme),
        });
        let cursor = cursor.map(|(row, column)| Cursor { row: above + row, column });
        LiveArea { lines, cursor }
    }

    /// Returns the lines of what goes on.
    fn activity(&self, chat: &Chat) -> Vec<Line> {
        let transcript = chat.conversation.transcript();
        let now = wiring::clock().now();
        let mut lines = transcript.preview(PREVIEW_ROWS.min(usize::from(self.size.rows) / 2));
        let running = transcript.running(now);
        let hidden = running.len().saturating_sub(RUNNING_ROWS);
        lines.extend(running.into_iter().skip(hidden));
        if let Some((activity, took)) = transcript.activity(now) {
            let activity = match chat.conversation.ask() {
                Some(_) => "Waiting for your answer",
                None => activity,
            };
            lines.push(
                Line::styled(spinner(took), self.theme.accent)
                    .with(format!(" {activity}"), self.theme.text)
                    .with(format!("  {} · Esc interrupts", time(took)), self.theme.dim),
            );
        } else if chat.sending {
            lines.push(Line::styled("· Sending", self.theme.dim));
        }
        let queue = transcript.queue();
        for (number, input) in (1..).zip(queue).take(QUEUE_ROWS) {
            let how = match input.delivery {
                Delivery::Steer => "steers",
                Delivery::Turn | Delivery::FollowUp => "waits",
            };
            let words = format!("  {number}. {how}: {}", one_line(&input.text));
            lines.push(Line::styled(words, self.theme.dim));
        }
        if queue.len() > QUEUE_ROWS {
            let words = format!("  and {} more: /queue", queue.len() - QUEUE_ROWS);
            lines.push(Line::styled(words, self.theme.dim));
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines
    }
}

/// Returns the frame of the spinner at a time.
fn spinner(took: Duration) -> &'static str {
    const FRAMES: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];
    let at = took.as_millis() / TICK.as_millis();
    FRAMES.get(usize::try_from(at % 8).unwrap_or_default()).unwrap_or(&"⠋")
}

fn composer_style(theme: &Theme) -> ComposerStyle {
    ComposerStyle {
        prompt: theme.accent,
        command: theme.warning,
        text: theme.text,
        span: theme.code,
        selected: Style { reverse: true, ..theme.accent },
        label: theme.text,
        detail: theme.dim,
    }
}
