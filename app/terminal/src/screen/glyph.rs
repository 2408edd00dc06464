//! Characters as a terminal shows them: clusters with their width, without any that steer it.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::text::{Line, Span};

/// Distance between stops of the tabulator, in columns.
const TAB: usize = 8;

/// Longest cluster of characters, in bytes. A longer one is several, so that marks without end stay
/// within a row.
const CLUSTER: usize = 64;

/// Cluster of characters that cannot be parted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Glyph<'a> {
    /// Text to write.
    pub(crate) text: Cow<'a, str>,
    /// Columns that it takes. Where terminals differ, the largest number.
    pub(crate) width: usize,
    /// Columns that it takes in a terminal that joins emoji.
    pub(crate) joined: usize,
    /// True if all terminals agree on its width.
    pub(crate) sure: bool,
    /// Bytes of the source.
    pub(crate) bytes: usize,
    /// True for a space, before which and after which a row may end.
    pub(crate) space: bool,
}

/// Place in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    /// Index of the span.
    pub(crate) span: usize,
    /// Byte in its text.
    pub(crate) byte: usize,
}

/// Returns the first glyph of a text that begins in this column.
pub(crate) fn first(text: &str, column: usize) -> Option<Glyph<'_>> {
    let head = *text.as_bytes().first()?;
    let alone = text.as_bytes().get(1).is_none_or(u8::is_ascii);
    if alone && (head == b' ' || head.is_ascii_graphic()) {
        let text = Cow::Borrowed(text.get(..1).unwrap_or_default());
        return Some(Glyph {
            text,
            width: 1,
            joined: 1,
            sure: true,
            bytes: 1,
            space: head == b' ',
        });
    }
    let head = text.get(..text.floor_char_boundary(CLUSTER)).unwrap_or_default();
    Some(cluster_glyph(head.graphemes(true).next()?, column))
}

/// Returns the text and style of a line from a place on, span by span, with the place of each.
pub(crate) fn spans(line: &Line, from: Place) -> impl Iterator<Item = (Place, &str, &Span)> {
    line.spans.iter().enumerate().skip(from.span).filter_map(move |(span, part)| {
        let byte = if span == from.span { from.byte } else { 0 };
        let text = part.text.get(byte..).filter(|text| !text.is_empty())?;
        Some((Place { span, byte }, text, part))
    })
}

/// Appends the text without characters that steer a terminal, and returns the column behind it.
pub(crate) fn clean(text: &str, mut column: usize, out: &mut String) -> usize {
    for c in text.chars() {
        match c {
            ' '..='~' => {
                out.push(c);
                column += 1;
            }
            '\t' => {
                let stop = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', stop));
                column += stop;
            }
            _ if steers(c) => {
                let shown = visible(c);
                column += shown.width();
                out.push_str(&shown);
            }
            _ => {
                out.push(c);
                column += c.width().unwrap_or(0);
            }
        }
    }
    column
}

fn cluster_glyph(cluster: &str, column: usize) -> Glyph<'_> {
    if cluster.chars().any(steers) {
        let mut shown = String::new();
        let width = clean(cluster, column, &mut shown) - column;
        let (text, space) = (Cow::Owned(shown), cluster == "\t");
        return Glyph { text, width, joined: width, sure: true, bytes: cluster.len(), space };
    }
    let columns = |c: char| c.width().unwrap_or(0);
    let apart: usize = cluster.chars().map(columns).sum();
    let whole = cluster.width();
    Glyph {
        text: Cow::Borrowed(cluster),
        width: whole.max(apart),
        joined: whole.max(cluster.chars().next().map_or(0, columns)),
        sure: whole == apart && !cluster.contains(['\u{200d}', '\u{fe0e}', '\u{fe0f}']),
        bytes: cluster.len(),
        space: false,
    }
}

/// Controls of both sets, separators of lines, and marks that turn the order of a text.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn visible(c: char) -> String {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('?').to_string(),
        0x7f => "\u{2421}".to_owned(),
        code => format!("<U+{code:04X}>"),
    }
}
