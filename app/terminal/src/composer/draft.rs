//! Drafts: text with pastes and images as spans.

use std::path::{Path, PathBuf};

use crate::cells;

/// Text that a person wrote, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// The text with its pastes in full. An image is its label, for example `[image a.png]`.
    pub text: String,
    /// Images, in the order of their labels.
    pub images: Vec<PathBuf>,
    /// The text as the composer shows it, with a label for each paste and image.
    pub shown: String,
    raw: String,
    spans: Vec<Attachment>,
}

/// Contents of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// Text that stands for it.
    pub(crate) label: String,
    /// What it is.
    pub(crate) kind: AttachmentKind,
}

/// Kinds of spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttachmentKind {
    /// Text that was pasted.
    Paste(String),
    /// File of an image.
    Image(PathBuf),
}

impl Attachment {
    /// Creates a paste with a label that tells its size.
    pub(crate) fn paste(text: String) -> Self {
        let lines = text.lines().count();
        let label = match lines {
            0..=1 => format!("[pasted {} characters]", grouped(text.chars().count())),
            lines => format!("[pasted {} lines]", grouped(lines)),
        };
        Self { label, kind: AttachmentKind::Paste(text) }
    }

    /// Creates an image with the name of its file as label.
    pub(crate) fn image(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let label = format!("[image {}]", name.replace(char::is_control, "?"));
        Self { label, kind: AttachmentKind::Image(path.to_owned()) }
    }

    /// Creates a character that no text in a buffer has, as a span.
    fn letter(letter: char) -> Self {
        Self { label: letter.into(), kind: AttachmentKind::Paste(letter.into()) }
    }
}

/// Spans of a buffer by number. A number is never used for another span.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spans(Vec<Attachment>);

impl Spans {
    /// Returns the span that a cell stands for.
    pub(crate) fn of_cell(&self, cell: &str) -> Option<&Attachment> {
        self.of_letter(cell.chars().next()?)
    }

    fn of_letter(&self, letter: char) -> Option<&Attachment> {
        self.0.get(cells::span_number(letter)?)
    }

    /// Adds a span and returns the text that stands for it. Beyond the largest number, a paste is
    /// plain text.
    pub(crate) fn add(&mut self, mut span: Attachment) -> String {
        let Some(letter) = cells::span_letter(self.0.len()) else {
            return text_of(&span).replace(is_span, "\u{FFFD}");
        };
        self.make_distinct(&mut span);
        self.0.push(span);
        letter.into()
    }

    /// Adds a number to the label of a span that looks like an earlier one.
    fn make_distinct(&self, span: &mut Attachment) {
        let base = span.label.strip_suffix(']').unwrap_or(&span.label).to_owned();
        let mut number = 1;
        while span.label.len() > 4 && self.0.iter().any(|other| other.label == span.label) {
            number += 1;
            span.label = format!("{base} #{number}]");
        }
    }

    /// Makes text fit for a buffer: line breaks become `\n`, control characters are left out.
    pub(crate) fn clean(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' if letters.peek() == Some(&'\n') => {}
                '\r' => out.push('\n'),
                '\n' | '\t' => out.push(letter),
                letter if letter.is_control() => {}
                letter if is_span(letter) => {
                    out.push_str(&self.add(Attachment::letter(letter)));
                }
                letter => out.push(letter),
            }
        }
        out
    }

    /// Adds the spans of a draft and returns its text for the buffer.
    pub(crate) fn adopt(&mut self, draft: &Draft) -> String {
        let mut out = String::with_capacity(draft.raw.len());
        for letter in draft.raw.chars() {
            match cells::span_number(letter).and_then(|number| draft.spans.get(number)) {
                Some(span) => out.push_str(&self.adopt_span(span)),
                None => out.push(letter),
            }
        }
        out
    }

    fn adopt_span(&mut self, span: &Attachment) -> String {
        let known = self.0.iter().position(|known| known == span);
        match known.and_then(cells::span_letter) {
            Some(letter) => letter.into(),
            None => self.add(span.clone()),
        }
    }

    /// Replaces each span of a text.
    pub(crate) fn expand(&self, raw: &str, with: impl Fn(&Attachment) -> &str) -> String {
        let mut out = String::with_capacity(raw.len());
        for letter in raw.chars() {
            match self.of_letter(letter) {
                Some(span) => out.push_str(with(span)),
                None => out.push(letter),
            }
        }
        out
    }

    /// Makes a draft of a text.
    pub(crate) fn draft(&self, raw: &str) -> Draft {
        let mut draft = Draft {
            text: self.expand(raw, text_of),
            shown: self.expand(raw, |span| &span.label),
            ..Draft::default()
        };
        for letter in raw.chars() {
            let Some(span) = self.of_letter(letter) else {
                draft.raw.push(letter);
                continue;
            };
            if let AttachmentKind::Image(path) = &span.kind {
                draft.images.push(path.clone());
            }
            draft.raw.extend(cells::span_letter(draft.spans.len()));
            draft.spans.push(span.clone());
        }
        draft
    }

    /// Puts the images of a text back where another text names them by their labels.
    pub(crate) fn with_images(&self, raw: &str, text: &str) -> String {
        let mut out = text.to_owned();
        for letter in raw.chars() {
            let span = self.of_letter(letter);
            if let Some(Attachment { label, kind: AttachmentKind::Image(_) }) = span {
                out = out.replacen(label.as_str(), &letter.to_string(), 1);
            }
        }
        out
    }
}

impl Draft {
    /// Returns the text with the path of each image in place of its label.
    pub(crate) fn with_paths(&self) -> String {
        let spans = Spans(self.spans.clone());
        spans.expand(&self.raw, |span| match &span.kind {
            AttachmentKind::Paste(text) => text,
            AttachmentKind::Image(path) => path.to_str().unwrap_or(&span.label),
        })
    }
}

impl From<&str> for Draft {
    fn from(text: &str) -> Self {
        let mut spans = Spans::default();
        let raw = spans.clean(text);
        spans.draft(&raw)
    }
}

/// Returns the text of a span as it is sent.
pub(crate) fn text_of(span: &Attachment) -> &str {
    match &span.kind {
        AttachmentKind::Paste(text) => text,
        AttachmentKind::Image(_) => &span.label,
    }
}

fn is_span(letter: char) -> bool {
    cells::span_number(letter).is_some()
}

/// Writes a number with commas between groups of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
