//! Markdown as lines for a terminal, also while it arrives.

mod blocks;
mod render;
mod table;
#[cfg(test)]
mod tests;

use crate::highlight::Highlighter;
use crate::screen::rows;
use crate::text::{Line, Wrap};
use crate::theme::Theme;

use blocks::{Block, Blocks, Gap};

/// Longest text that a preview renders, in bytes: the end of the block.
const PREVIEW: usize = 8 * 1024;

/// Renders a whole text for a terminal of this width.
#[cfg(test)]
fn markdown(text: &str, theme: &Theme, columns: u16) -> Vec<Line> {
    let mut stream = MarkdownStream::new(theme, columns);
    let mut lines = stream.push(text);
    lines.append(&mut stream.finish());
    lines
}

/// Renders a text that arrives in parts. However it is split, the lines of `push` and `finish` are those of the
/// whole text.
#[derive(Debug)]
pub struct MarkdownStream {
    theme: Theme,
    columns: u16,
    /// Line without its end.
    partial: String,
    blocks: Blocks,
    code: Option<Highlighter>,
    /// Distance of the next line of code from the line before.
    code_gap: Gap,
    /// True once there was a line.
    begun: bool,
}

impl MarkdownStream {
    /// Starts a text for a terminal of this width.
    #[must_use]
    pub fn new(theme: &Theme, columns: u16) -> Self {
        Self {
            theme: *theme,
            columns,
            partial: String::new(),
            blocks: Blocks::default(),
            code: None,
            code_gap: Gap::None,
            begun: false,
        }
    }

    /// Sets the width for all blocks that are not finished.
    pub fn resize(&mut self, columns: u16) {
        self.columns = columns;
    }

    /// Adds a part of the text, and returns the lines of the blocks that it finishes: whole blocks, items of a
    /// list one by one, and code line by line.
    pub fn push(&mut self, text: &str) -> Vec<Line> {
        let mut finished = Vec::new();
        for part in text.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(end) => {
                    self.partial.push_str(end);
                    self.end_line(&mut finished);
                }
                None => self.partial.push_str(part),
            }
        }
        self.render(finished)
    }

    /// Returns the last rows of the block that is not finished. Each of them fits in a row of the terminal,
    /// except lines of code.
    #[must_use]
    pub fn preview(&self, rows: usize) -> Vec<Line> {
        let mut lines = match (self.blocks.fence(), &self.code) {
            (Some(indent), Some(code)) if !self.partial.is_empty() => {
                let spans = code.clone().line(blocks::dedent(&self.partial, indent));
                vec![Line { spans, wrap: Wrap::Terminal }]
            }
            (Some(_), _) => Vec::new(),
            (None, _) => self.preview_block(),
        };
        lines.drain(..lines.len().saturating_sub(rows));
        lines
    }

    /// Ends the text, and returns the lines of its last block. The stream is ready for another text.
    pub fn finish(&mut self) -> Vec<Line> {
        let mut finished = Vec::new();
        if !self.partial.is_empty() {
            self.end_line(&mut finished);
        }
        self.blocks.close(&mut finished);
        let lines = self.render(finished);
        *self = Self::new(&self.theme, self.columns);
        lines
    }

    fn end_line(&mut self, finished: &mut Vec<Block>) {
        let line = std::mem::take(&mut self.partial);
        // Within a line it is a break to CommonMark, but no terminal's.
        self.blocks.line(&line.trim_end_matches('\r').replace('\r', " "), finished);
    }

    fn render(&mut self, finished: Vec<Block>) -> Vec<Line> {
        let mut out = Vec::new();
        for block in finished {
            match block {
                Block::Text(text) => {
                    let lines = render::render(&text, &self.theme, self.columns, None);
                    self.add(lines, Gap::Row, &mut out);
                }
                Block::Item { text, number, gap } => {
                    let lines = render::render(&text, &self.theme, self.columns, number);
                    self.add(lines, gap, &mut out);
                }
                Block::Code(language) => {
                    self.code_gap = Gap::Row;
                    self.code = Some(Highlighter::new(&language, &self.theme));
                }
                Block::CodeLine(text) => {
                    let plain = || Highlighter::new("", &self.theme);
                    let spans = self.code.get_or_insert_with(plain).line(&text);
                    let gap = std::mem::replace(&mut self.code_gap, Gap::None);
                    self.add(vec![Line { spans, wrap: Wrap::Terminal }], gap, &mut out);
                }
            }
        }
        out
    }

    fn add(&mut self, mut lines: Vec<Line>, gap: Gap, out: &mut Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        if self.begun && gap == Gap::Row {
            out.push(Line::default());
        }
        self.begun = true;
        out.append(&mut lines);
    }

    fn preview_block(&self) -> Vec<Line> {
        let (text, number, gap) = self.blocks.unfinished();
        let text = format!("{}{}", tail(text), tail(&self.partial));
        let lines = render::render(&text, &self.theme, self.columns, number);
        let mut out = Vec::new();
        if self.begun && gap == Gap::Row && !lines.is_empty() {
            out.push(Line::default());
        }
        let width = usize::from(self.columns.saturating_sub(1)).max(1);
        for line in lines {
            match line.wrap {
                Wrap::Words { indent } => {
                    let broken = rows(&line, width, indent.into()).into_iter();
                    out.extend(broken.map(|spans| Line { spans, wrap: Wrap::Terminal }));
                }
                Wrap::Terminal => out.push(line),
            }
        }
        out
    }
}

/// Returns the end of a text, from the begin of a line if there is one. Of a table it has the head too.
fn tail(text: &str) -> String {
    if text.len() <= PREVIEW {
        return text.to_owned();
    }
    let rest = text.get(text.ceil_char_boundary(text.len() - PREVIEW)..).unwrap_or_default();
    let rest = rest
        .split_once('\n')
        .map(|(_, lines)| lines)
        .filter(|lines| !lines.is_empty())
        .unwrap_or(rest);
    let head = text.get(..text.floor_char_boundary(PREVIEW)).unwrap_or_default();
    let mut lines = head.split_inclusive('\n');
    match (lines.next(), lines.next()) {
        (Some(names), Some(rule)) if rule.contains("--") && rule.contains('|') => {
            format!("{names}{rule}{rest}")
        }
        _ => rest.to_owned(),
    }
}
