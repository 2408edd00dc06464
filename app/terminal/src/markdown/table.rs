//! Tables with lines of boxes, or stacked where they do not fit.

use pulldown_cmark::Alignment;

use crate::screen::{cut, rows};
use crate::text::{Line, Span, Style};
use crate::theme::Theme;

/// Narrowest column in which text is broken, in columns of the terminal.
const NARROW: usize = 6;

/// Cells of a table by rows, the first of which has the names of the columns.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    /// Returns lines that are at most this wide.
    pub(super) fn lines(mut self, width: usize, theme: &Theme) -> Vec<Line> {
        // All terminals agree on the width of such cells.
        for cell in self.rows.iter_mut().flatten() {
            *cell = cut(&line(std::mem::take(cell)), usize::MAX);
        }
        let columns = self.rows.first().map_or(0, Vec::len);
        let mut natural = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in natural.iter_mut().zip(row) {
                *width = span_width(cell).max(*width);
            }
        }
        match fit(&natural, width.saturating_sub(3 * columns + 1)) {
            Some(widths) => self.boxed(&widths, theme),
            None => self.stacked(width, theme),
        }
    }

    fn boxed(&self, widths: &[usize], theme: &Theme) -> Vec<Line> {
        let border = |left: char, middle: char, right: char| {
            let parts: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            Line::styled(format!("{left}{}{right}", parts.join(&middle.to_string())), theme.dim)
        };
        let mut lines = vec![border('┌', '┬', '┐')];
        for (index, row) in self.rows.iter().enumerate() {
            if index == 1 {
                lines.push(border('├', '┼', '┤'));
            }
            // The parser adds missing cells of a row up to a bound.
            let cell = |at: usize| line(row.get(at).cloned().unwrap_or_default());
            let broken = widths.iter().enumerate().map(|(at, width)| rows(&cell(at), *width, 0));
            let cells: Vec<Vec<Vec<Span>>> = broken.collect();
            for part in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut out = Line::styled("│", theme.dim);
                for ((at, cell), width) in cells.iter().enumerate().zip(widths) {
                    let spans = cell.get(part).cloned().unwrap_or_default();
                    let free = width.saturating_sub(span_width(&spans));
                    let before = match self.alignments.get(at) {
                        Some(Alignment::Right) => free,
                        Some(Alignment::Center) => free / 2,
                        Some(Alignment::Left | Alignment::None) | None => 0,
                    };
                    out = out.with(" ".repeat(before + 1), theme.text);
                    out.spans.extend(spans);
                    out = out.with(" ".repeat(free - before + 1), theme.text).with("│", theme.dim);
                }
                lines.push(out);
            }
        }
        lines.push(border('└', '┴', '┘'));
        lines
    }

    fn stacked(&self, width: usize, theme: &Theme) -> Vec<Line> {
        let Some((head, body)) = self.rows.split_first() else { return Vec::new() };
        // Each row has the names, so long ones are cut.
        let head: Vec<Vec<Span>> =
            head.iter().map(|name| cut(&line(name.clone()), 2 * width)).collect();
        if body.is_empty() {
            return head.iter().map(|name| line(name.clone()).wrapped(2)).collect();
        }
        let mut lines = Vec::new();
        for (index, row) in body.iter().enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            for (name, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                let mut out = line(name.clone()).with(": ", Style { bold: true, ..theme.text });
                out.spans.extend(cell.iter().cloned());
                lines.push(out.wrapped(2));
            }
        }
        lines
    }
}

/// Returns widths of columns that fit, the wide ones being narrowed first, or none.
fn fit(natural: &[usize], free: usize) -> Option<Vec<usize>> {
    let with = |most: usize| natural.iter().map(move |width| (*width).min(most).max(1));
    if with(usize::MAX).sum::<usize>() <= free {
        return Some(with(usize::MAX).collect());
    }
    let most = (NARROW..=free).rev().find(|most| with(*most).sum::<usize>() <= free)?;
    let mut widths: Vec<usize> = with(most).collect();
    let mut rest = free - widths.iter().sum::<usize>();
    for (width, wanted) in widths.iter_mut().zip(natural) {
        if rest > 0 && *width < *wanted {
            *width += 1;
            rest -= 1;
        }
    }
    Some(widths)
}

fn span_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| unicode_width::UnicodeWidthStr::width(span.text.as_str())).sum()
}

fn line(spans: Vec<Span>) -> Line {
    Line { spans, ..Line::default() }
}
