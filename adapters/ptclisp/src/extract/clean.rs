//! Cleaning a program's text of what models put into it and the language does not have.

/// Changes made to a program's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextChanges {
    /// The invisible characters that were left out.
    pub invisible: usize,
    /// The curly quotes that were made straight.
    pub quotes: usize,
    /// The `#_` that were left out, each with the form after it.
    pub discarded: usize,
}

/// Cleans a program's text.
pub(super) fn clean(text: &str) -> (String, TextChanges) {
    let mut cleaned = TextChanges::default();
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                plain.push('\n');
            }
            '\u{feff}'
            | '\u{fffe}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'
            | '\u{ad}'
            | '\u{180e}'
            | '\u{a0}'
            | '\u{202f}'
            | '\u{2000}'..='\u{200a}' => {
                cleaned.invisible += 1;
            }
            '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2036}' => {
                cleaned.quotes += 1;
                plain.push('"');
            }
            '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' => {
                cleaned.quotes += 1;
                plain.push('\'');
            }
            other => plain.push(other),
        }
    }
    let kept = remove_discards(&plain, &mut cleaned.discarded);
    (kept.trim().to_owned(), cleaned)
}

/// The text without each `#_` and the form after it, found from the left in what is left so far.
fn remove_discards(text: &str, discarded: &mut usize) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let after = if kept.ends_with('#') && rest.starts_with('_') {
            // The two came together when what stood between them was left out.
            kept.pop();
            &rest[1..]
        } else if let Some((before, after)) = rest.split_once("#_") {
            kept.push_str(before);
            after
        } else {
            kept.push_str(rest);
            return kept;
        };
        match after_form(after) {
            Some(remaining) => {
                *discarded += 1;
                rest = remaining;
            }
            None => {
                kept.push_str("#_");
                kept.push_str(after);
                return kept;
            }
        }
    }
}

/// Returns the text after the next form, if that form has an end.
fn after_form(text: &str) -> Option<&str> {
    let mut text = text.trim_start();
    while let Some(inner) = text.strip_prefix("#_") {
        text = inner.trim_start();
    }
    match text.chars().next()? {
        '(' => after_bracket(text, '(', ')'),
        '[' => after_bracket(text, '[', ']'),
        '{' => after_bracket(text, '{', '}'),
        '"' => after_text(text),
        _ => after_word(text),
    }
}

fn after_bracket(text: &str, open: char, close: char) -> Option<&str> {
    let mut deep = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            deep += 1;
        } else if c == close {
            deep -= 1;
            if deep == 0 {
                return Some(&text[at + 1..]);
            }
        }
    }
    None
}

fn after_text(text: &str) -> Option<&str> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(&text[at + 1..]),
            '\\' => {
                chars.next();
            }
            _ => {}
        }
    }
    None
}

fn after_word(text: &str) -> Option<&str> {
    let ends = |c: char| is_blank(c) || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"');
    match text.find(ends) {
        Some(0) => None,
        Some(end) => Some(&text[end..]),
        None => Some(""),
    }
}

/// A blank of ASCII.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
