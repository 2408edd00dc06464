//! Blocks of Markdown by their lines, for text that arrives in parts.
//!
//! A block may hold several of CommonMark's, which the renderer tells apart; it never holds part of one,
//! except that a list is one block for each item and a fence one for each line of code.

/// Block that is finished.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Markdown text.
    Text(String),
    /// Item of a list as Markdown text.
    Item {
        /// Text with the marker.
        text: String,
        /// Number of the item in an ordered list.
        number: Option<u64>,
        /// Distance from the block before.
        gap: Gap,
    },
    /// Begin of a fence, with the first word after it.
    Code(String),
    /// Line of code in the fence.
    CodeLine(String),
}

/// Distance of an item from the block before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// An empty row.
    Row,
    /// None, as for an item that follows another one at once.
    None,
}

/// Splits lines into blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Open,
}

/// Block that more lines may belong to.
#[derive(Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Text(Kind, String),
    Item(Item),
    Fence(Fence),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Paragraph, table, or heading with a line below.
    Flow,
    /// The same with a line that may begin HTML, in which nothing but an empty line ends the block.
    Html,
    Quote,
    /// Code by indentation.
    Indented,
}

#[derive(Debug)]
struct Item {
    text: String,
    marker: Marker,
    gap: Gap,
    /// True after an empty line.
    blank: bool,
}

/// Marker of a list's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marker {
    /// Column of the item's text.
    content: usize,
    /// Bullet, or the sign behind the number.
    sign: char,
    number: Option<u64>,
    /// True for a marker without text behind it.
    empty: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Fence {
    indent: usize,
    sign: char,
    length: usize,
    info: String,
}

impl Blocks {
    /// Adds a line, and appends the blocks that it finishes.
    pub(super) fn line(&mut self, line: &str, out: &mut Vec<Block>) {
        let blank = line.trim().is_empty();
        match &mut self.open {
            Open::Nothing => self.begin(line, out),
            Open::Fence(fence) if fence.closed_by(line) => self.open = Open::Nothing,
            Open::Fence(fence) => {
                out.push(Block::CodeLine(dedent(line, fence.indent).to_owned()));
            }
            Open::Text(Kind::Flow, text) if is_underline(line) => {
                append(text, line);
                self.close(out);
            }
            Open::Text(kind, text) => {
                if *kind == Kind::Flow && is_html(line) {
                    *kind = Kind::Html;
                }
                let goes_on = match kind {
                    Kind::Flow => !blank && !interrupts(line),
                    Kind::Html => !blank,
                    Kind::Quote => !blank && (is_quote(line) || !interrupts(line)),
                    Kind::Indented => blank || indent(line) >= 4,
                };
                if goes_on { append(text, line) } else { self.begin(line, out) }
            }
            Open::Item(item) => {
                let inner = blank || indent(line) >= item.marker.content;
                let lazy = !item.blank && !interrupts(line) && marker(line).is_none();
                item.blank = blank;
                if inner || lazy {
                    append(&mut item.text, if blank { "" } else { line });
                } else {
                    self.begin(line, out);
                }
            }
        }
    }

    /// Ends the block that is open.
    pub(super) fn close(&mut self, out: &mut Vec<Block>) {
        match std::mem::take(&mut self.open) {
            Open::Nothing | Open::Fence(_) => {}
            Open::Text(_, text) => out.push(Block::Text(text)),
            Open::Item(Item { text, marker, gap, .. }) => {
                out.push(Block::Item { text, number: marker.number, gap });
            }
        }
    }

    /// Returns the text of the block that is open, with the number of its item.
    pub(super) fn unfinished(&self) -> (&str, Option<u64>, Gap) {
        match &self.open {
            Open::Nothing | Open::Fence(_) => ("", None, Gap::Row),
            Open::Text(_, text) => (text, None, Gap::Row),
            Open::Item(item) => (&item.text, item.marker.number, item.gap),
        }
    }

    /// Returns the indentation of the fence that is open.
    pub(super) fn fence(&self) -> Option<usize> {
        match &self.open {
            Open::Fence(fence) => Some(fence.indent),
            Open::Nothing | Open::Text(..) | Open::Item(_) => None,
        }
    }

    /// Ends the block that is open, and begins the one of a line.
    fn begin(&mut self, line: &str, out: &mut Vec<Block>) {
        let sibling = match &self.open {
            Open::Item(item) => marker(line).and_then(|next| item.sibling(next, line)),
            Open::Nothing | Open::Text(..) | Open::Fence(_) => None,
        };
        self.close(out);
        let text = |kind| Open::Text(kind, whole(line));
        let item = |marker, gap| Open::Item(Item { text: whole(line), marker, gap, blank: false });
        self.open = if let Some((marker, gap)) = sibling {
            item(marker, gap)
        } else if line.trim().is_empty() {
            Open::Nothing
        } else if indent(line) >= 4 {
            text(Kind::Indented)
        } else if let Some(fence) = fence(line) {
            out.push(Block::Code(fence.info.clone()));
            Open::Fence(fence)
        } else if is_heading(line) || is_rule(line) {
            out.push(Block::Text(whole(line)));
            Open::Nothing
        } else if is_quote(line) {
            text(Kind::Quote)
        } else if let Some(marker) = marker(line) {
            item(marker, Gap::Row)
        } else {
            text(if is_html(line) { Kind::Html } else { Kind::Flow })
        };
    }
}

impl Item {
    /// Returns the marker and the distance of a line that is the next item of the list.
    fn sibling(&self, next: Marker, line: &str) -> Option<(Marker, Gap)> {
        let alike = next.sign == self.marker.sign
            && next.number.is_some() == self.marker.number.is_some()
            && !is_rule(line);
        let number = self.marker.number.map(|number| number.saturating_add(1));
        let blank = self.text.ends_with("\n\n");
        let gap = if blank { Gap::Row } else { Gap::None };
        alike.then_some((Marker { number, ..next }, gap))
    }
}

impl Fence {
    fn closed_by(&self, line: &str) -> bool {
        let text = line.trim_end_matches([' ', '\t']);
        let rest = text.trim_start_matches(' ');
        indent(text) < 4 && rest.len() >= self.length && rest.chars().all(|c| c == self.sign)
    }
}

fn append(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn whole(line: &str) -> String {
    format!("{line}\n")
}

/// Returns the column of the first character that is no space.
pub(super) fn indent(line: &str) -> usize {
    let mut column = 0;
    for c in line.chars() {
        match c {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => return column,
        }
    }
    column
}

/// Returns the line without as many spaces at its begin.
pub(super) fn dedent(line: &str, spaces: usize) -> &str {
    let found = line.bytes().take(spaces).take_while(|byte| *byte == b' ').count();
    line.get(found..).unwrap_or_default()
}

/// Returns true for a line that ends a paragraph and begins a block.
fn interrupts(line: &str) -> bool {
    let list = |marker: Marker| !marker.empty && marker.number.is_none_or(|number| number == 1);
    indent(line) < 4
        && (is_heading(line)
            || is_rule(line)
            || is_quote(line)
            || fence(line).is_some()
            || marker(line).is_some_and(list))
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_quote(line: &str) -> bool {
    indent(line) < 4 && line.trim_start().starts_with('>')
}

fn is_html(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix('<');
    let begins = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?');
    indent(line) < 4 && rest.is_some_and(|rest| rest.starts_with(begins))
}

/// Returns true for a line below the text of a heading.
fn is_underline(line: &str) -> bool {
    let text = line.trim();
    let of = |sign| !text.is_empty() && text.chars().all(|c| c == sign);
    indent(line) < 4 && (of('=') || of('-'))
}

fn is_rule(line: &str) -> bool {
    let text = line.trim();
    let of = |sign| text.chars().all(|c| c == sign || c == ' ' || c == '\t');
    let count = text.chars().filter(|c| !c.is_whitespace()).count();
    count >= 3 && text.starts_with(['*', '-', '_']) && text.chars().next().is_some_and(of)
}

fn fence(line: &str) -> Option<Fence> {
    let text = line.trim_start_matches(' ');
    let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = text.trim_start_matches(sign);
    let length = text.len() - info.len();
    if length < 3 || indent(line) >= 4 || sign == '`' && info.contains('`') {
        return None;
    }
    let word = info.split([' ', '\t', ',', '{']).find(|word| !word.is_empty()).unwrap_or_default();
    Some(Fence { indent: indent(line), sign, length, info: word.to_owned() })
}

fn marker(line: &str) -> Option<Marker> {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = match digits {
        0 => None,
        1..=9 => Some(text.get(..digits)?.parse().ok()?),
        _ => return None,
    };
    let sign = text.get(digits..)?.chars().next()?;
    let fits =
        if number.is_some() { matches!(sign, '.' | ')') } else { matches!(sign, '-' | '*' | '+') };
    let rest = text.get(digits + 1..)?;
    if indent(line) >= 4 || !fits || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let start = indent(line) + digits + 1;
    let empty = rest.trim().is_empty();
    // A wider distance is code by indentation in the item.
    let distance = if empty { 1 } else { indent(rest) };
    let content = start + if distance > 4 { 1 } else { distance };
    Some(Marker { content, sign, number, empty })
}
