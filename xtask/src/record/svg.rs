//! Frames as an animated SVG: a strip of screens that moves by one screen a frame.
//!
//! Each distinct row is in the file once. The window has its own background, for dark and light pages. People
//! who want no motion see the last frame.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::screen::{Color, Row, Screen, Style};

/// Columns and rows of the terminal.
pub(super) const COLUMNS: usize = 96;
pub(super) const ROWS: usize = 26;

/// Size of a cell, and the space around the screen.
const CELL: (usize, usize) = (8, 18);
const MARGIN: usize = 16;

/// Height of the window's title.
const TITLE: usize = 28;

/// Colors of the palette, from black to white, then the bright ones.
const PALETTE: [&str; 16] = [
    "#3b4048", "#e86671", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
    "#7f8694", "#ff7a85", "#b1d996", "#f0d399", "#7fc1ff", "#d89bea", "#74cdd8", "#ffffff",
];
const TEXT: &str = "#d7dae0";
const BACKGROUND: &str = "#16181d";

/// Screen that is shown for a time.
pub(super) struct Frame {
    pub(super) screen: Screen,
    pub(super) time: Duration,
}

/// Draws frames, which are shown in order again and again.
pub(super) fn draw(frames: &[Frame]) -> anyhow::Result<String> {
    let (wide, high) = (COLUMNS * CELL.0, ROWS * CELL.1);
    let (width, height) = (wide + 2 * MARGIN, high + MARGIN + TITLE);
    let mut rows = BTreeMap::new();
    let mut strip = String::new();
    for (at, Frame { screen, .. }) in frames.iter().enumerate() {
        write!(strip, "<g transform=\"translate({})\">", at * wide)?;
        for (line, row) in screen.rows.iter().enumerate() {
            let drawn = draw_row(row)?;
            if !drawn.is_empty() {
                let next = rows.len();
                let id = *rows.entry(drawn).or_insert(next);
                write!(strip, "<use href=\"#r{id}\" y=\"{}\"/>", line * CELL.1)?;
            }
        }
        if let Some((column, line)) = screen.cursor {
            let (x, y) = (column * CELL.0, line * CELL.1 + 2);
            write!(
                strip,
                "<rect class=\"cursor\" x=\"{x}\" y=\"{y}\" width=\"8\" height=\"16\"/>"
            )?;
        }
        strip += "</g>\n";
    }
    let mut defined: Vec<(usize, String)> = rows.into_iter().map(|(row, id)| (id, row)).collect();
    defined.sort_unstable();
    let defined: String =
        defined.iter().map(|(id, row)| format!("<g id=\"r{id}\">{row}</g>\n")).collect();
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"A conversation in a terminal\">\n\
         <style>\n{}</style>\n<defs>\n{defined}</defs>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{BACKGROUND}\" \
         stroke=\"{}\"/>\n\
         <text x=\"{}\" y=\"19\" text-anchor=\"middle\" class=\"c8\">windlass</text>\n\
         <svg x=\"{MARGIN}\" y=\"{TITLE}\" width=\"{wide}\" height=\"{high}\">\n\
         <g class=\"strip\">\n{strip}</g></svg></svg>\n",
        styles(frames, wide)?,
        width - 1,
        height - 1,
        PALETTE[0],
        width / 2,
    ))
}

/// Returns the style sheet: fonts, colors, and the times of the frames.
fn styles(frames: &[Frame], wide: usize) -> anyhow::Result<String> {
    let mut css = format!(
        "text{{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;\
         white-space:pre;fill:{TEXT}}}\n\
         .b{{font-weight:bold}}.d{{opacity:.6}}.i{{font-style:italic}}.u{{text-decoration:underline}}\
         .s{{text-decoration:line-through}}.cursor{{fill:{TEXT};opacity:.7}}\n"
    );
    for (number, color) in PALETTE.iter().enumerate() {
        write!(css, ".c{number}{{fill:{color}}}")?;
    }
    let total: Duration = frames.iter().map(|frame| frame.time).sum();
    let last = frames.len().saturating_sub(1) * wide;
    writeln!(css, "\n.strip{{animation:play {}ms step-end infinite}}", total.as_millis())?;
    css += "@keyframes play{";
    let mut passed = Duration::ZERO;
    for (at, frame) in frames.iter().enumerate() {
        let percent = passed.as_secs_f64() / total.as_secs_f64() * 100.0;
        write!(css, "{percent:.3}%{{transform:translateX({}px)}}", minus(at * wide))?;
        passed += frame.time;
    }
    let still = minus(last);
    writeln!(css, "100%{{transform:translateX({still}px)}}}}")?;
    writeln!(
        css,
        "@media(prefers-reduced-motion:reduce){{.strip{{animation:none;transform:translateX({still}px)}}}}"
    )?;
    Ok(css)
}

fn minus(number: usize) -> String {
    if number == 0 { "0".to_owned() } else { format!("-{number}") }
}

/// Draws a row: the backgrounds and texts of its runs, each as wide as its cells.
fn draw_row(row: &Row) -> anyhow::Result<String> {
    let (mut drawn, mut column) = (String::new(), 0);
    for (style, text) in row {
        let cells = text.chars().count();
        let (color, background) = match style.reverse {
            true => (style.background, style.color),
            false => (style.color, style.background),
        };
        if style.reverse || background != Color::Default {
            let fill = fill(background, TEXT);
            let (x, width) = (column * CELL.0, cells * CELL.0);
            write!(drawn, "<rect x=\"{x}\" width=\"{width}\" height=\"18\" fill=\"{fill}\"/>")?;
        }
        let shown = text.trim_start_matches(' ');
        let x = (column + cells - shown.chars().count()) * CELL.0;
        let shown = shown.trim_end_matches(' ');
        if !shown.is_empty() {
            let length = shown.chars().count() * CELL.0;
            write!(drawn, "<text x=\"{x}\" y=\"13\" textLength=\"{length}\"{}", class(*style))?;
            if style.reverse || matches!(color, Color::Rgb(..)) {
                write!(drawn, " style=\"fill:{}\"", fill(color, BACKGROUND))?;
            }
            write!(drawn, ">{}</text>", escaped(shown))?;
        }
        column += cells;
    }
    Ok(drawn)
}

/// Returns the color as CSS has it.
fn fill(color: Color, default: &str) -> String {
    match color {
        Color::Default => default.to_owned(),
        Color::Palette(number) => {
            PALETTE.get(usize::from(number)).copied().unwrap_or(default).to_owned()
        }
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}

/// Returns the attribute with the classes of a style, if it has some.
fn class(style: Style) -> String {
    let Style { bold, dim, italic, underline, strike, .. } = style;
    let set = [(bold, "b"), (dim, "d"), (italic, "i"), (underline, "u"), (strike, "s")];
    let mut names: Vec<String> =
        set.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()).collect();
    if let Color::Palette(number) = style.color {
        names.push(format!("c{number}"));
    }
    if names.is_empty() { String::new() } else { format!(" class=\"{}\"", names.join(" ")) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_the_file_once_and_frames_have_their_times() {
        let screen = |rows| Screen::parse("1 3 1", rows).unwrap();
        let frame = |rows, ms| Frame { screen: screen(rows), time: Duration::from_millis(ms) };
        let frames = [frame("\x1b[1;36m a<b\x1b[0m", 100), frame(" \x1b[1;36ma<b\n\x1b[7mx", 300)];
        let image = draw(&frames).unwrap();
        assert!(image.contains("class=\"b c6\">a&lt;b</text>"), "{image}");
        assert!(image.contains("animation:play 400ms"), "{image}");
        assert!(image.contains("25.000%{transform:translateX(-768px)}"), "{image}");
        assert_eq!(image.matches("href=\"#r0\"").count(), 2, "{image}");
        assert!(image.contains("fill=\"#56b6c2\"/>"), "the color of reversed text: {image}");
    }
}
