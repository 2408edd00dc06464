//! Sequences besides text: the window's title, notifications and the clipboard.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::screen::glyph;

/// Longest title and notification, in characters.
const WORDS: usize = 200;

/// Longest text for the clipboard, in bytes. Several terminals ignore more than 100,000 bytes in base64.
const CLIPBOARD: usize = 74_000;

/// Sets the title of the window.
pub(super) fn title(text: &str, out: &mut Vec<u8>) {
    command(&format!("2;{}", words(text)), out);
}

/// Notifies the person in the ways of iTerm2 and of rxvt, and rings the bell.
pub(super) fn notification(text: &str, out: &mut Vec<u8>) {
    // A semicolon would part the text, and numbers before one are commands of other terminals.
    let text = words(text).replace(';', ",");
    command(&format!("9;{text}"), out);
    command(&format!("777;notify;{text};"), out);
    out.push(b'\x07');
}

/// Copies a text to the clipboard, also through tmux. Returns false and copies nothing if it is too long.
pub(super) fn clipboard(text: &str, tmux: bool, out: &mut Vec<u8>) -> bool {
    if text.len() > CLIPBOARD {
        return false;
    }
    let body = format!("52;c;{}", BASE64_STANDARD.encode(text));
    command(&body, out);
    if tmux {
        out.extend_from_slice(format!("\x1bPtmux;\x1b\x1b]{body}\x07\x1b\\").as_bytes());
    }
    true
}

fn command(body: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\x1b]{body}\x1b\\").as_bytes());
}

/// Returns the text without controls, in one line and bounded.
fn words(text: &str) -> String {
    let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
    spaced.chars().filter(|c| !glyph::steers(*c)).take(WORDS).collect()
}
