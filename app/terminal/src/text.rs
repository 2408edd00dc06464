//! Text with styles, in lines.

use unicode_width::UnicodeWidthStr as _;

/// Color of text. The terminal's own palette gives the named ones their shade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// The terminal's default.
    #[default]
    Default,
    /// Red.
    Red,
    /// Green.
    Green,
    /// Yellow.
    Yellow,
    /// Blue.
    Blue,
    /// Magenta.
    Magenta,
    /// Cyan.
    Cyan,
    /// Gray, between text and background.
    Gray,
    /// Red, green and blue parts.
    Rgb(u8, u8, u8),
}

/// Style of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Color of the characters.
    pub color: Color,
    /// Color behind them.
    pub background: Color,
    /// True for bold text.
    pub bold: bool,
    /// True for faint text.
    pub dim: bool,
    /// True for italic text.
    pub italic: bool,
    /// True for underlined text.
    pub underline: bool,
    /// True for text that is struck out.
    pub strike: bool,
    /// True to exchange the two colors.
    pub reverse: bool,
}

/// Text of one style. It has no line break and no other control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// Its style.
    pub style: Style,
}

/// Breaking of a line that is wider than the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wrap {
    /// Breaks between words. Further rows are indented by this many columns.
    Words {
        /// Columns.
        indent: u16,
    },
    /// Leaves breaking to the terminal, so that copied text has no break.
    #[default]
    Terminal,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Its parts, in order.
    pub spans: Vec<Span>,
    /// Breaking where it is too wide.
    pub wrap: Wrap,
}

impl Line {
    /// Creates a line of one style, which the terminal breaks.
    #[must_use]
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { spans: vec![Span { text: text.into(), style }], wrap: Wrap::Terminal }
    }

    /// Creates a line in the default style, which the terminal breaks.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::default())
    }

    /// Adds text to the end.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>, style: Style) -> Self {
        self.spans.push(Span { text: text.into(), style });
        self
    }

    /// Breaks between words, and indents further rows by this many columns.
    #[must_use]
    pub fn wrapped(self, indent: u16) -> Self {
        Self { wrap: Wrap::Words { indent }, ..self }
    }

    /// Returns the width in columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns the text without its styles.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}
