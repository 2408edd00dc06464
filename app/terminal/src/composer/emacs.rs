//! Keys of an editor as shells have it.

use crate::composer::buffer::Buffer;
use crate::composer::undo::EditKind;
use crate::composer::words;
use crate::keys::{Key, KeyCode};

/// Applies a key that edits or moves within the text. Returns false for every other key.
pub(crate) fn edit(buffer: &mut Buffer, key: Key) -> bool {
    if let Some(letter) = key.typed() {
        buffer.type_letter(letter);
        return true;
    }
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Char(letter), true, false) => ctrl(buffer, letter),
        (KeyCode::Char(letter), false, true) => alt(buffer, letter),
        (code, false, false) => plain(buffer, code),
        (code, ..) => by_words(buffer, code, key.ctrl),
    }
}

fn ctrl(buffer: &mut Buffer, letter: char) -> bool {
    let (at, text) = (buffer.cursor(), buffer.raw());
    match letter {
        'a' => buffer.go(buffer.line_start(at)),
        'e' => buffer.go(buffer.line_end(at)),
        'b' => buffer.go(buffer.left()),
        'f' => buffer.go(buffer.right()),
        'h' => erase(buffer, buffer.left()),
        'd' => erase(buffer, buffer.right()),
        'k' => {
            let end = buffer.line_end(at);
            buffer.cut(at..if end == at { buffer.right() } else { end });
        }
        'u' => {
            let start = buffer.line_start(at);
            buffer.cut(if start == at { buffer.left() } else { start }..at);
        }
        'w' => {
            let start = words::blank_start(text, at);
            buffer.cut(start..at);
        }
        'y' => buffer.put(),
        // Terminals send Ctrl+_ as one of these.
        '_' | '7' | '/' | '-' => {
            buffer.undo();
        }
        _ => return false,
    }
    true
}

fn alt(buffer: &mut Buffer, letter: char) -> bool {
    let (at, text) = (buffer.cursor(), buffer.raw());
    match letter.to_ascii_lowercase() {
        'b' => buffer.go(words::start(text, at)),
        'f' => buffer.go(words::end(text, at)),
        'd' => {
            let end = words::end(text, at);
            buffer.cut(at..end);
        }
        _ => return false,
    }
    true
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are alike")]
fn plain(buffer: &mut Buffer, code: KeyCode) -> bool {
    let at = buffer.cursor();
    match code {
        KeyCode::Left => buffer.go(buffer.left()),
        KeyCode::Right => buffer.go(buffer.right()),
        KeyCode::Home => buffer.go(buffer.line_start(at)),
        KeyCode::End => buffer.go(buffer.line_end(at)),
        KeyCode::Backspace => erase(buffer, buffer.left()),
        KeyCode::Delete => erase(buffer, buffer.right()),
        _ => return false,
    }
    true
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are alike")]
fn by_words(buffer: &mut Buffer, code: KeyCode, ctrl: bool) -> bool {
    let (at, text) = (buffer.cursor(), buffer.raw());
    let (start, end) = (words::start(text, at), words::end(text, at));
    match code {
        KeyCode::Left => buffer.go(start),
        KeyCode::Right => buffer.go(end),
        KeyCode::Backspace => buffer.cut(start..at),
        KeyCode::Delete => buffer.cut(at..end),
        KeyCode::Home if ctrl => buffer.go(0),
        KeyCode::End if ctrl => buffer.go(buffer.raw().len()),
        _ => return false,
    }
    true
}

/// Deletes the text between the cursor and another position.
fn erase(buffer: &mut Buffer, to: usize) {
    let at = buffer.cursor();
    buffer.replace(at.min(to)..at.max(to), "", EditKind::Delete);
}
