//! Lines of one finished block.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::highlight::Highlighter;
use crate::markdown::table::Table;
use crate::screen::rows;
use crate::text::{Line, Span, Style, Wrap};
use crate::theme::Theme;

/// Renders Markdown. If it is an item of an ordered list, `number` is the item's.
pub(super) fn render(text: &str, theme: &Theme, columns: u16, number: Option<u64>) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(text, options);
    // Definitions of links are no block of their own, and another block may be the one that uses them.
    let mut definitions: Vec<(usize, String)> = parser
        .reference_definitions()
        .iter()
        .map(|(name, link)| (link.span.start, format!("[{name}]: {}", link.dest)))
        .collect();
    definitions.sort();
    let mut renderer = Renderer {
        theme,
        width: usize::from(columns.saturating_sub(1)).max(1),
        number,
        out: Vec::new(),
        inline: Vec::new(),
        styles: vec![theme.text],
        containers: Vec::new(),
        quotes: 0,
        gap: false,
        links: Vec::new(),
        code: None,
        table: None,
    };
    for event in parser {
        renderer.event(event);
    }
    for (_, definition) in definitions {
        renderer.text(&definition, theme.dim);
        renderer.flush();
    }
    renderer.out
}

/// Block around others.
#[derive(Debug)]
enum Container {
    Quote,
    /// Number of the next item, and true if there are empty rows between items.
    List {
        number: Option<u64>,
        loose: bool,
        begun: bool,
    },
    /// Marker that is not written yet, and its width.
    Item {
        marker: Option<String>,
        width: usize,
    },
}

/// Link or image that is open, with the text's length before it.
#[derive(Debug)]
struct Link {
    url: String,
    start: usize,
}

#[derive(Debug)]
struct Renderer<'a> {
    theme: &'a Theme,
    width: usize,
    number: Option<u64>,
    out: Vec<Line>,
    inline: Vec<Span>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// Number of quotes among them.
    quotes: usize,
    /// True after a block, from which the next one stands apart.
    gap: bool,
    links: Vec<Link>,
    code: Option<(Highlighter, String)>,
    table: Option<Table>,
}

impl Renderer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(code) => {
                let style = merged(self.style(), self.theme.code);
                self.text(&code, style);
            }
            Event::Html(text) => {
                for line in text.lines() {
                    self.text(line, self.style());
                    self.flush();
                }
            }
            Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text, self.style()),
            Event::SoftBreak => self.text(" ", self.style()),
            Event::HardBreak if self.table.is_some() => self.text(" ", self.style()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.apart();
                let width = self.width.saturating_sub(self.prefix_width());
                self.text(&"─".repeat(width), self.theme.dim);
                self.flush();
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                self.text(if done { "[x] " } else { "[ ] " }, self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                self.apart();
                if let [.., Container::List { loose, .. }, Container::Item { .. }] =
                    &mut self.containers[..]
                {
                    *loose = true;
                }
            }
            Tag::Heading { .. } => {
                self.apart();
                self.push(self.theme.heading);
            }
            Tag::BlockQuote(_) => {
                self.apart();
                self.containers.push(Container::Quote);
                self.quotes += 1;
                self.push(self.theme.quote);
            }
            Tag::CodeBlock(kind) => {
                self.apart();
                let language = match &kind {
                    CodeBlockKind::Indented => "",
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default()
                    }
                };
                self.code = Some((Highlighter::new(language, self.theme), String::new()));
            }
            Tag::List(start) => {
                self.apart();
                let number = start.map(|first| self.number.take().unwrap_or(first));
                self.containers.push(Container::List { number, loose: false, begun: false });
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.apart();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.start_row();
                self.push(Style { bold: true, ..Style::default() });
            }
            Tag::TableRow => self.start_row(),
            Tag::Emphasis => self.push(Style { italic: true, ..Style::default() }),
            Tag::Strong => self.push(Style { bold: true, ..Style::default() }),
            Tag::Strikethrough => self.push(Style { strike: true, ..Style::default() }),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(Link { url: dest_url.to_string(), start: self.inline.len() });
                self.push(self.theme.link);
            }
            Tag::HtmlBlock => self.apart(),
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.styles.pop();
                self.end_block();
                self.containers.pop();
                self.quotes -= 1;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                let unmarked =
                    matches!(self.containers.last(), Some(Container::Item { marker: Some(_), .. }));
                if unmarked || !self.inline.is_empty() {
                    self.flush();
                }
                self.containers.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.width.saturating_sub(self.prefix_width());
                    for line in table.lines(width, self.theme) {
                        self.emit(line);
                    }
                }
                self.gap = true;
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn start_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn start_item(&mut self) {
        let Some(Container::List { number, loose, begun }) = self.containers.last_mut() else {
            return;
        };
        let marker = match number {
            Some(at) => format!("{at}. "),
            None => "\u{2022} ".to_owned(),
        };
        *number = number.map(|at| at.saturating_add(1));
        self.gap = std::mem::replace(begun, true) && *loose;
        self.apart();
        let width = marker.chars().count();
        self.containers.push(Container::Item { marker: Some(marker), width });
    }

    fn end_block(&mut self) {
        if !self.inline.is_empty() {
            self.flush();
        }
        self.gap = true;
    }

    fn end_code(&mut self) {
        if let Some((mut highlighter, code)) = self.code.take() {
            for line in code.lines() {
                let spans = highlighter.line(line);
                self.emit(Line { spans, wrap: Wrap::Terminal });
            }
        }
        self.gap = true;
    }

    /// Adds the address of a link, unless it is its text.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(Link { url, start }) = self.links.pop() else { return };
        let shown: String = self
            .inline
            .get(start..)
            .unwrap_or_default()
            .iter()
            .map(|span| span.text.as_str())
            .collect();
        if url.is_empty() || shown == url || url.strip_prefix("mailto:") == Some(&shown) {
            return;
        }
        let style = merged(self.style(), self.theme.dim);
        self.text(&if shown.is_empty() { url } else { format!(" ({url})") }, style);
    }

    /// Ends the text before a block, and adds an empty row between two blocks.
    fn apart(&mut self) {
        if !self.inline.is_empty() {
            self.flush();
        }
        if std::mem::take(&mut self.gap) && !self.out.is_empty() {
            self.emit(Line::default());
        }
    }

    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.inline);
        self.emit(Line { spans, wrap: Wrap::Words { indent: 0 } });
    }

    /// Adds a line behind the marks of its containers. Within a quote it is broken here, since each row has
    /// the quote's bar.
    fn emit(&mut self, line: Line) {
        let width = self.prefix_width();
        let indent = u16::try_from(width).unwrap_or(u16::MAX);
        match line.wrap {
            Wrap::Words { .. } if self.quotes > 0 => {
                for spans in rows(&line, self.width.saturating_sub(width).max(1), 0) {
                    self.prefixed(spans, Wrap::Words { indent });
                }
            }
            Wrap::Words { .. } => self.prefixed(line.spans, Wrap::Words { indent }),
            Wrap::Terminal => self.prefixed(line.spans, Wrap::Terminal),
        }
    }

    fn prefixed(&mut self, spans: Vec<Span>, wrap: Wrap) {
        let (theme, most) = (self.theme, self.width / 2);
        let mut all = Vec::new();
        let mut used = 0;
        for container in &mut self.containers {
            let (text, style) = match container {
                Container::Quote => ("│ ".to_owned(), theme.quote),
                Container::List { .. } => continue,
                Container::Item { marker, width } => {
                    (marker.take().unwrap_or_else(|| " ".repeat(*width)), theme.dim)
                }
            };
            used += text.chars().count();
            if used > most {
                break;
            }
            all.push(Span { text, style });
        }
        let blank = spans.is_empty() && all.iter().all(|span| span.text.trim().is_empty());
        all.extend(spans);
        self.out.push(if blank { Line::default() } else { Line { spans: all, wrap } });
    }

    /// Width of the marks of all containers, of which at most half of the terminal is used.
    fn prefix_width(&self) -> usize {
        let mut used = 0;
        for container in &self.containers {
            let width = match container {
                Container::Quote => 2,
                Container::List { .. } => 0,
                Container::Item { width, .. } => *width,
            };
            if used + width > self.width / 2 {
                break;
            }
            used += width;
        }
        used
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push(&mut self, style: Style) {
        self.styles.push(merged(self.style(), style));
    }

    fn text(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.inline.push(Span { text: text.to_owned(), style });
        }
    }
}

/// Adds a style to another, whose colors stay where the new one has none.
fn merged(under: Style, over: Style) -> Style {
    let color = |under, over| if over == crate::Color::Default { under } else { over };
    Style {
        color: color(under.color, over.color),
        background: color(under.background, over.background),
        bold: under.bold || over.bold,
        dim: under.dim || over.dim,
        italic: under.italic || over.italic,
        underline: under.underline || over.underline,
        strike: under.strike || over.strike,
        reverse: under.reverse || over.reverse,
    }
}
